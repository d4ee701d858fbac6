import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import { isAsk } from "../../agent/react/restore.ts";
import { ThreadHeldError } from "../../stores/errors.ts";
import type { Entry, Refs } from "../../thread/entry.ts";
import { ThreadError } from "../../thread/errors.ts";
import { copyJsonRepaired, isPlainObject, type JsonObject, readSafely } from "../../thread/json.ts";
import { namedLane } from "../../thread/lane-operations.ts";
import { type Content, contentText } from "../../thread/message.ts";
import { Field } from "../../thread/messages/field.ts";
import { toContent } from "../../thread/messages/neutral-message.ts";
import { readPart } from "../../thread/messages/read.ts";
import type { Thread } from "../../thread/thread.ts";
import type { AgentHost } from "../host/agent-host.ts";
import type { AgentChoice, HostGetOptions } from "../host/options.ts";
import { checkBy, checkFrom1, checkFunctions, checkHostAskOptions, checkUIOptions } from "../option-names.ts";
import type { AgentRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import { FollowedRequest } from "../server/followed-request.ts";
import type { AskArguments, AskOptions } from "../server/options.ts";
import { decisionsFor, isShownAnswer, waitingCalls } from "./call-decisions.ts";
import { contentOf, type Place, type Post, placeAtEnd, placeOf, REPLY } from "./chat-place.ts";
import { LoggedRequest } from "./logged-events.ts";
import type { UIMessageLike } from "./message.ts";
import { REGENERATES, userMessageId } from "./message-tree.ts";
import { checkOwner } from "./owner.ts";
import { toUIMessages } from "./to-ui-messages.ts";
import { displayIn, displayOf } from "./user-message.ts";

/** The part of an AgentHost that a chat needs. */
export type ChatHost<Agent extends AnyAgent = AnyAgent> = Pick<AgentHost, "store"> &
  Pick<
    AgentHost<Agent>,
    "get" | "ask" | "resume" | "thread" | "waiting" | "pending" | "cancel" | "steer" | "approve" | "deny" | "answer"
  >;

/** The options of an ask, and the person who approves or denies calls. */
export type ChatTurnOptions<Agent extends AnyAgent = AnyAgent> = AskOptions<AgentContext<Agent>> &
  AgentChoice & {
    /** The person who decided, for the log. Default: none. */
    readonly by?: string | undefined;
    /** The `trigger` that `useChat` sends: "submit-message", or "regenerate-message" for another answer. Default "submit-message". */
    readonly trigger?: string | undefined;
    /** The `messageId` that `useChat` sends: the answer to replace. Default: the answer to the last message of the user. */
    readonly messageId?: string | undefined;
    /**
     * The `nextSeq` of the messages that the page has loaded. A message behind an older one goes to the end, if the page had not seen
     * what came in between. Default: it begins a branch.
     */
    readonly nextSeq?: number | undefined;
    /**
     * The effect of a message on an open request. While it answers: "steer" adds the message to it, "queue" asks after its
     * end, "cancel" cancels it first. While it waits for a person: "deny" denies its calls with the text as the reason.
     * Default `{ answering: "steer", waiting: "deny" }`.
     */
    readonly busy?: BusyPolicy | undefined;
    /** Makes the id of an answer, which is also the id of its request. Default: an id of the host. */
    readonly generateId?: (() => string) | undefined;
  };

/** The effect of a message of a page on a request that is open. "queue" and "cancel" alone hold for both cases. */
export type BusyPolicy =
  | "queue"
  | "cancel"
  | {
      readonly answering?: "steer" | "queue" | "cancel" | undefined;
      readonly waiting?: "deny" | "queue" | "cancel" | undefined;
    };

/** The result of a post of `useChat`. `uiMessageStream(request, turn)` streams what the client does not have. */
export interface ChatTurn<Output = unknown> {
  readonly request: AgentRequest<Output>;
  /** The message was added to a request that was open: it is a part of the answer, or the reason of a denied call. */
  readonly joined?: true;
  readonly after?: number;
  readonly thread: () => Promise<Thread>;
}

/**
 * Handles a post of `useChat`: a new message, an edited one (its id is known), or a message to answer again
 * (`regenerate-message`). An edit and a regenerate begin a branch, and cancel a running answer first. A message whose
 * predecessor is on another branch is asked there. If the last message is the assistant's, it approves, denies and answers
 * the waiting calls, and resumes their request. The request then has the `context`, `tools` and `signal` of this post, and
 * the other options of the post that asked. When no call waits, it is a RequestError `not_waiting`, except for an answer
 * as it is in the log: its stream is only the end of its request. A message is asked once, by its id: a repeated post
 * streams the first request, also when that has ended.
 *
 * @example
 * const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "What's 2+2?" }] }];
 * const { request } = await chatTurn(host, "thread_1", messages);
 * const { text } = await request.result; // "4"
 */
export async function chatTurn<Agent extends AnyAgent>(
  host: ChatHost<Agent>,
  threadId: string,
  messages: readonly UIMessageLike[],
  ...given: AskArguments<ChatTurnOptions<Agent>>
): Promise<ChatTurn<AgentOutput<Agent>>> {
  const [{ by, trigger, messageId, nextSeq, busy, generateId, ...options } = {}] = given as [
    options?: ChatTurnOptions<AnyAgent>,
  ]; // the type of the context does not matter here
  checkHostAskOptions(options);
  checkBy(by);
  checkFunctions({ generateId });
  checkFrom1("nextSeq", nextSeq || undefined); // 0 of an empty thread
  const policy = checkBusy(busy);
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (trigger !== "regenerate-message" && last?.role === "assistant") {
    const { agent, context, tools, signal } = options as HostGetOptions<AgentContext<Agent>>; // as it was given
    if (signal?.aborted) throw aborted();
    const request = await openRequest(host, threadId, { agent, context, tools });
    const turn = await decideCalls(host, threadId, request, last, by);
    // The signal of a post may abort the request only after this post has decided a call.
    if (signal !== undefined && turn.request.state !== "done") await openRequest(host, threadId, { signal });
    return turn;
  }
  const requestId = options.requestId ?? generateId?.();
  return askPost(
    host,
    threadId,
    postOf(messages, { trigger, messageId, nextSeq }),
    { ...options, requestId },
    { ...policy, by, author: options.author },
  );
}

/**
 * The open request. While another process holds the thread, it is followed in the log. The values of this post then stay here,
 * and that process makes its own.
 */
async function openRequest<Agent extends AnyAgent>(
  host: ChatHost<Agent>,
  threadId: string,
  values: HostGetOptions<AgentContext<Agent>>,
): Promise<AgentRequest<AgentOutput<Agent>> | undefined> {
  try {
    await host.get(threadId, { ...values, claimWaitMs: 0 }); // before the request is resumed, which may need them
  } catch (error) {
    if (!ThreadHeldError.isInstance(error)) throw error;
  }
  return host.resume(threadId);
}

/** The intent of the page, from its messages, trigger and message id. */
function postOf(
  messages: readonly UIMessageLike[],
  { trigger, messageId, nextSeq }: Pick<ChatTurnOptions, "trigger" | "messageId" | "nextSeq">,
): Post {
  const list = Array.isArray(messages) ? messages : [];
  const at = list.findLastIndex((message: unknown) => isPlainObject(message) && message["role"] === "user");
  if (trigger === "regenerate-message") {
    const answer = typeof messageId === "string" ? messageId : undefined;
    return { type: "regenerate", answer, message: idOf(list[at]) };
  }
  const before = at > 0 ? idOf(list[at - 1]) : undefined;
  const id = idOf(list[at]);
  const content = lastUserContent(messages);
  return {
    type: "message",
    id,
    content,
    display: displayOf(list[at], content),
    before,
    nextSeq,
    isEdit: id !== undefined && id === messageId,
  };
}

/** The codes of a post that found another state of the thread than the one it has looked at. */
const LATE: ReadonlySet<string> = new Set(["busy", "not_waiting"]);

/** How often a post looks again when other posts ask at the same time. */
const MAX_ATTEMPTS = 5;

/** Asks on the branch that the post belongs to. */
async function askPost<Agent extends AnyAgent>(
  host: ChatHost<Agent>,
  threadId: string,
  post: Post,
  options: AskOptions & AgentChoice,
  policy: OpenPolicy,
  attempts = MAX_ATTEMPTS,
): Promise<ChatTurn<AgentOutput<Agent>>> {
  const open = (await host.resume(threadId))?.id;
  const whole = async (): Promise<Place> => placeOf(await host.thread(threadId, { whole: true }), post, open);
  const place = placeAtEnd(await host.thread(threadId), post, open) ?? (await whole());
  try {
    const turn = await askAt(host, threadId, { post, place, open, policy, isLast: attempts === 1 }, options);
    return turn ?? (await askPost(host, threadId, post, options, policy, attempts - 1));
  } catch (error) {
    // Another post has asked since this one looked, or a person has decided the call that this one would deny.
    const isLate = RequestError.isInstance(error) && (LATE.has(error.code) || isTaken(error, post));
    if (isLate && attempts > 1) return askPost(host, threadId, post, options, policy, attempts - 1);
    // A page may post only its last message: whether that is an edit of an earlier one shows only the whole thread.
    const isEdit = RequestError.isInstance(error) && error.code === "request_id_reused" && place.type === "end";
    const again = isEdit ? await whole() : place;
    if (again.type === "end" || again === place) throw error;
    const turn = await askAt(host, threadId, { post, place: again, open, policy, isLast: true }, options);
    if (turn === undefined) throw error; // unreachable: the last attempt asks
    return turn;
  }
}

/** Another process took the thread while this one asked. The message may be in the log: by its id, it is asked once. */
function isTaken({ suspension }: RequestError, post: Post): boolean {
  return suspension?.reason === "lost" && post.type === "message" && post.id !== undefined;
}

interface PlacedPost {
  readonly post: Post;
  readonly place: Place;
  /** The request that was open when the place was looked up. */
  readonly open: string | undefined;
  readonly policy: OpenPolicy;
  /** Asks, whatever has happened since the place was looked up. */
  readonly isLast: boolean;
}

/** Undefined: the open request has ended since, and may have taken the message from another post. Look again. */
async function askAt<Agent extends AnyAgent>(
  host: ChatHost<Agent>,
  threadId: string,
  { post, place, open, policy, isLast }: PlacedPost,
  { refs, ...options }: AskOptions & AgentChoice,
): Promise<ChatTurn<AgentOutput<Agent>> | undefined> {
  const isOpen = place.type === "known" && place.ask.refs.requestId === open;
  const resumed = isOpen ? await resumeTurn(host, threadId) : undefined;
  const joinedBefore = place.type === "known" && place.joined === true;
  if (resumed !== undefined) return { ...resumed, ...(joinedBefore && { joined: true }) };
  const isAsked = place.type !== "known" && open !== undefined && (await host.resume(threadId))?.id === open;
  if (place.type !== "known" && open !== undefined && !isAsked && !isLast) return undefined;
  if (isAsked) await checkOwner(host.store, threadId, options.owner); // another owner may have begun the thread since
  const action = isAsked ? await actionFor(host, threadId, place, policy) : undefined;
  if (action === "cancel") await host.cancel(threadId, open, "Another message was sent.", { pending: "drop" });
  if (open !== undefined && post.type === "message" && (action === "steer" || action === "deny")) {
    const joining = await joinRequest(host, threadId, post, action, policy, open);
    const running = joining && (await resumeTurn(host, threadId));
    if (running?.request.id === open) return { ...running, joined: true };
    const ended = (await joining?.isTaken()) ? await endedTurn(host, threadId, open) : undefined;
    if (ended !== undefined) return { ...ended, joined: true };
    if (!isLast) return undefined;
  }
  const asked = { ...options, ...(action === "queue" && { queue: true }), ...askOf(post, place, refs) };
  const content = post.type === "message" && place.type !== "known" ? post.content : contentIn(place);
  const request = await host.ask(
    threadId,
    content,
    ...([asked] as AskArguments<AskOptions<AgentContext<Agent>> & AgentChoice>),
  ); // as it was given
  return { request, thread: () => host.thread(threadId), ...(joinedBefore && { joined: true }) };
}

/** The policy for an open request, the person who denies its calls, and the author of the message. */
interface OpenPolicy {
  readonly answering: "steer" | "queue" | "cancel";
  readonly waiting: "deny" | "queue" | "cancel";
  readonly by?: string | undefined;
  readonly author?: AskOptions["author"];
}

function checkBusy(busy: unknown): OpenPolicy {
  if (isPlainObject(busy)) checkUIOptions("busy", busy, { answering: true, waiting: true });
  const { answering = "steer", waiting = "deny" } = isPlainObject(busy)
    ? busy
    : busy === undefined
      ? {}
      : { answering: busy, waiting: busy };
  const isKnown = ["steer", "queue", "cancel"].includes(String(answering));
  if (isKnown && ["deny", "queue", "cancel"].includes(String(waiting))) return { answering, waiting } as OpenPolicy; // checked
  const message =
    'busy must be "queue", "cancel", or { answering, waiting }: "steer", "queue" or "cancel", and "deny", "queue" or "cancel".';
  throw new RequestError({ code: "invalid_options", message });
}

/** The effect of a message on the open request. Another branch cannot be asked while it answers, so it is cancelled. */
async function actionFor(
  host: Pick<ChatHost, "waiting">,
  threadId: string,
  place: Place,
  { answering, waiting }: OpenPolicy,
): Promise<OpenPolicy["answering"] | OpenPolicy["waiting"]> {
  const action = (await host.waiting(threadId)).length > 0 ? waiting : answering;
  if (place.type === "branch") return "cancel";
  return place.type === "lane" && action !== "queue" ? "cancel" : action;
}

/** Adds a message to the open request, and answers later whether the request has taken it. Undefined: it takes none. */
async function joinRequest(
  host: Pick<ChatHost, "waiting" | "steer" | "deny" | "pending">,
  threadId: string,
  { id, content, display }: Extract<Post, { type: "message" }>,
  action: "steer" | "deny",
  { by, author }: Pick<OpenPolicy, "by" | "author">,
  requestId: string,
): Promise<{ readonly isTaken: () => Promise<boolean> } | undefined> {
  const waiting = action === "deny" ? await host.waiting(threadId) : [];
  const approvals = waiting.filter(({ kind }) => kind === "approval");
  // A page may post a message again that was taken before the call was made.
  const isKnown = approvals.length > 0 && (await host.pending(threadId)).some((command) => command.id === id);
  const isSteered = isKnown || approvals.length === 0 || typeof content !== "string"; // a reason has no files
  const steered = isSteered
    ? await host.steer(threadId, content, {
        id,
        requestId,
        author,
        display,
        skip: action === "deny" && approvals.length === 0,
      })
    : undefined;
  const reason = contentText(content);
  for (const { toolCallId } of isKnown ? [] : approvals) {
    await host.deny(threadId, toolCallId, {
      by,
      ...(reason !== "" && { reason, author }),
      ...(id !== undefined && { refs: { [REPLY]: id } }),
    });
  }
  if (steered?.accepted === false) return undefined;
  return { isTaken: async () => steered === undefined || (await steered.receipt).delivered };
}

/** The options of the ask that say where it belongs, and by which it is asked once. */
function askOf(post: Post, place: Place, given: Refs | undefined): AskOptions {
  if (place.type === "known") return { requestId: place.ask.refs.requestId, refs: given };
  const messageId = post.type === "message" ? post.id : undefined;
  const refs = { ...given, ...(messageId !== undefined && { messageId }) };
  const once = messageId === undefined ? {} : { idempotencyRef: "messageId" };
  const shown = { display: post.type === "message" ? post.display : undefined };
  if (place.type === "end") return { refs, ...once, ...shown };
  if (place.type === "lane") return { refs, ...once, ...shown, branch: { lane: place.lane } };
  const { before, again, postId } = place;
  const branch = { before: before.id };
  if (again === undefined) return { refs: { ...refs, postId }, idempotencyRef: "postId", branch, ...shown };
  const repeated = { messageId: userMessageId(before), [REGENERATES]: before.id, postId };
  const display = post.type === "message" ? post.display : displayIn(before);
  return { refs: { ...refs, ...repeated }, idempotencyRef: "postId", branch, display, ...authorOf(before) };
}

/** The person who wrote a message that is answered again. */
function authorOf({ payload }: Entry): Pick<AskOptions, "author"> {
  const { author } = payload as JsonObject; // every payload is a JSON object
  return isPlainObject(author) ? { author: author as NonNullable<AskOptions["author"]> } : {}; // checked before it was written
}

/** The content of a message that the thread has. */
function contentIn(place: Place): Content {
  if (place.type === "known") return contentOf(place.ask) as Content; // written by us
  return place.type === "branch" ? (contentOf(place.before) as Content) : ""; // written by us, or read as a message
}

/**
 * The open request of a thread, for a page that is loaded again. Its stream begins with the entries of the log, so it
 * works also when the process that ran the request has ended. Undefined when no request is open: answer 204, and the
 * page shows the messages of the log. With `messageId`, it is the request of this answer, also when that has ended.
 *
 * @example
 * const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * console.log(await resumeTurn(host, "thread_1")); // undefined
 */
export async function resumeTurn<Agent extends AnyAgent>(
  host: ChatHost<Agent>,
  threadId: string,
  options: ResumeTurnOptions = {},
): Promise<ChatTurn<AgentOutput<Agent>> | undefined> {
  checkUIOptions("resumeTurn", options, { messageId: true });
  const { messageId } = options;
  const request = await host.resume(threadId);
  if (messageId !== undefined && request?.id !== messageId) return endedTurn(host, threadId, messageId);
  if (request === undefined) return undefined;
  const thread = (): Promise<Thread> => host.thread(threadId);
  return { request: withLog(request, thread), thread };
}

/** Options of `resumeTurn()`. */
export interface ResumeTurnOptions {
  /** The id of an answer, for a page that lost its stream. Default: the answer of the open request. */
  readonly messageId?: string | undefined;
}

/** A request that has ended, from the log. */
async function endedTurn<Agent extends AnyAgent>(
  host: ChatHost<Agent>,
  threadId: string,
  requestId: string,
): Promise<ChatTurn<AgentOutput<Agent>> | undefined> {
  const thread = await host.thread(threadId, { whole: true });
  const ask = thread.filterByRef("requestId", requestId).find(isAsk);
  if (ask === undefined) return undefined;
  const content = contentOf(ask) as Content; // written by us
  const known = [{ requestId }] as AskArguments<AskOptions<AgentContext<Agent>> & AgentChoice>; // it is not asked again
  const request = await host.ask(threadId, content, ...known);
  const whole = (): Promise<Thread> => host.thread(threadId, { whole: true });
  return { request: withLog(request, whole), thread: whole };
}

/** A request that another process runs is followed from its first entry, so its events need no others. */
function withLog<Output>(request: AgentRequest<Output>, thread: () => Promise<Thread>): AgentRequest<Output> {
  return request instanceof FollowedRequest ? request : new LoggedRequest(request, thread);
}

function idOf(message: UIMessageLike | undefined): string | undefined {
  const { id } = (message ?? {}) as { readonly id?: unknown }; // a browser may send anything
  return typeof id === "string" && id !== "" && id.isWellFormed() ? id : undefined;
}

async function decideCalls<Agent extends AnyAgent>(
  host: ChatHost<Agent>,
  threadId: string,
  request: AgentRequest<AgentOutput<Agent>> | undefined,
  message: UIMessageLike,
  by: string | undefined,
): Promise<ChatTurn<AgentOutput<Agent>>> {
  const after = request === undefined ? 0 : await lastSeqBeforeWait(request);
  const wanted =
    request === undefined ? [] : decisionsFor(waitingCalls(await host.thread(threadId), request.id), message);
  if (request === undefined || wanted.length === 0) {
    const known = await shownTurn(host, threadId, message, request?.id);
    if (known === undefined) throw notWaiting();
    return known;
  }
  for (const decision of wanted) {
    const { toolCallId } = decision;
    if ("output" in decision) await host.answer(threadId, toolCallId, decision.output, { by });
    else if (decision.approved) await host.approve(threadId, toolCallId, { by, reason: decision.reason });
    else await host.deny(threadId, toolCallId, { by, reason: decision.reason });
  }
  return { request, after, thread: () => host.thread(threadId) };
}

/** The end of a request that has ended, for a page that has its answer, and sends it by itself as `sendAutomaticallyWhen` says. */
async function shownTurn<Agent extends AnyAgent>(
  host: ChatHost<Agent>,
  threadId: string,
  message: UIMessageLike,
  open: string | undefined,
): Promise<ChatTurn<AgentOutput<Agent>> | undefined> {
  const id = idOf(message);
  const turn = id === undefined || id === open ? undefined : await endedTurn(host, threadId, id);
  if (turn === undefined) return undefined;
  const thread = await turn.thread();
  const ask = thread.filterByRef("requestId", turn.request.id).find(isAsk);
  const answer = toUIMessages(thread, { lane: ask && namedLane(ask) }).find((one) => one.id === id);
  if (answer === undefined || !isShownAnswer(answer, message)) return undefined;
  return { ...turn, after: (await lastSeqBeforeWait(turn.request)) - 1 };
}

function aborted(): RequestError {
  const message = "The signal was aborted before a call was decided. The calls still wait.";
  return new RequestError({ code: "request_cancelled", message });
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
