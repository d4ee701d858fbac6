import type { AnyAgent } from "../../agent/definition/config.ts";
import { activeLane } from "../../lanes/active-lane.ts";
import type { ThreadInfo, ThreadStore } from "../../stores/port.ts";
import { portableSha256 } from "../../thread/encoding.ts";
import { HeddleError } from "../../thread/errors.ts";
import { httpStatusOf } from "../../thread/http-status.ts";
import type { JsonObject } from "../../thread/json.ts";
import { checkName, type OptionNames } from "../../thread/options.ts";
import { Thread } from "../../thread/thread.ts";
import { ignoreErrorsOf } from "../callbacks.ts";
import type { AgentHost } from "../host/agent-host.ts";
import { checkBy, checkFrom1, checkFunctions, checkStreamOptions, checkUIOptions } from "../option-names.ts";
import { runtimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import type { AskArguments } from "../server/options.ts";
import { type ChatTurn, type ChatTurnOptions, chatTurn, resumeTurn } from "../ui-messages/chat-turn.ts";
import type { UIChatMessage, UIMessageLike } from "../ui-messages/message.ts";
import { type MessageSiblings, messageSiblings } from "../ui-messages/message-tree.ts";
import { isClient6, STREAM_OPTIONS, type UIMessageStreamOptions } from "../ui-messages/options.ts";
import { infoOf, ownerMismatch } from "../ui-messages/owner.ts";
import { uiMessageStreamResponse } from "../ui-messages/stream.ts";
import { toUIMessages } from "../ui-messages/to-ui-messages.ts";
import { queuedMessages } from "../ui-messages/user-message.ts";
import { changeEvents } from "./change-events.ts";
import { type ChatAction, type ChatRequest, readChatRequest, requiredText } from "./chat-request.ts";

/** The answer of `authorize`: whether the user may, or the owner that the thread must have, and the person. */
export type ChatAccess =
  | boolean
  | {
      readonly owner: string;
      /** The person who decides calls, for the log. Default: the owner. */
      readonly by?: string | undefined;
    };

/** The host, who may do what, and the options of asks and streams. */
export interface ChatHandlerOptions<Agent extends AnyAgent = AnyAgent> {
  readonly host: AgentHost<Agent>;
  /**
   * Decides about each request. False refuses it as `access_refused`. With `{ owner }` a new thread gets this owner, and a
   * thread that is not the owner's is `owner_mismatch`. `by`, or else the owner, is recorded as the person who decided. A `Response` that
   * this or `ask` throws is the answer.
   */
  readonly authorize: (
    request: Request,
    chat: { readonly threadId: string; readonly action: ChatAction },
  ) => ChatAccess | Promise<ChatAccess>;
  /** The options of an ask, such as model and context. `body` is what the page sent. Default: none. */
  readonly ask?:
    | ((
        request: Request,
        body: JsonObject,
      ) => ChatTurnOptions<Agent> | undefined | Promise<ChatTurnOptions<Agent> | undefined>)
    | undefined;
  /** The options of each stream, such as `client` and `onError`. Default: none. */
  readonly stream?: Omit<UIMessageStreamOptions, "after" | "thread" | "messageId" | "lastEventId"> | undefined;
  /** The size of the largest body. Default 4 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Other origins whose pages may call it, such as `https://app.example.com`. Default: none, only its own host. */
  readonly origins?: readonly string[] | undefined;
  /** Called with an error that has no code. The page gets only its status. Default `console.error`. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The messages of the active branch of a thread, as a page shows them. */
export interface ShownThread {
  readonly messages: readonly UIChatMessage[];
  /** The messages of users that wait for their turn, with their text and files. */
  readonly queued: readonly UIChatMessage[];
  /** The alternatives to the messages that have any, by message id. */
  readonly siblings: { readonly [messageId: string]: MessageSiblings };
  /** The title that a person gave, or that the host made. Null before. */
  readonly title: string | null;
  /** Null for a thread without entries. */
  readonly status: ThreadInfo["status"] | null;
  /** The seq of the next entry: `events` from here on have what is not in the messages. */
  readonly nextSeq: number;
  /** Only of a switch to another branch, which waits for the end of the answer that runs: the messages are those before it. */
  readonly deferred?: true;
}

/** The messages after those that the page has. */
export interface ShownRest extends ShownThread {
  /** How many of its messages the page keeps. Default: none. */
  readonly kept?: number;
  /** Names the messages that the next load may leave out. */
  readonly known: string;
}

/** A route for a chat: a function, which is also its `GET` and `POST`. */
export interface ChatHandler {
  (request: Request): Promise<Response>;
  readonly GET: (request: Request) => Promise<Response>;
  readonly POST: (request: Request) => Promise<Response>;
}

const OPTIONS: OptionNames<ChatHandlerOptions> = {
  host: true,
  authorize: true,
  ask: true,
  stream: true,
  maxBodyBytes: true,
  origins: true,
  onError: true,
};

const { after, thread, messageId, lastEventId, ...SHARED_BY_STREAMS } = STREAM_OPTIONS;

const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * Serves a chat to `useChat`: turns, resumed streams, messages, changes, branches, stop, approvals and titles. Mount it at a path and all
 * paths below it. It never throws: an error is a JSON response `{ error: { code, message, retryable } }`.
 *
 * @example
 * const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * const { GET, POST } = chatHandler({ host, authorize: () => ({ owner: "ada" }) });
 * const response = await GET(new Request("http://localhost/api/chat/thread_1/messages"));
 * console.log(await response.json()); // { messages: [], queued: [], siblings: {}, title: null, status: null, nextSeq: 0 }
 */
export function chatHandler<Agent extends AnyAgent>(options: ChatHandlerOptions<Agent>): ChatHandler {
  checkUIOptions("chatHandler", options, OPTIONS);
  if (typeof options.authorize !== "function") throw noAuthorize();
  const { host, ask, stream = {}, maxBodyBytes = MAX_BODY_BYTES, origins = [], onError: report = logError } = options;
  checkFunctions({ ask, onError: report });
  checkStreamOptions("stream", stream, SHARED_BY_STREAMS);
  isClient6(stream.client); // refuses another one
  checkFrom1("maxBodyBytes", maxBodyBytes);
  for (const origin of origins) if (!isOrigin(origin)) throw noOrigin(origin);
  const onError = ignoreErrorsOf(report);
  const handle = async (request: Request): Promise<Response> => {
    try {
      const chat = await readChatRequest(request, { maxBodyBytes, origins });
      checkName("threadId", chat.threadId);
      const access = await options.authorize(request, { threadId: chat.threadId, action: chat.action });
      return await serve(options, request, chat, await checkAccess(host.store, chat, access));
    } catch (error) {
      if (error instanceof Response) return error; // thrown by a function of the caller
      if (!HeddleError.isInstance(error)) onError(error);
      return errorResponse(error);
    }
  };
  return Object.assign(handle, { GET: handle, POST: handle });
}

async function serve<Agent extends AnyAgent>(
  { host, ask, stream: given }: ChatHandlerOptions<Agent>,
  request: Request,
  { action, threadId, body, known, messageId: resumed, lastEventId, client }: ChatRequest,
  { owner, by }: Partial<Exclude<ChatAccess, boolean>> = {},
): Promise<Response> {
  const stream = { ...given, ...(client !== undefined && { client }) };
  const streamed = ({ request: asked, joined, ...turn }: ChatTurn & Pick<UIMessageStreamOptions, "lastEventId">) =>
    uiMessageStreamResponse(asked, { ...stream, ...turn, ...(joined && { headers: { "x-heddle-joined": "1" } }) });
  const call = (): string => requiredText(body, "toolCallId");
  const decision = { by, ...(typeof body["reason"] === "string" && { reason: body["reason"] }) };
  switch (action) {
    case "turn": {
      const { messages, trigger, messageId, nextSeq } = body;
      const sent = { trigger, messageId, nextSeq } as Pick<ChatTurnOptions, "trigger" | "messageId" | "nextSeq">; // checked by chatTurn
      const all = { by, ...sent, ...(await ask?.(request, body)), ...(owner !== undefined && { owner }) };
      const asked = [all] as unknown as AskArguments<ChatTurnOptions<Agent>>; // as `ask` gave them
      return streamed(await chatTurn(host, threadId, messages as unknown as readonly UIMessageLike[], ...asked)); // checked by chatTurn
    }
    case "stream": {
      const turn = await resumeTurn(host, threadId, { messageId: resumed });
      return turn === undefined ? new Response(null, { status: 204 }) : streamed({ ...turn, lastEventId });
    }
    case "messages": {
      const page = await shown(host, threadId, stream, client !== undefined);
      return Response.json(known === undefined ? page : restOf(page, known));
    }
    case "events": {
      const fromSeq = seqIn(request) ?? (await infoOf(host.store, threadId))?.rev ?? 0;
      const signal = AbortSignal.any([request.signal, host.stopped]);
      return changeEvents(host.store, { ports: runtimePorts(), threadId, fromSeq, signal });
    }
    case "branch": {
      const lane = requiredText(body, "lane");
      // A switch would wait for the decision, and a message on the branch that the page shows would be taken for it.
      const isWaiting = (await host.waiting(threadId)).length > 0;
      if (isWaiting && activeLane(await host.thread(threadId)) !== lane) throw callWaits();
      const { status } = await host.switchBranch(threadId, lane);
      const page = await shown(host, threadId, stream, client !== undefined);
      return Response.json({ ...page, ...(status === "deferred" && { deferred: true }) });
    }
    case "stop":
      return Response.json({ stopped: await host.cancel(threadId) });
    case "approve": {
      const edited = body["arguments"];
      await host.approve(threadId, call(), { ...decision, ...(edited !== undefined && { arguments: edited }) });
      return new Response(null, { status: 204 });
    }
    case "deny":
      await host.deny(threadId, call(), decision);
      return new Response(null, { status: 204 });
    case "rename": {
      const metadata = { title: requiredText(body, "title") };
      // An entry, so that other pages get a change.
      await host.store.append(threadId, { kind: "note", payload: metadata }, { create: false, metadata });
      return new Response(null, { status: 204 });
    }
    case "answer":
      await host.answer(threadId, call(), body["output"], { by });
      return new Response(null, { status: 204 });
    default:
      return action satisfies never;
  }
}

/** The seq of the first event that the page wants: after the last one that it has got, or the `nextSeq` of its messages. */
function seqIn({ headers, url }: Request): number | undefined {
  const last = headers.get("last-event-id");
  const first = last === null ? new URL(url).searchParams.get("fromSeq") : `${Number(last) + 1}`;
  return first !== null && /^\d{1,15}$/.test(first) ? Number(first) : undefined;
}

/** A page that names its client resumes the stream of a running answer only, so it is given the one that waits. */
async function shown(
  host: Pick<AgentHost, "thread" | "store" | "pending">,
  threadId: string,
  { client, onError, sendReasoning, metadata }: ChatHandlerOptions["stream"] = {},
  namesClient = false,
): Promise<ShownThread> {
  const pending = await host.pending(threadId); // before the thread: a message that begins now is in one of them
  const held = await host.thread(threadId, { whole: true });
  const { status = null, title = null, rev = 0 } = (await infoOf(host.store, threadId)) ?? {};
  // A process may hold a thread for some time after it was deleted.
  const thread = held.rev <= rev ? held : ((await host.store.load(threadId)) ?? Thread.create({ id: threadId }));
  const openAnswer = namesClient && status === "waiting" ? true : undefined;
  const messages = toUIMessages(thread, { client, onError, sendReasoning, metadata, openAnswer });
  const queued = queuedMessages(pending).filter(({ id }) => messages.every((message) => message.id !== id));
  return { messages, queued, siblings: messageSiblings(thread), title, status, nextSeq: thread.rev };
}

/** A long thread is sent once. The last messages may still change. */
function restOf(page: ShownThread, known: string): ShownRest {
  const { messages } = page;
  const kept = Number.parseInt(known, 10);
  const isKept = nameOf(messages.slice(0, kept)) === known;
  const next = nameOf(messages.slice(0, -2));
  return { ...page, ...(isKept && { kept, messages: messages.slice(kept) }), known: next };
}

function nameOf(messages: readonly UIChatMessage[]): string {
  return `${messages.length}.${portableSha256(JSON.stringify(messages))}`;
}

/** Checks the answer of `authorize`, and resolves to the owner and the person. The ask of a turn gives a new thread its owner. */
async function checkAccess(
  store: ThreadStore,
  { threadId, action }: ChatRequest,
  access: ChatAccess,
): Promise<Exclude<ChatAccess, boolean> | undefined> {
  if (access === true) return undefined;
  if (typeof access !== "object" || access === null) throw accessRefused();
  checkUIOptions("The answer of authorize", access, { owner: true, by: true });
  const { owner, by = owner } = access;
  checkName("owner", owner);
  checkBy(by);
  const info = await infoOf(store, threadId);
  if (info === undefined || info.owner === owner) return { owner, by };
  // A thread with entries and no owner was not made by this handler: no user may take it.
  if (action !== "turn" || info.owner !== undefined || info.rev > 0) throw ownerMismatch(threadId);
  return { owner, by };
}

function errorResponse(error: unknown): Response {
  if (!HeddleError.isInstance(error)) {
    const message = "The server met an error. Its log has more.";
    return Response.json({ error: { code: "internal", message, retryable: false } }, { status: 500 });
  }
  const { code, message, retryable } = error;
  return Response.json({ error: { code, message, retryable } }, { status: httpStatusOf(error) });
}

function logError(error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: without the option `onError`, errors go to the console
  console.error(error);
}

function noAuthorize(): RequestError {
  const message = "chatHandler needs `authorize`, which decides who may use a thread. Return true to let everyone in.";
  return new RequestError({ code: "invalid_options", message });
}

/** As a browser sends it: a scheme and a host, without a slash at the end. */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

function noOrigin(origin: string): RequestError {
  const message = `origins has ${JSON.stringify(origin)}. Write it as browsers send it: "https://app.example.com", without a slash at the end.`;
  return new RequestError({ code: "invalid_options", message });
}

function callWaits(): RequestError {
  const message =
    "A call of this branch waits. Approve, deny or answer it, or stop the request, then switch the branch.";
  return new RequestError({ code: "busy", message, retryable: true });
}

function accessRefused(): RequestError {
  return new RequestError({ code: "access_refused", message: "You may not do this in this chat." });
}
