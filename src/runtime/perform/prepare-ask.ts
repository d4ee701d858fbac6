import type { ModelChoice } from "../../agent/definition/language-model.ts";
import type { InputSchema } from "../../agent/definition/schema.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { askRefusal, handleAsk } from "../../agent/react/ask.ts";
import { heldFor, withMode } from "../../agent/react/call-context.ts";
import { continuedBy } from "../../agent/react/state.ts";
import type { Signal } from "../../agent/signal.ts";
import type { HeldSettings } from "../../lanes/setting.ts";
import type { Entry } from "../../thread/entry.ts";
import { HeddleError } from "../../thread/errors.ts";
import { type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import { giveToRequest, mustWait } from "../live/asks.ts";
import type { Live, QueuedAsk } from "../live/live.ts";
import type { RequestValues } from "../live/signal.ts";
import { chooseModels, findModelsAgain, type ModelSources, namesOf, setModels } from "../model/find-models.ts";
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
import { hookAnswer, untilAborted } from "../time-limits.ts";
import type { HeldTools } from "../tools/held-tools.ts";
import { type Lent, ownModels, type ThreadOptions } from "./scene.ts";

/** The functions and values of an ask that are not in the log. */
export interface AskFunctions {
  readonly context: unknown;
  readonly tools: Tools | undefined;
  readonly model: ModelChoice | undefined;
  readonly headers: Lent["headers"] | undefined;
  readonly output?: InputSchema | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The thread that is asked. */
export interface AskedThread extends Omit<RequestLog, "agent" | "options">, PromptSource {
  readonly agent: ReactAgent;
  readonly options: RequestLog["options"] &
    PromptSource["options"] &
    ModelSources["options"] &
    Parameters<typeof makeAgain>[0] &
    Pick<ThreadOptions, "definition">;
  readonly live: Live;
  mend(): Promise<void>;
  command(signal: Signal): Promise<unknown>;
  /** Keeps the values of a request that are not in the log. */
  lend(requestId: string, lent: Partial<Lent>): void;
  /** Finds the code of the tools in the settings. */
  prepareTools(held: HeldSettings): Promise<HeldTools>;
}

type Prepared =
  | { readonly type: "prepared"; readonly askId: string; readonly given: RequestValues }
  | { readonly type: "unprepared"; readonly askId: string; readonly known: Entry }
  | { readonly type: "postponed"; readonly askId: string };

/** Prepares an ask for the decision of the agent: whether it is known, its tools, its counter and its prompt. */
export async function prepareAsk(
  thread: AskedThread,
  ask: QueuedAsk,
  functions: AskFunctions | undefined,
): Promise<Prepared> {
  const { id: askId, requestId, content, continues, options } = ask;
  const continued = continues === undefined ? {} : { continues };
  const signal = functions?.signal;
  await thread.mend(); // a request that has failed here would still be open in the log
  if (signal?.aborted) throw askAborted();
  thread.stopped.throwIfAborted();
  const known = ask.keys.length === 0 ? undefined : await answerOrAbort(thread, signal, () => findKnown(thread, ask));
  if (known !== undefined) return { type: "unprepared", askId, known };
  if (mustWait(thread.live, ask)) return { type: "postponed", askId };
  // While a request is open, the agent refuses another ask, so no function of the caller is called for it.
  const { agent } = thread;
  if (agent.state.run !== undefined) {
    const { directives } = handleAsk(agent, { type: "ask", requestId, content, options, ...continued });
    if (directives.some(({ type }) => type === "emit_request_error")) return { type: "prepared", askId, given: {} };
  }
  const { context, tools, facts, headers } = await answerOrAbort(thread, signal, () =>
    givenWith(thread, ask, functions),
  );
  if (tools !== undefined) thread.lend(requestId, { tools });
  if (headers !== undefined) thread.lend(requestId, { headers });
  const output = functions?.output;
  if (output !== undefined) thread.lend(requestId, { output });
  const settings = withMode(heldFor(agent), options.mode);
  const prepareTools = () => thread.prepareTools(settings);
  const held = await (settings.tools.size === 0 ? prepareTools() : answerOrAbort(thread, signal, prepareTools));
  const { definition, threadId } = thread.options;
  const scope = { context: context as never, state: { threadId, requestId, thread: agent.thread } }; // the caller has typed it
  const find = () =>
    functions === undefined && options.model !== undefined
      ? findModelsAgain(thread, options.model, settings, scope)
      : chooseModels(thread, functions?.model, settings, scope);
  const isSet = options.model !== undefined || setModels(definition, settings) !== undefined;
  const isStatic = !isSet && ownModels(definition).length > 0;
  const found = isStatic ? undefined : await answerOrAbort(thread, signal, find);
  if (found !== undefined) thread.lend(requestId, { models: found.models });
  const models = found && namesOf(found);
  const counted = options.contextPolicy ?? settings.contextPolicy ?? {};
  const exactCounter = await loadCounter(thread, counted, models?.names[0]);
  const isLost = options.hasContext === true && context === undefined; // the prompt could throw
  const hasFunction = typeof definition.systemPrompt === "function" && !isLost;
  const prompt = hasFunction ? await answerOrAbort(thread, signal, () => promptFor(thread, settings, context)) : {};
  const given: RequestValues = { ...prompt, context, tools: facts, models, exactCounter, held };
  await checkAccepted(thread, ask, given, signal);
  return { type: "prepared", askId, given };
}

const ACCEPT = { name: "accept", code: "accept_failed" };

/** Calls `accept`, for an ask that the agent would accept. */
async function checkAccepted(
  thread: AskedThread,
  { requestId, content, continues, options, refs }: QueuedAsk,
  given: RequestValues,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { definition, threadId, onError } = thread.options;
  const { accept } = definition;
  if (accept === undefined || continues !== undefined) return; // the ask that it continues was accepted
  const { agent } = giveToRequest({ live: thread.live, effects: [] }, requestId, given).live;
  if (askRefusal(agent, { type: "ask", content, options, ...(refs && { refs }) }, requestId) !== undefined) return;
  const hook = () => accept({ thread: agent.thread }, { content, requestId });
  let reason: unknown;
  try {
    reason = await answerOrAbort(thread, signal, () => hookAnswer(thread.hookLimit, ACCEPT, hook));
  } catch (cause) {
    const { code } = ACCEPT;
    if (signal?.aborted || thread.stopped.aborted) throw cause;
    onError(cause, { code, threadId, requestId });
    if (RequestError.isInstance(cause) && cause.code === code) throw cause;
    throw new RequestError({ code, requestId, message: "The agent's accept threw an error. See `cause`.", cause });
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
