import { isAsk } from "../../agent/react/restore.ts";
import { portableSha256 } from "../../thread/encoding.ts";
import type { Entry } from "../../thread/entry.ts";
import { HeddleError } from "../../thread/errors.ts";
import { type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import { switchTarget } from "../../thread/lane-operations.ts";
import type { Content, Part } from "../../thread/message.ts";
import { contentParts, toContent } from "../../thread/messages/neutral-message.ts";
import type { Thread } from "../../thread/thread.ts";
import { RequestError } from "../request/request-error.ts";
import { type MessageNode, MessageTree, pathTo, REGENERATES } from "./message-tree.ts";

/** The message that a page has posted: a new one, one that was edited, or one to answer again. */
export type Post =
  | {
      readonly type: "message";
      readonly id: string | undefined;
      readonly content: Content;
      /** The parts and metadata that the page shows beside the content. */
      readonly display: JsonObject | undefined;
      /** The id of the message before it, if it was posted too. */
      readonly before: string | undefined;
      /** The seq of the first entry that the page has not seen, if it says so. */
      readonly nextSeq: number | undefined;
      /** The page says that the message replaces the one with its id. */
      readonly isEdit: boolean;
    }
  /** `answer`: the answer to replace. `message`: the last message of the user that was posted. */
  | { readonly type: "regenerate"; readonly answer: string | undefined; readonly message: string | undefined };

/** Where the message belongs in the thread. */
export type Place =
  /** After the last message of the active lane. */
  | { readonly type: "end" }
  /** After the last message of another lane. */
  | { readonly type: "lane"; readonly lane: string }
  /** On a new lane, before this entry. `again`: the entry is a message that is answered once more. */
  | { readonly type: "branch"; readonly before: Entry; readonly again?: true; readonly postId: string }
  /** It was asked already. */
  | { readonly type: "known"; readonly ask: Entry; readonly joined?: true };

/** The place of a post at the end of a thread, from its last entries. Undefined when more has to be read. */
export function placeAtEnd(tail: Thread, post: Post, open: string | undefined): Place | undefined {
  if (tail.firstSeq === 0) return placeOf(tail, post, open);
  if (post.type === "regenerate") return undefined;
  const ask = joinedAsk(tail, post.id);
  if (ask !== undefined) return { type: "known", ask, joined: true };
  try {
    const tree = new MessageTree(tail);
    const isKnown = post.id !== undefined && tree.find(post.id).length > 0;
    const isNext = post.before === undefined || tree.tip(tree.active)?.id === post.before;
    return isKnown || !isNext ? undefined : { type: "end" };
  } catch (error) {
    if (HeddleError.isInstance(error) && error.code === "lane_not_loaded") return undefined;
    throw error;
  }
}

/** The place of a post in a whole thread. `open` is the request that is open. */
export function placeOf(thread: Thread, post: Post, open: string | undefined): Place {
  const tree = new MessageTree(thread);
  const path = tree.path(tree.active);
  if (post.type === "regenerate") return placeOfRegenerated({ thread, tree, path }, post, open);
  const ask = joinedAsk(thread, post.id);
  if (ask !== undefined) return { type: "known", ask, joined: true };
  const known = post.id === undefined ? [] : tree.find(post.id).filter(({ role }) => role === "user");
  if (known.length > 0) return placeOfKnown({ thread, tree, path }, known, post);
  const before = post.before === undefined ? undefined : lastOf(tree.find(post.before), path);
  return before === undefined ? { type: "end" } : placeAfter(tree, path, before, thread, post);
}

/** The ask of the request that a message was added to: it was steered in, or denied a call. */
function joinedAsk(thread: Thread, id: string | undefined): Entry | undefined {
  if (id === undefined) return undefined;
  const found = ["signalId", REPLY].flatMap((ref) => thread.filterByRef(ref, id, { partial: true }));
  const requestId = found.at(-1)?.refs.requestId;
  if (requestId === undefined) return undefined;
  return thread.filterByRef("requestId", requestId, { partial: true }).find(isAsk);
}

/** The ref of a decision that a message of the user has made. */
export const REPLY = "replyId";

interface Branches {
  readonly thread: Thread;
  readonly tree: MessageTree;
  /** The messages of the active lane. */
  readonly path: readonly MessageNode[];
}

type Message = Extract<Post, { type: "message" }>;

/** A message with an id that the thread has. With the same content it is a repeated post, or an edit that changed nothing. */
function placeOfKnown({ thread, tree, path }: Branches, known: readonly MessageNode[], post: Message): Place {
  const isSame = ({ entry }: MessageNode): boolean => sameJson(postedContent(entry), post.content as JsonValue);
  const same = lastOf(known.filter(isSame), path);
  const isLast = same === path.findLast(({ role }) => role === "user");
  const answer = same && lastOf(answersTo(same), path);
  if (answer !== undefined && (isLast || !post.isEdit)) return { type: "known", ask: answer.entry };
  const edited = same ?? lastOf(known, path);
  if (edited === undefined) return { type: "end" }; // unreachable: the page names a message of the thread
  const { entry: before } = edited;
  const postId = postIdOf(thread, [before.id, post.content as JsonValue, tree.active]);
  return { type: "branch", before, ...(same !== undefined && { again: true }), postId };
}

/** Behind a message that is followed by others, a new message begins a branch, if the page has seen those. */
function placeAfter(
  tree: MessageTree,
  path: readonly MessageNode[],
  before: MessageNode,
  thread: Thread,
  { content, nextSeq = Number.POSITIVE_INFINITY }: Message,
): Place {
  const onPath = path.indexOf(before);
  const next = onPath < 0 ? undefined : path.slice(onPath + 1).find(({ role }) => role === "user");
  if (onPath >= 0 && (next === undefined || next.entry.seq >= nextSeq)) return { type: "end" };
  const last = lastAnswer(before);
  const [lane] = tree.lanesEndingWith(last);
  if (onPath < 0 && lane !== undefined) return { type: "lane", lane };
  const sibling = next ?? last.children.find(({ role }) => role === "user");
  if (sibling === undefined) return { type: "end" }; // unreachable: a message without one after it is the end of a lane
  const postId = postIdOf(thread, [sibling.entry.id, content as JsonValue, tree.active]);
  return { type: "branch", before: sibling.entry, postId };
}

/** The answers to a message by agents, which can be streamed again. */
function answersTo({ children }: MessageNode): readonly MessageNode[] {
  return children.filter(({ role, entry }) => role === "assistant" && isAsk(entry));
}

/** The last answer to this message before the next message of the user. The message itself, if it has no answer. */
function lastAnswer(node: MessageNode): MessageNode {
  const answer = node.children.findLast(({ role }) => role === "assistant");
  return answer === undefined ? node : lastAnswer(answer);
}

function placeOfRegenerated(
  { thread, tree, path }: Branches,
  { answer: answerId, message }: Extract<Post, { type: "regenerate" }>,
  open: string | undefined,
): Place {
  const named = answerId === undefined ? undefined : lastOf(tree.find(answerId), path);
  const asked = named ?? (message === undefined ? path.at(-1) : lastOf(tree.find(message), path));
  const target = pathTo(asked).findLast(({ role }) => role === "user");
  // A page may have an answer that the thread lacks, because it failed before. Another answer is not the one it means.
  const isOther = answerId !== undefined && named === undefined && target !== undefined && answersTo(target).length > 0;
  if (target === undefined || isOther) throw messageNotFound();
  const running = path.at(-1);
  const isReplaced = named?.role === "assistant" && named !== running && running?.parent === target;
  if (isReplaced && open !== undefined && running.id === open) return { type: "known", ask: running.entry };
  const postId = postIdOf(thread, [target.entry.id, REGENERATES, tree.active]);
  return { type: "branch", before: target.entry, again: true, postId };
}

/** The last one of the messages that is on the path, else the last one. */
function lastOf(nodes: readonly MessageNode[], path: readonly MessageNode[]): MessageNode | undefined {
  return nodes.findLast((node) => path.includes(node)) ?? nodes.at(-1);
}

/** The same for two posts of one click, and another one after the next branch. */
function postIdOf(thread: Thread, facts: readonly JsonValue[]): string {
  const last = thread.toArray().findLast((entry) => switchTarget(entry) !== undefined)?.seq ?? -1;
  return portableSha256(JSON.stringify([last, ...facts]));
}

/** The content of a message of the user. */
export function contentOf({ payload }: Entry): JsonValue {
  const { content = "" } = payload as JsonObject; // every payload is a JSON object
  return content;
}

/** The content as a page posts it. Only an imported one has other parts and metadata of providers. */
function postedContent(entry: Entry): JsonValue {
  const parts = contentParts(contentOf(entry) as Content); // written by us, or read as a message
  const posted = parts.filter(({ type }) => type === "text" || type === "file");
  return toContent(posted.map(({ metadata: _, ...part }): Part => part)) as JsonValue; // parts are JSON
}

function messageNotFound(): RequestError {
  const message = "The thread has no such answer, or no message of the user to answer again. Load the messages again.";
  return new RequestError({ code: "message_not_found", message });
}
