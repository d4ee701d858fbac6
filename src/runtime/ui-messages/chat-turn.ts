import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import { fail } from "../../agent/definition/tool.ts";
import { isAsk } from "../../agent/react/restore.ts";
import { ThreadError } from "../../thread/errors.ts";
import {
  copyJsonRepaired,
  isPlainObject,
  type JsonObject,
  type JsonValue,
  readSafely,
  sameJson,
} from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { Field } from "../../thread/messages/field.ts";
import { toContent } from "../../thread/messages/neutral-message.ts";
import { readPart } from "../../thread/messages/read.ts";
import type { Thread } from "../../thread/thread.ts";
import type { AgentHost } from "../host/agent-host.ts";
import type { AgentChoice, HostGetOptions } from "../host/options.ts";
import { checkHostAskOptions } from "../option-names.ts";
import type { AgentRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import type { AgentServer } from "../server/agent-server.ts";
import type { AskArguments, AskOptions } from "../server/options.ts";
import { withLoggedEvents } from "./logged-events.ts";
import type { UIMessageLike, UIToolPart } from "./message.ts";
import { toUIMessages } from "./to-ui-messages.ts";

/** The part of an AgentHost that a chat needs. */
export type ChatHost<Given extends AnyAgent = AnyAgent> = Pick<AgentHost<Given>, "get" | "ask" | "resume">;

/** The options of an ask, and the person who approves or denies calls. */
export type ChatTurnOptions<Given extends AnyAgent = AnyAgent> = AskOptions<AgentContext<Given>> &
  AgentChoice & {
    /** The person who decided, for the log. Default: none. */
    readonly by?: string | undefined;
    /** What `useChat` sends beside the messages: "regenerate-message" is refused, since a log only grows. Default: none. */
    readonly trigger?: string | undefined;
  };

/** What a post of `useChat` came to; `uiMessageStream(request, turn)` streams what is new. */
export interface ChatTurn<Output = unknown> {
  readonly request: AgentRequest<Output>;
  readonly after?: number;
  readonly thread: () => Promise<Thread>;
}

/**
 * Does what a post of `useChat` wants: asks what the user said last; or, when the last message is the assistant's, approves,
 * denies and answers the calls that waited for it, and goes on with their request, by the `context`, `tools` and `signal` of this
 * post; the other options are those of the post that asked. Only what waits is decided; when nothing
 * does, it is a RequestError `not_waiting`. A message is asked once, by its id: what is posted again streams the request that it
 * asked first, also when that has ended; with other content it is `request_id_reused`.
 *
 * @example
 * const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "What's 2+2?" }] }];
 * const { request } = await chatTurn(host, "thread_1", messages);
 * const { text } = await request.result; // "4"
 */
export async function chatTurn<Given extends AnyAgent>(
  host: ChatHost<Given>,
  threadId: string,
  messages: readonly UIMessageLike[],
  ...given: AskArguments<ChatTurnOptions<Given>>
): Promise<ChatTurn<AgentOutput<Given>>> {
  const [{ by, trigger, ...options } = {}] = given as [options?: ChatTurnOptions<AnyAgent>]; // whatever the context is
  checkHostAskOptions(options);
  const { agent } = options;
  if (trigger === "regenerate-message") throw noRegeneration();
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (last?.role === "assistant") {
    const { context, tools, signal } = options as HostGetOptions<AgentContext<Given>>; // as it was given
    if (signal?.aborted) throw aborted();
    const turn = await goOn(await host.get(threadId, { agent, context, tools }), last, by);
    // From here on the signal is that of this post, which has decided something.
    if (signal !== undefined && turn.request.state !== "done") await host.get(threadId, { signal });
    return turn;
  }
  const content = lastUserContent(messages);
  const messageId = idOf(messages.findLast(({ role }) => role === "user"));
  const open = await openTurn(host, threadId, messageId, content, agent);
  if (open !== undefined) return open;
  const ofMessage = { refs: { ...options.refs, messageId }, idempotencyRef: "messageId" };
  const asked = messageId === undefined ? options : { ...options, ...ofMessage };
  const request = await host.ask(threadId, content, ...([asked] as AskArguments<never>)); // as it was given
  const server = await host.get(threadId, { agent });
  return { request, thread: () => server.thread() };
}

/**
 * The request that is open on a thread, for whoever comes back to it: its stream begins with what the log holds, also when the
 * process that told it has ended. Undefined when none is open: answer 204, and the page shows the messages of the log.
 *
 * @example
 * const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * console.log(await resumeTurn(host, "thread_1")); // undefined
 */
export async function resumeTurn<Given extends AnyAgent>(
  host: Pick<ChatHost<Given>, "get" | "resume">,
  threadId: string,
): Promise<ChatTurn<AgentOutput<Given>> | undefined> {
  const request = await host.resume(threadId);
  if (request === undefined) return undefined;
  const server = await host.get(threadId);
  const thread = (): Promise<Thread> => server.thread();
  return { request: withLoggedEvents(request, thread), thread };
}

/** The turn of a message whose request is open. The ask of an open request is always loaded. */
async function openTurn<Given extends AnyAgent>(
  host: ChatHost<Given>,
  threadId: string,
  messageId: string | undefined,
  content: Content,
  agent: string | undefined,
): Promise<ChatTurn<AgentOutput<Given>> | undefined> {
  if (messageId === undefined) return undefined;
  const server = await host.get(threadId, { agent });
  const ask = (await server.thread()).filterByRef("messageId", messageId, { partial: true }).find(isAsk);
  if (ask === undefined || server.request?.id !== ask.refs.requestId) return undefined;
  const isSame = sameJson((ask.payload as JsonObject)["content"], content as JsonValue);
  return isSame ? resumeTurn(host, threadId) : undefined;
}

function idOf(message: UIMessageLike | undefined): string | undefined {
  const { id } = (message ?? {}) as { readonly id?: unknown }; // a browser may send anything
  return typeof id === "string" && id !== "" && id.isWellFormed() ? id : undefined;
}

async function goOn<Given extends AnyAgent>(
  server: AgentServer<Given>,
  message: UIMessageLike,
  by: string | undefined,
): Promise<ChatTurn<AgentOutput<Given>>> {
  const { request } = server;
  const after = request === undefined ? 0 : await restOf(request);
  const wanted = request === undefined ? [] : decisionsFor(waitingCalls(await server.thread(), request.id), message);
  if (request === undefined || wanted.length === 0) throw notWaiting();
  for (const decision of wanted) {
    const { toolCallId } = decision;
    if ("output" in decision) await server.answer(toolCallId, decision.output);
    else if (decision.approved) await server.approve(toolCallId, { by, reason: decision.reason });
    else await server.deny(toolCallId, { by, reason: decision.reason });
  }
  return { request, after, thread: () => server.thread() };
}

function aborted(): RequestError {
  const message = "The signal was aborted before anything was decided. The calls wait as before.";
  return new RequestError({ code: "request_cancelled", message });
}

function noRegeneration(): RequestError {
  const message =
    "An answer cannot be made again: the log keeps the one there is. Fork the thread before the message, and ask there.";
  return new RequestError({ code: "regenerate_unsupported", message });
}

function notWaiting(): RequestError {
  const message =
    "No call waits for what was decided. It was decided before, or its request has ended; load the messages anew.";
  return new RequestError({ code: "not_waiting", message });
}

/** The seq of the last event before the request came to rest: all up to here has been streamed. */
async function restOf(request: AgentRequest): Promise<number> {
  let last = 0;
  for await (const { seq } of request.events({ until: "waiting" })) last = seq;
  return last;
}

/** The calls of the request that nobody has decided yet. */
function waitingCalls(thread: Thread, requestId: string): readonly UIToolPart[] {
  const message = toUIMessages(thread, { partial: true }).findLast(
    ({ id, role }) => role === "assistant" && id === requestId,
  );
  const step = message?.parts.slice(message.parts.findLastIndex(({ type }) => type === "step-start")) ?? [];
  return step.flatMap((part) => ("toolCallId" in part && !part.providerExecuted ? [part] : []));
}

/** What somebody decided on a call that waits. */
type Decision =
  | { readonly toolCallId: string; readonly approved: boolean; readonly reason: string | undefined }
  | { readonly toolCallId: string; readonly output: unknown };

/** What a message of a browser decides on calls that wait. It may hold anything; of other calls nothing is taken. */
function decisionsFor(waiting: readonly UIToolPart[], { parts }: UIMessageLike): readonly Decision[] {
  const given: readonly unknown[] = Array.isArray(parts) ? parts : [];
  return waiting.flatMap((call) => {
    // Ids of calls may come again: the newest is meant.
    const part = given.findLast((one) => isPlainObject(one) && one["toolCallId"] === call.toolCallId);
    const decision = isPlainObject(part) ? decisionOn(call, part) : undefined;
    return decision === undefined ? [] : [decision];
  });
}

function decisionOn(call: UIToolPart, part: { readonly [key: string]: unknown }): Decision | undefined {
  const { toolCallId } = call;
  const { state, approval, output, errorText } = part;
  if (call.state === "approval-requested") {
    if (!isPlainObject(approval) || approval["id"] !== call.approval.id) return undefined;
    const { approved, reason } = approval;
    if (typeof approved !== "boolean") return undefined;
    return { toolCallId, approved, reason: typeof reason === "string" ? reason : undefined };
  }
  if (call.state !== "input-available") return undefined;
  if (state === "output-available" && output !== undefined) {
    return { toolCallId, output: copyJsonRepaired(output, "output") }; // checked while it is copied
  }
  if (state !== "output-error" || typeof errorText !== "string") return undefined;
  return { toolCallId, output: fail({ type: "tool_failed", message: errorText.toWellFormed() }) };
}

/**
 * What the user said last: the text and the files of the last user message, for `ask`. The server has the history, so nothing
 * else of what a browser sends is looked at, nor its options for providers.
 *
 * @example
 * const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "What's 2+2?" }] }];
 * console.log(lastUserContent(messages)); // What's 2+2?
 */
export function lastUserContent(messages: readonly UIMessageLike[]): Content {
  const list = Array.isArray(messages) ? messages : [];
  const index = list.findLastIndex((message: unknown) => isPlainObject(message) && message["role"] === "user");
  if (index < 0) {
    const message = "messages has no message of the user. Send what useChat sends, with the user's message in it.";
    throw new ThreadError({ code: "invalid_message", path: "messages", message });
  }
  const path = `messages[${index}]`;
  const copy = readSafely(path, "invalid_message", () => copyJsonRepaired(list[index], path)); // checked here
  const parts = new Field(copy, path).at("parts").list.flatMap((part) => {
    if (part.type !== "text" && part.type !== "file") return [];
    const { providerMetadata: _ofBrowser, ...own } = part.object;
    return readPart(new Field(own, part.path)) ?? [];
  });
  return toContent(parts);
}
