import { type ModelChoice, modelNames, type ProviderModel } from "../../agent/definition/language-model.ts";
import type { InputSchema } from "../../agent/definition/schema.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import { type ReactAgent, wasHandedOver } from "../../agent/react/agent.ts";
import { askRefusal, laneAgent } from "../../agent/react/ask.ts";
import { heldFor, withAsked } from "../../agent/react/call-context.ts";
import { continuedBy } from "../../agent/react/state.ts";
import type { Signal } from "../../agent/signal.ts";
import type { HeldSettings } from "../../lanes/setting.ts";
import type { Entry } from "../../thread/entry.ts";
import { HeddleError } from "../../thread/errors.ts";
import { type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import { checkPrices } from "../ask-options.ts";
import { giveToRequest, mustWait, withTools } from "../live/asks.ts";
import type { Live, QueuedAsk } from "../live/live.ts";
import type { RequestValues } from "../live/signal.ts";
import { chooseModels, findModelsAgain, foundOf, type ModelSources, namesOf, setModels } from "../model/find-models.ts";
import type { AgentRequest } from "../request/request.ts";
import { notAccepted, RequestError, requestReused } from "../request/request-error.ts";
import { findAsk, type RequestLog } from "../server/past-request.ts";
import {
  factsOf,
  loadCounter,
  makeAgain,
  type PromptSource,
  promptFor,
  ValueFunctionError,
} from "../server/request-values.ts";
import type { TelemetryScene } from "../telemetry/telemetry.ts";
import { type HookName, hookAnswer, untilAborted } from "../time-limits.ts";
import type { HeldTools } from "../tools/held-tools.ts";
import { PREPARE_CALL, prepareCall } from "./prepare-call.ts";
import { ownModels, type Scene, type ThreadOptions, type TransientValues } from "./scene.ts";

/** The functions and values of an ask that are not in the log. */
export interface AskFunctions {
  readonly context: unknown;
  readonly tools: Tools | undefined;
  readonly model: ModelChoice | undefined;
  readonly headers: TransientValues["headers"] | undefined;
  readonly output?: InputSchema | undefined;
  readonly signal: AbortSignal | undefined;
}

/** An ask whose caller waits for its request. */
export interface PendingAsk extends PromiseWithResolvers<AgentRequest> {
  readonly functions: AskFunctions | undefined;
  /** Called when an ask with a time is durable. */
  readonly waits?: () => void;
}

/** The thread that is asked. */
export interface AskedThread extends Omit<RequestLog, "agent" | "options">, PromptSource {
  readonly agent: ReactAgent;
  readonly options: RequestLog["options"] &
    PromptSource["options"] &
    ModelSources["options"] &
    Parameters<typeof makeAgain>[0] &
    Pick<ThreadOptions, "definition" | "ports" | "handOff" | "mayStart">;
  readonly live: Live;
  readonly scene: Pick<Scene, "telemetry" | "transient"> & TelemetryScene;
  reload(): Promise<void>;
  read<Value>(read: (agent: ReactAgent) => Value): Promise<Value>;
  command(signal: Signal): Promise<unknown>;
  /** Sets values of a request that are not in the log. */
  setTransient(requestId: string, values: Partial<TransientValues>): void;
  /** Finds the code of the tools in the settings. */
  prepareTools(held: HeldSettings): Promise<HeldTools>;
}

type Prepared =
  | { readonly type: "prepared"; readonly askId: string; readonly given: RequestValues | undefined }
  | { readonly type: "unprepared"; readonly askId: string; readonly known: Entry }
  | { readonly type: "postponed"; readonly askId: string };

/** Makes what the agent needs to decide on an ask, and starts the telemetry span of its request. */
export async function prepareAsk(
  thread: AskedThread,
  ask: QueuedAsk,
  functions: AskFunctions | undefined,
): Promise<Prepared> {
  const prepared = await prepareValues(thread, ask, functions);
  if (prepared.type !== "prepared" || prepared.given === undefined) return prepared;
  if (thread.agent.state.run !== undefined) return { ...prepared, given: undefined };
  const traceparent = startTrace(thread, ask);
  return traceparent === undefined ? prepared : { ...prepared, given: { ...prepared.given, traceparent } };
}

/** Whether an ask is known, its tools, its counter and its prompt. */
async function prepareValues(
  thread: AskedThread,
  ask: QueuedAsk,
  functions: AskFunctions | undefined,
): Promise<Prepared> {
  const { id: askId, requestId, content, continues, options } = ask;
  const signal = functions?.signal;
  await thread.reload(); // a request that has failed here would still be open in the log
  if (signal?.aborted) throw askAborted();
  thread.stopped.throwIfAborted();
  const known = ask.keys.length === 0 ? undefined : await answerOrAbort(thread, signal, () => findKnown(thread, ask));
  if (known !== undefined) return { type: "unprepared", askId, known };
  if (mustWait(thread.live, ask)) return { type: "postponed", askId };
  if (functions === undefined) await answerOrAbort(thread, signal, async () => thread.options.mayStart?.());
  if (wasHandedOver(thread.agent) && thread.agent.state.run === undefined && continues === undefined) {
    await takeLaneAgent(thread, ask, signal);
  }
  checkPrices(options, thread.options.definition);
  // While a request is open, the agent refuses another ask, so no function of the caller is called for it.
  const { agent } = thread;
  const refused = { type: "prepared", askId, given: undefined } as const;
  if (agent.state.run !== undefined) return refused;
  const { context, tools, facts, headers } = await answerOrAbort(thread, signal, () =>
    givenWith(thread, ask, functions),
  );
  if (tools !== undefined) thread.setTransient(requestId, { tools });
  if (headers !== undefined) thread.setTransient(requestId, { headers });
  const output = functions?.output;
  if (output !== undefined) thread.setTransient(requestId, { output });
  const lane = ask.operation?.contextRef;
  // The settings of another lane may have to be loaded.
  const stored = lane === undefined ? heldFor(agent) : await thread.read((now) => heldFor(now, now.state.run, lane));
  const settings = withAsked(stored, options);
  const prepareTools = () => thread.prepareTools(settings);
  const held = await (settings.tools.size === 0 ? prepareTools() : answerOrAbort(thread, signal, prepareTools));
  const { definition, threadId } = thread.options;
  const scope = { context: context as never, state: { threadId, requestId, thread: agent.thread } }; // the caller has typed it
  const sources = { options: thread.options, hookLimit: thread.hookLimit, wasHandedOver: wasHandedOver(thread.agent) };
  const find = () =>
    functions === undefined && options.model !== undefined
      ? findModelsAgain(sources, options.model, settings, scope)
      : chooseModels(sources, functions?.model, settings, scope);
  const isSet = options.model !== undefined || setModels(definition, settings) !== undefined;
  const isStatic = !isSet && ownModels(definition).length > 0;
  const found = isStatic ? undefined : await answerOrAbort(thread, signal, find);
  if (found !== undefined) thread.setTransient(requestId, { models: found.models });
  const models = found && namesOf(found);
  const counted = options.contextPolicy ?? settings.contextPolicy ?? {};
  const exactCounter = await loadCounter(thread, counted, models?.names[0]);
  const isLost = options.hasContext === true && context === undefined; // the prompt could throw
  const hasFunction = typeof definition.systemPrompt === "function" && !isLost;
  const prompt = hasFunction ? await answerOrAbort(thread, signal, () => promptFor(thread, settings, context)) : {};
  const given: RequestValues = { ...prompt, context, tools: facts, models, exactCounter, held };
  const isPlain = definition.accept === undefined && definition.prepareCall === undefined;
  // A request that is continued has the options of the one before, whose ask was accepted.
  if (isPlain || continues !== undefined) return { type: "prepared", askId, given };
  const asked = giveToRequest({ live: thread.live, effects: [] }, requestId, given).live.agent;
  const optional = { ...(ask.refs && { refs: ask.refs }), ...(ask.operation && { operation: ask.operation }) };
  if (asked.state.run !== undefined) return refused;
  const refusal = askRefusal(asked, { type: "ask", content, options, ...optional }, requestId);
  if (refusal !== undefined) return { type: "prepared", askId, given };
  await checkAccepted(thread, ask, asked, signal);
  const [model] = found?.models ?? ownModels(definition);
  if (model === undefined || isLost) return { type: "prepared", askId, given }; // it makes no call
  const own = { tools, headers, model };
  return {
    type: "prepared",
    askId,
    given: await withPreparedCall(thread, ask, given, { asked, settings, held, own, signal }),
  };
}

/** In a thread that was handed over, each lane has its agent. */
async function takeLaneAgent(
  thread: AskedThread,
  { requestId, operation }: QueuedAsk,
  signal: AbortSignal | undefined,
): Promise<void> {
  const name = await thread.read((now) => laneAgent(now, operation));
  const { handOff, definition } = thread.options;
  if (name === undefined || name === definition.name || !handOff?.serves(name)) return;
  const failure = await answerOrAbort(thread, signal, () => handOff.change(name, signal));
  if (failure !== undefined) throw new RequestError({ ...failure, requestId });
}

/** The error that refuses an ask, when a function of the agent has failed. */
function hookError(
  { stopped, options: { onError, threadId } }: AskedThread,
  { code, message, requestId }: HookName & { readonly message: string; readonly requestId: string },
  signal: AbortSignal | undefined,
  cause: unknown,
): unknown {
  if (signal?.aborted || stopped.aborted) return cause;
  onError(cause, { code, threadId, requestId });
  const isOwn = RequestError.isInstance(cause) && cause.code === code;
  return isOwn ? cause : new RequestError({ code, requestId, message, cause });
}

/** The values of an ask with the changes of `prepareCall`. */
async function withPreparedCall(
  thread: AskedThread,
  { requestId, content, options }: QueuedAsk,
  given: RequestValues,
  { asked: agent, settings: held, held: { code }, own: { tools, headers, model }, signal }: PreparedOf,
): Promise<RequestValues> {
  const { systemPrompt, context, tools: facts } = given;
  const of = {
    agent,
    requestId,
    content,
    options,
    held,
    systemPrompt,
    context,
    model,
    headers,
    tools: { ...code, ...tools },
  };
  const call = await answerOrAbort(thread, signal, () => prepareCall(thread, of)).catch((cause: unknown) => {
    const message = "prepareCall threw an error, or returned a value that an ask cannot have. See `cause`.";
    throw hookError(thread, { ...PREPARE_CALL, message, requestId }, signal, cause);
  });
  if (call === undefined) return given;
  if (call.headers !== undefined) thread.setTransient(requestId, { headers: call.headers });
  if (call.tools !== undefined) thread.setTransient(requestId, { tools: { ...tools, ...call.tools.code } });
  const more = call.tools?.facts;
  const changed = { ...given, options: call.options, tools: more && facts ? withTools(facts, more) : (more ?? facts) };
  const { model: choice } = call;
  if (choice === undefined) return changed;
  const found = await answerOrAbort(thread, signal, () => foundOf(thread, choice));
  thread.setTransient(requestId, { models: found.models });
  const names = namesOf({ ...found, stored: modelNames(choice) });
  const counted = options.contextPolicy ?? held.contextPolicy ?? {};
  return { ...changed, models: names, exactCounter: await loadCounter(thread, counted, names.names[0]) };
}

interface PreparedOf {
  readonly asked: ReactAgent;
  readonly settings: HeldSettings;
  readonly held: HeldTools;
  readonly own: Pick<AskFunctions, "tools" | "headers"> & { readonly model: ProviderModel };
  readonly signal: AbortSignal | undefined;
}

/** Starts the span of a request before its ask is committed, because its trace is stored with the ask. */
function startTrace(thread: AskedThread, { requestId, options }: QueuedAsk): string | undefined {
  const { scene } = thread;
  const { asked = scene.telemetry.ask?.({ requestId, traceparent: options.traceparent }, scene) } =
    scene.transient(requestId);
  if (asked !== undefined) thread.setTransient(requestId, { asked });
  return asked?.traceparent;
}

const ACCEPT = { name: "accept", code: "accept_failed" };

/** Calls `accept`, for an ask that the agent would accept. */
async function checkAccepted(
  thread: AskedThread,
  { requestId, content }: QueuedAsk,
  agent: ReactAgent,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { accept } = thread.options.definition;
  if (accept === undefined) return;
  const hook = () => accept({ thread: agent.thread }, { content, requestId });
  let reason: unknown;
  try {
    reason = await answerOrAbort(thread, signal, () => hookAnswer(thread.hookLimit, ACCEPT, hook));
  } catch (cause) {
    const message = "The agent's accept threw an error. See `cause`.";
    throw hookError(thread, { ...ACCEPT, message, requestId }, signal, cause);
  }
  if (reason === undefined) return;
  const message =
    typeof reason === "string" ? reason : "The agent's accept must return a text that refuses the ask, or undefined.";
  throw notAccepted(requestId, { code: "not_accepted", message });
}

/**
 * The functions of the caller, or of the host for an ask of another process. If the host does not have them, the
 * request fails as `options_lost`.
 */
async function givenWith(
  { options, hookLimit }: AskedThread,
  { requestId, refs = {}, options: asked }: QueuedAsk,
  functions: AskFunctions | undefined,
): ReturnType<typeof makeAgain> {
  if (functions !== undefined) {
    const { context, tools, headers } = functions;
    return tools === undefined
      ? { context, headers }
      : { context, headers, tools, facts: await factsOf(tools, hookLimit) };
  }
  try {
    return await makeAgain(options, { refs, asked }, hookLimit);
  } catch (error) {
    if (!(error instanceof ValueFunctionError)) throw error;
    const { cause, code, message } = error;
    options.onError(cause, { code, threadId: options.threadId, requestId });
    throw new RequestError({ code, requestId, message, cause });
  }
}

/** The result of a function of the caller, which may never return. Rejects when the caller or the server stops waiting. */
async function answerOrAbort<Value>(
  { stopped }: AskedThread,
  signal: AbortSignal | undefined,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await untilAborted(stopped, () => (signal === undefined ? work() : untilAborted(signal, work)));
  } catch (error) {
    throw signal?.aborted ? askAborted() : error;
  }
}

