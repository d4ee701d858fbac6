import { type ProviderModel, qualifiedModelName } from "../../agent/definition/language-model.ts";
import type { ModelFinishReason, Usage } from "../../agent/model-call.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { ContextPolicy } from "../../projection/policy/policy.ts";
import { createProjector, type Projector } from "../../projection/projector.ts";
import type { CacheOption } from "../../providers/cache.ts";
import { ConflictError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { EntryInput } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { ToolSpec } from "../../thread/message.ts";
import { resultEntryId } from "../../thread/messages/from-messages.ts";
import { pathEntries, readLanes } from "../../thread/messages/lane-path.ts";
import { parseStructure } from "../../thread/messages/to-messages.ts";
import { Thread } from "../../thread/thread.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import type { AnswerBuilder } from "../model/answer.ts";
import { planThinking, promptFor, withKnownFiles } from "../model/prompt.ts";
import { fieldsIn, plainObject, plainText } from "../model/provider-values.ts";
import { isStored, type ModelSettings, specOf } from "../model/specification.ts";
import { MAX_TIMER_MS, type RuntimePorts, systemRuntimePorts } from "../ports.ts";
import { Holder } from "../session/holder.ts";
import { entriesSince } from "../session/load.ts";
import { recordOf } from "../ui-messages/recorded-messages.ts";
import { findCall, lastSeqOf, planConversation, type ReadPrompt, readNext, readPrompt } from "./conversation.ts";

/** The thread of a loop, and what its model is shown. */
export interface ThreadLoopOptions {
  readonly store: ThreadStore;
  /** The thread of this conversation. It is created with the first message. */
  readonly threadId: string;
  /** The limits of what the model is shown. Default: those of the model, as an agent has them. */
  readonly policy?: ContextPolicyInput | undefined;
  /** Default `heuristic`. */
  readonly tokenCounter?: TokenCounter | undefined;
  /** Cache breakpoints for Claude. Default: none. */
  readonly cache?: CacheOption | undefined;
  /** The owner of the thread. A thread of another one is refused as `owner_mismatch`. Default: not checked. */
  readonly owner?: string | undefined;
  /** How long to wait for another loop or process that runs the thread, in milliseconds. Then `thread_held`. Default 2,000. */
  readonly claimWaitMs?: number | undefined;
  /** How long the thread stays claimed for tools and approvals after an answer with calls, without `save`. Default 30,000. */
  readonly idleMs?: number | undefined;
}

const LEASE_MS = 10_000;

/** Timers that do not keep a process alive. */
const PORTS: RuntimePorts = {
  ...systemRuntimePorts,
  after: (ms, run) => {
    const timer: unknown = setTimeout(run, Math.min(ms, MAX_TIMER_MS));
    const { unref } = Object(timer); // a number in browsers
    if (typeof unref === "function") unref.call(timer);
    return () => clearTimeout(timer as number); // what setTimeout returned
  },
};

/** Keeps the process alive while it waits for the store or for a claim. */
async function awake<T>(run: () => Promise<T>): Promise<T> {
  const done = systemRuntimePorts.after(Number.POSITIVE_INFINITY, () => undefined);
  try {
    return await run();
  } finally {
    done();
  }
}

/** A model call that began: its options, and how its answer is committed. */
interface LoggedCall {
  readonly options: ModelOptions;
  readonly answer: (builder: AnswerBuilder, end: AnswerFacts) => Promise<void>;
}

export interface AnswerFacts {
  readonly usage?: Usage;
  readonly finishReason: ModelFinishReason;
  readonly isPartial?: boolean;
}

export type ModelOptions = Parameters<ProviderModel["doStream"]>[0];

/** The position of a loop in its thread. */
interface LoopState {
  readonly lane?: string;
  /** The seq of the last message of the lane that this loop has seen. */
  readonly lastSeq: number;
  /** The thread as it was loaded last. */
  readonly thread?: Thread;
  readonly read?: ReadPrompt;
  /** Commits the answer that was streamed last as far as it came, unless it was committed. */
  readonly stopped?: () => Promise<void>;
}

/** The thread of one loop. Its appends come one after the other, under one claim. */
export class LoopLog {
  readonly #options: ThreadLoopOptions;
  readonly #projector = createProjector({ keep: 1 });
  #state: LoopState = { lastSeq: -1 };
  #holder: Holder | undefined;
  #stopTimer = (): void => {};
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ThreadLoopOptions) {
    this.#options = options;
  }

  /** Entries do not change, so only new ones are loaded again. */
  async load(): Promise<Thread> {
    const { store, threadId } = this.#options;
    const { thread: known } = this.#state;
    const fresh = known && known.rev > 0 ? await entriesSince(store, known) : undefined;
    const thread =
      known && fresh ? known.append(fresh) : ((await store.load(threadId)) ?? Thread.create({ id: threadId }));
    this.#state = { ...this.#state, thread };
    return thread;
  }

  /** Commits what is new in the prompt, and makes the options with the projection. */
  begin(model: ProviderModel, options: ModelOptions): Promise<LoggedCall> {
    return this.#next(async () => {
      const read = readNext(options.prompt, this.#state.read);
      this.#state = { ...this.#state, read };
      await this.#hold();
      try {
        const before = await this.#current();
        const plan = planConversation(before, read.said, { lane: this.#state.lane, newLane: () => PORTS.ids("lane") });
        await this.#append(plan.lane, plan.entries);
        const thread = plan.entries.length === 0 ? before : await this.load();
        this.#state = { ...this.#state, lane: plan.lane, lastSeq: lastSeqOf(thread, plan.lane) };
        const { shown, fingerprint } = projected(model, options, thread, plan.lane, this.#options, this.#projector);
        const call = { lane: plan.lane, callId: PORTS.ids("call"), model: qualifiedModelName(model), fingerprint };
        return { options: shown, answer: (builder, facts) => this.#next(() => this.#commit(call, builder, facts)) };
      } catch (error) {
        await this.#release();
        throw error;
      }
    });
  }

  /** The logged result of a call. Undefined for a call that has none, or that the log does not have. */
  result(toolCallId: string): Promise<{ readonly output: unknown } | undefined> {
    return this.#next(async () => {
      await this.#hold();
      const result = findCall(await this.load(), toolCallId)?.result;
      if (result === undefined) return undefined; // the claim is kept until the result is committed
      this.#rest();
      const { content = "", details, isError }: JsonObject = result.payload;
      if (isError === true) throw new Error(String(content));
      return { output: details ?? (typeof content === "string" ? (parseStructure(content) ?? content) : content) };
    });
  }

  /** Commits the result of a call that the log has. */
  commitResult(toolCallId: string, message: object, details: JsonValue | undefined): Promise<void> {
    return this.#next(async () => {
      await this.#hold();
      const call = findCall(await this.load(), toolCallId);
      const [read] = readPrompt([message]);
      this.#rest();
      if (call?.callId === undefined || call.result !== undefined || read === undefined) return;
      const { lane, callId } = call;
      const payload = { ...read.payload, contextRef: lane, ...(details !== undefined && { details }) };
      const id = resultEntryId(callId, toolCallId);
      await this.#append(lane, [{ id, kind: "ai_message", payload, refs: { ...read.refs, callId } }]);
    });
  }

  /** An answer streams now. `stopped` commits it as far as it came. */
  streams(stopped: () => Promise<void>): void {
    this.#state = { ...this.#state, stopped };
  }

  async save(messages: readonly object[]): Promise<void> {
    // A page that stops ends its message, and maybe before the stream of the model is cancelled.
    await this.#state.stopped?.().catch(() => undefined); // the stream has the error
    return this.#next(async () => {
      try {
        await this.#record(asSent(messages));
      } finally {
        await this.#release();
      }
    });
  }

  free(): Promise<void> {
    return this.#next(() => this.#release());
  }

  async #record(messages: readonly object[]): Promise<void> {
    const { lane, lastSeq } = this.#state;
    if (this.#holder?.isHeld === false) await this.#release(); // the note names its entries, so that it needs no claim
    if (lane === undefined) return;
    const thread = await this.load();
    const path = pathEntries(readLanes(thread.toArray()), lane).filter(
      ({ seq, kind }) => seq <= lastSeq || kind === "note",
    );
    const shown = recordOf(path, messages);
    if (shown !== undefined) await this.#append(lane, [{ kind: "note", payload: { contextRef: lane, shown } }]);
  }

  async #commit(
    { lane, callId, ...call }: { readonly lane: string; readonly callId: string; readonly fingerprint: string },
    builder: AnswerBuilder,
    { usage, finishReason, isPartial = false }: AnswerFacts,
  ): Promise<void> {
    const { content, toolCalls } = isPartial
      ? { content: builder.partial(), toolCalls: [] }
      : builder.content({ finished: true });
    const hasCalls = toolCalls.length > 0;
    if (hasCalls || content !== "") {
      const payload = {
        contextRef: lane,
        role: "assistant",
        content,
        ...(hasCalls && { toolCalls }),
        ...(isPartial && { partial: true }),
        call: { ...call, ...(usage !== undefined && { usage }), finishReason },
      } as JsonObject; // its fields are JSON
      if (await this.#hold()) await this.#current();
      await this.#append(lane, [{ id: `${callId}:0`, kind: "ai_message", payload, refs: { callId } }]);
    }
    if (hasCalls) this.#rest();
    else await this.#release();
  }

  /** Keeps the claim for what follows an answer with calls: tools, and the next call. */
  #rest(): void {
    const { idleMs = 30_000 } = this.#options;
    this.#stopTimer();
    this.#stopTimer = PORTS.after(idleMs, () => void this.free().catch(() => undefined)); // the claim then expires
  }

  /** The thread, of which only this loop may have changed the lane. */
  async #current(): Promise<Thread> {
    const { lane, lastSeq } = this.#state;
    const thread = await this.load();
    const actual = lane === undefined ? lastSeq : lastSeqOf(thread, lane);
    if (actual !== lastSeq) throw new ConflictError(thread.id, lastSeq + 1, actual + 1);
    return thread;
  }

  async #append(lane: string, entries: readonly EntryInput[]): Promise<void> {
    if (entries.length === 0) return;
    const { store, threadId, owner } = this.#options;
    const epoch = this.#holder?.epoch;
    const result = await store.append(threadId, entries, { epoch, owner });
    const last = result.entries.findLast(({ kind }) => kind !== "note")?.seq ?? -1;
    this.#state = { ...this.#state, lane, lastSeq: Math.max(this.#state.lastSeq, last) };
  }

  /** Claims the thread. True when it was not claimed before, so that others may have written. */
  async #hold(): Promise<boolean> {
    this.#stopTimer();
    if (this.#holder !== undefined && (await this.#holder.ensure())) return false;
    const { store, threadId, claimWaitMs: waitMs = 2_000 } = this.#options;
    this.#holder = await Holder.claim(store, threadId, {
      holder: PORTS.ids("loop"),
      ttlMs: LEASE_MS,
      waitMs,
      ports: PORTS,
      lost: () => undefined, // the next append is refused
    });
    return true;
  }

  async #release(): Promise<void> {
    this.#stopTimer();
    const holder = this.#holder;
    this.#holder = undefined;
    await holder?.release();
  }

  #next<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#last.then(() => awake(run));
    this.#last = result.catch(() => undefined); // the caller gets the error
    return result;
  }
}

