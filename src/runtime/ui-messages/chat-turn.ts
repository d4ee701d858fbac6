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
    /** The `trigger` that `useChat` sends. "regenerate-message" is refused, since a log only grows. Default: none. */
    readonly trigger?: string | undefined;
  };

/** The result of a post of `useChat`. `uiMessageStream(request, turn)` streams what the client does not have. */
export interface ChatTurn<Output = unknown> {
  readonly request: AgentRequest<Output>;
  readonly after?: number;
  readonly thread: () => Promise<Thread>;
}

/**
 * Handles a post of `useChat`. If the last message is the user's, it asks that message. If it is the assistant's, it
 * approves, denies and answers the waiting calls, and resumes their request. The request then has the `context`,
 * `tools` and `signal` of this post, and the other options of the post that asked. When no call waits, it is a
 * RequestError `not_waiting`. A message is asked once, by its id: a repeated post streams the first request, also when
 * that has ended. The same id with other content is `request_id_reused`.
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
  const [{ by, trigger, ...options } = {}] = given as [options?: ChatTurnOptions<AnyAgent>]; // the type of the context does not matter here
  checkHostAskOptions(options);
  const { agent } = options;
  if (trigger === "regenerate-message") throw noRegeneration();
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (last?.role === "assistant") {
    const { context, tools, signal } = options as HostGetOptions<AgentContext<Given>>; // as it was given
    if (signal?.aborted) throw aborted();
    const turn = await decideCalls(await host.get(threadId, { agent, context, tools }), last, by);
    // The signal of a post may abort the request only after this post has decided a call.
    if (signal !== undefined && turn.request.state !== "done") await host.get(threadId, { signal });
    return turn;
  }
  const content = lastUserContent(messages);
  const messageId = idOf(messages.findLast(({ role }) => role === "user"));
  const open = await openTurn(host, threadId, messageId, content, agent);
  if (open !== undefined) return open;
  const ofMessage = { refs: { ...options.refs, messageId }, idempotencyRef: "messageId" };
  const asked = messageId === undefined ? options : { ...options, ...ofMessage };
  const request = await host.ask(
    threadId,
    content,
    ...([asked] as AskArguments<AskOptions<AgentContext<Given>> & AgentChoice>),
  ); // as it was given
  const server = await host.get(threadId, { agent });
  return { request, thread: () => server.thread() };
}

/**
 * The open request of a thread, for a page that is loaded again. Its stream begins with the entries of the log, so it
 * works also when the process that ran the request has ended. Undefined when no request is open: answer 204, and the
 * page shows the messages of the log.
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

async function decideCalls<Given extends AnyAgent>(
  server: AgentServer<Given>,
  message: UIMessageLike,
  by: string | undefined,
): Promise<ChatTurn<AgentOutput<Given>>> {
  const { request } = server;
  const after = request === undefined ? 0 : await lastSeqBeforeWait(request);
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
  const message = "The signal was aborted before a call was decided. The calls still wait.";
  return new RequestError({ code: "request_cancelled", message });
}

function noRegeneration(): RequestError {
  const message =
    "An answer cannot be regenerated, because a log only grows. Fork the thread before the message, and ask there.";
  return new RequestError({ code: "regenerate_unsupported", message });
}

function notWaiting(): RequestError {
  const message =
    "No call waits for this decision. It was decided before, or its request has ended. Load the messages again.";
  return new RequestError({ code: "not_waiting", message });
}

/** The seq of the last event before the request began to wait. The client has all events up to it. */
async function lastSeqBeforeWait(request: AgentRequest): Promise<number> {
  let last = 0;
  for await (const { seq } of request.events({ until: "waiting" })) last = seq;
  return last;
}

/** The calls of the request that are not decided yet. */
function waitingCalls(thread: Thread, requestId: string): readonly UIToolPart[] {
  const message = toUIMessages(thread, { partial: true }).findLast(
    ({ id, role }) => role === "assistant" && id === requestId,
  );
  const step = message?.parts.slice(message.parts.findLastIndex(({ type }) => type === "step-start")) ?? [];
  return step.flatMap((part) => ("toolCallId" in part && !part.providerExecuted ? [part] : []));
}

/** A decision of the user on a waiting call. */
type Decision =
  | { readonly toolCallId: string; readonly approved: boolean; readonly reason: string | undefined }
  | { readonly toolCallId: string; readonly output: unknown };

/** The decisions on waiting calls in a message of a browser, which may hold anything. Parts of other calls are ignored. */
function decisionsFor(waiting: readonly UIToolPart[], { parts }: UIMessageLike): readonly Decision[] {
  const received: readonly unknown[] = Array.isArray(parts) ? parts : [];
  return waiting.flatMap((call) => {
    // Several calls may have one id: the newest is meant.
    const part = received.findLast((one) => isPlainObject(one) && one["toolCallId"] === call.toolCallId);
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
 * The content of the last user message, its text and files, for `ask`. The server has the history, so the rest of the
 * post is ignored, with its options for providers.
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