/** The entry of this ask, if it was asked before: a caller repeats an ask when it got no answer. */
async function findKnown(thread: AskedThread, { keys, ...words }: QueuedAsk): Promise<Entry | undefined> {
  for (const [ref, value] of keys) {
    const ask = await find(thread, ref, value);
    if (ask === undefined) continue;
    if (!hasWords(ask, words)) throw requestReused(ask.refs.requestId ?? "", ref);
    return ask;
  }
  return undefined;
}

/** If the thread was deleted since, it is read again first. */
async function find(asked: AskedThread, ref: string, value: string): Promise<Entry | undefined> {
  const ask = await findAsk(asked, ref, value);
  const { thread } = asked.agent;
  if (ask === undefined) return undefined;
  await asked.command({ type: "notice" });
  return asked.agent.thread === thread ? ask : findAsk(asked, ref, value);
}

/** Whether an ask has this content, or continues this request. */
export function hasWords(entry: Entry, { content, continues }: Pick<QueuedAsk, "content" | "continues">): boolean {
  if (continues !== undefined) return continuedBy(entry) === continues;
  return sameJson((entry.payload as JsonObject)["content"], content as JsonValue); // both are JSON
}

export function askAborted(): RequestError {
  return new RequestError({ code: "request_cancelled", message: "The signal was aborted before the ask was written." });
}

/** Warns of a refused ask of another process, which has no caller here. A suspended one waits for the next process. */
export function warnOfRefused(
  { threadId, warn }: Pick<ThreadOptions, "threadId" | "warn">,
  askId: string,
  error: unknown,
): void {
  if (RequestError.isInstance(error) && error.code === "request_suspended") return;
  const why = HeddleError.isInstance(error) ? error.message : "unexpected error.";
  warn(`Thread ${threadId}: the ask of ${askId} had waited in the inbox, and was not taken: ${why}`);
}