/** The messages as JSON, which is what a page gets of dates and instances. */
function asSent(messages: readonly object[]): readonly object[] {
  try {
    return JSON.parse(JSON.stringify(messages)) as readonly object[]; // a list stays a list
  } catch {
    return messages; // the record names the value that JSON refuses
  }
}

/** The options of the call with the messages that the projection shows. */
function projected(
  model: ProviderModel,
  options: ModelOptions,
  thread: Thread,
  lane: string,
  { policy, tokenCounter, cache }: ThreadLoopOptions,
  projector: Projector,
): { readonly shown: ModelOptions; readonly fingerprint: string } {
  const name = qualifiedModelName(model);
  const end = options.prompt.findIndex((message) => fieldsIn(message)["role"] !== "system");
  const lead = end < 0 ? options.prompt : options.prompt.slice(0, end);
  const system = lead.map((message) => plainText(fieldsIn(message)["content"])).join("\n\n");
  const { messages, meta } = projector.project({
    thread,
    lane,
    model: name,
    policy: ContextPolicy.resolve({ request: policy, model: name }),
    tools: toolSpecsIn(options),
    tokenCounter,
    ...(system !== "" && { system }),
  });
  const settings = plainObject({
    ...options,
    prompt: undefined,
    tools: undefined,
    abortSignal: undefined,
  }) as ModelSettings; // of the specification
  const isStale = meta.view.thinkingStale !== undefined;
  const plan = planThinking({ model, messages, settings, isStale });
  const prompt = promptFor(model, specOf(model), withKnownFiles(model, plan.messages, settings), {
    ...(cache !== undefined && { cache }),
    stored: isStored(model, settings),
  });
  const first = fieldsIn(prompt[0]);
  // The messages of the app have options of providers, such as cache marks.
  const shownPrompt =
    first["role"] === "system" && first["content"] === system ? [...lead, ...prompt.slice(1)] : prompt;
  const changed = plan.settings === settings ? {} : { providerOptions: plan.settings.providerOptions };
  return {
    shown: { ...options, ...changed, prompt: withOptions(shownPrompt, options.prompt) },
    fingerprint: meta.fingerprint,
  };
}

/** Gives the messages the options that they have in the prompt of the app, such as cache marks, which move with each call. */
function withOptions(shown: readonly object[], prompt: readonly object[]): readonly object[] {
  const given = prompt.map(optionsIn);
  if (given.every(({ providerOptions }) => providerOptions === undefined)) return shown;
  const keys = shown.map((message) => optionsIn(message).key);
  const messages = [...shown];
  let end = keys.length;
  for (const { key, providerOptions } of given.reverse()) {
    const at = end === 0 ? -1 : keys.lastIndexOf(key, end - 1);
    if (at < 0) continue;
    end = at;
    if (providerOptions !== undefined) messages[at] = { ...messages[at], providerOptions };
  }
  return messages;
}

/** The options of a message, and what marks it off from others: its last part. The projection shows no options of results. */
function optionsIn(message: object): { readonly key: string; readonly providerOptions: unknown } {
  const { role, content, providerOptions } = fieldsIn(message);
  const last = fieldsIn(Array.isArray(content) ? content.at(-1) : undefined);
  const { type, text, toolCallId, providerOptions: own } = last;
  const options = role === "tool" ? (own ?? providerOptions) : providerOptions;
  return { key: JSON.stringify([role, type, text ?? toolCallId]), providerOptions: options };
}

function toolSpecsIn(options: object): readonly ToolSpec[] {
  const { tools } = fieldsIn(options);
  return (Array.isArray(tools) ? tools : []).flatMap((tool: unknown): readonly ToolSpec[] => {
    const { type, id, args } = fieldsIn(tool);
    const { name, description, inputSchema = { type: "object" } } = plainObject(tool) ?? {};
    if (typeof name !== "string" || !isPlainObject(inputSchema)) return [];
    const provider =
      type === "function"
        ? {}
        : { provider: { id: plainText(id) as `${string}.${string}`, args: plainObject(args) ?? {} } }; // the SDK has checked it
    return [
      {
        name,
        ...(typeof description === "string" && { description }),
        inputSchema: inputSchema as JsonObject,
        ...provider,
      },
    ];
  });
}
