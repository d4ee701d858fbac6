import { continuedBy, readRequestEnd } from "../../agent/react/state.ts";
import type { Entry } from "../../thread/entry.ts";
import { ThreadError } from "../../thread/errors.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { Branch } from "../../thread/lane-operations.ts";
import { type LaneEntries, lanePath, readLanes } from "../../thread/messages/lane-path.ts";
import { checkLane } from "../../thread/messages/to-messages.ts";
import { checkLoaded } from "../../thread/queries.ts";
import { Thread } from "../../thread/thread.ts";
import { checkUIOptions } from "../option-names.ts";

/** The alternatives to a message: edits of a message of the user, or regenerated answers. */
export interface MessageSiblings {
  /** The place of the message among them, from 0. */
  readonly index: number;
  readonly count: number;
  /** For each of them, the lane to switch to: of the lanes that show it, the one that was used last. */
  readonly lanes: readonly string[];
}

/** A message in the tree of all branches of a thread. */
export interface MessageNode {
  /** As `toUIMessages` gives it. */
  readonly id: string;
  readonly role: "user" | "assistant";
  /** The first entry of the message. Of an answer, the ask. */
  readonly entry: Entry;
  readonly parent: MessageNode | undefined;
  readonly children: readonly MessageNode[];
}

type GrowingNode = MessageNode & { readonly children: MessageNode[] };

/** The ref of an ask that repeats the ask of this entry, for another answer to it. */
export const REGENERATES = "regenerates";

/** The kinds of entries that `toUIMessages` shows as parts of a request. */
const REQUEST_KINDS: ReadonlySet<string> = new Set([
  "ai_message",
  "approval_requested",
  "approval_resolved",
  "question_asked",
]);

/** Whether an entry is a part of the message of a request. Other entries were imported, or written by a loop of the user. */
export function isOfRequest({ kind, payload, refs }: Entry): boolean {
  const isRead = REQUEST_KINDS.has(kind) || readRequestEnd(payload) !== undefined;
  return refs.requestId !== undefined && isRead && !("original" in payload);
}

/** Whether an entry of a request is its ask, and no message that was steered in. */
export function isAskOfUser({ payload }: Entry): boolean {
  const { role, steer } = payload as JsonObject; // every payload is a JSON object
  return role === "user" && steer === undefined;
}

/** Whether an entry was injected before the ask of its request. Pages do not show it, as any other injected message. */
export function isBeforeAsk({ payload, refs }: Entry, byRequest: ReadonlyMap<string, unknown>): boolean {
  const { steer } = payload as JsonObject; // every payload is a JSON object
  return steer === "inject" && !byRequest.has(refs.requestId ?? "");
}

/** The id of a message of the user: the one that its page gave it, else that of its entry. */
export function userMessageId({ id, refs }: Entry): string {
  const { messageId } = refs;
  return typeof messageId === "string" && messageId !== "" ? messageId : id;
}

/** The messages of all lanes of a thread. Those that a branch shares with the lane that it left are one node. */
export class MessageTree {
  readonly active: string;
  readonly roots: MessageNode[] = [];
  readonly #lanes: LaneEntries;
  readonly #own = new Map<string, { readonly seq: number; readonly node: GrowingNode }[]>();
  readonly #tips = new Map<string, GrowingNode | undefined>();
  readonly #byRequest = new Map<string, GrowingNode>();
  readonly #byEntry = new Map<string, GrowingNode>();
  readonly #nodes: GrowingNode[] = [];

  constructor(thread: Thread) {
    const entries = thread.toArray({ partial: true });
    this.#lanes = readLanes(entries, thread.base);
    this.active = this.#lanes.active;
    const placed = [...this.#lanes.own].flatMap(([lane, own]) => own.map((entry) => ({ entry, lane })));
    for (const { entry, lane } of placed.sort((a, b) => a.entry.seq - b.entry.seq)) {
      if (!this.#tips.has(lane)) {
        const branch = this.#lanes.branchAt(lane);
        this.#tips.set(lane, branch && this.#nodeAt(branch));
      }
      this.#read(entry, lane);
    }
  }

  /** The last message of a lane, which may be shared. Undefined for a lane without messages. */
  tip(lane: string): MessageNode | undefined {
    return this.#tips.get(lane);
  }

  /** The lanes that end with this message, those that were used last first. */
  lanesEndingWith(node: MessageNode): readonly string[] {
    const lanes = [...this.#tips].flatMap(([lane, tip]) => (tip === node ? [lane] : []));
    return lanes.sort((a, b) => this.#lastSeq(b) - this.#lastSeq(a));
  }

  /**
   * All messages with this id, in the order of their first entries: edits of a message share its id. A request that continues
   * another one has its message.
   */
  find(id: string): readonly MessageNode[] {
    const ofRequest = this.#byRequest.get(id);
    return this.#nodes.filter((node) => node.id === id || node === ofRequest);
  }

  /** The messages of a lane, in order. */
  path(lane: string): readonly MessageNode[] {
    return pathTo(this.tip(lane));
  }

  childrenOf(parent: MessageNode | undefined): readonly MessageNode[] {
    return parent?.children ?? (parent === undefined ? this.roots : []);
  }

  /** For each message, the lane that was used last of those that show it. */
  lanesShowing(): ReadonlyMap<MessageNode, string> {
    const last = new Map<MessageNode, string>();
    const use = (node: MessageNode | undefined, lane: string): void => {
      const known = node && last.get(node);
      if (node !== undefined && (known === undefined || this.#lastSeq(known) < this.#lastSeq(lane)))
        last.set(node, lane);
    };
    for (const [lane, tip] of this.#tips) use(tip, lane);
    for (const node of this.#nodes.toReversed()) use(node.parent, last.get(node) ?? this.active); // children come after their parent
    return last;
  }

  #lastSeq(lane: string): number {
    return this.#lanes.own.get(lane)?.at(-1)?.seq ?? -1;
  }

  /** The last message up to a position. */
  #nodeAt(branch: Branch): GrowingNode | undefined {
    const parts = lanePath(this.#lanes, branch.from).map((part) => ({
      from: part.from,
      atSeq: Math.min(part.atSeq, branch.atSeq),
    }));
    for (const { from, atSeq } of parts.toReversed()) {
      const found = this.#own.get(from)?.findLast(({ seq }) => seq <= atSeq);
      if (found !== undefined) return found.node;
    }
    return undefined;
  }

  #read(entry: Entry, lane: string): void {
    const { requestId = "", messageId } = entry.refs;
    const continued = this.#byRequest.get(continuedBy(entry) ?? "");
    if (continued !== undefined) return void this.#byRequest.set(requestId, continued);
    if (isOfRequest(entry)) {
      if (isBeforeAsk(entry, this.#byRequest)) return;
      if (isAskOfUser(entry)) this.#addAsk(entry, lane);
      if (!this.#byRequest.has(requestId))
        this.#byRequest.set(requestId, this.#add("assistant", requestId, entry, lane));
      return;
    }
    const role = roleOf(entry);
    const tip = this.#tips.get(lane);
    const isResult = role === "assistant" && "role" in entry.payload && entry.payload["role"] === "tool";
    const isMore = tip?.role === "assistant" && role === tip.role && (isResult || (messageId ?? tip.id) === tip.id);
    if (role !== undefined && !isMore) this.#byEntry.set(entry.id, this.#add(role, userMessageId(entry), entry, lane));
  }

  /** An ask that was regenerated is the same message. */
  #addAsk(entry: Entry, lane: string): void {
    const of = entry.refs[REGENERATES];
    const known = typeof of === "string" ? this.#byEntry.get(of) : undefined;
    const isSame = known !== undefined && known.parent === this.#tips.get(lane);
    if (isSame) this.#place(known, entry, lane);
    this.#byEntry.set(entry.id, isSame ? known : this.#add("user", userMessageId(entry), entry, lane));
  }

  #add(role: MessageNode["role"], id: string, entry: Entry, lane: string): GrowingNode {
    const parent = this.#tips.get(lane);
    const node: GrowingNode = { id, role, entry, parent, children: [] };
    (parent?.children ?? this.roots).push(node);
    this.#nodes.push(node);
    this.#place(node, entry, lane);
    return node;
  }

  #place(node: GrowingNode, { seq }: Entry, lane: string): void {
    this.#tips.set(lane, node);
    const own = this.#own.get(lane) ?? [];
    own.push({ seq, node });
    this.#own.set(lane, own);
  }
}

/** The messages up to this one. */
export function pathTo(node: MessageNode | undefined): readonly MessageNode[] {
  const path: MessageNode[] = [];
  for (let at = node; at !== undefined; at = at.parent) path.push(at);
  return path.reverse();
}

/** The side of the chat that an imported entry is on. Undefined for an entry of another kind. */
function roleOf({ kind, payload }: Entry): MessageNode["role"] | undefined {
  const { role } = payload as JsonObject; // every payload is a JSON object
  if (kind === "tool_call" || kind === "tool_result") return "assistant";
  if (kind !== "message" && kind !== "ai_message") return undefined;
  if (role === "user") return "user";
  return role === "assistant" || role === "tool" ? "assistant" : undefined;
}

/** Options of `messageSiblings()`. */
export interface MessageSiblingsOptions {
  /** Default the lane that is active at the end. */
  readonly lane?: string | undefined;
  /** Accepts a thread of which only the end is loaded, and compares that part. Default false: `entry_not_loaded`. */
  readonly partial?: boolean | undefined;
}

/**
 * The siblings of the messages that `toUIMessages` gives for a lane, by the id of the message: "2 of 3", and the lanes to
 * switch to. A message without siblings is left out.
 *
 * @example
 * const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4", "Four."]) }), store });
 * const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text: "What's 2+2?" }] }];
 * for (const trigger of ["submit-message", "regenerate-message"]) {
 *   const { request } = await chatTurn(host, "thread_1", messages, { trigger });
 *   await request.result;
 * }
 * const siblings = messageSiblings(await host.thread("thread_1", { whole: true }));
 * const [{ index, count, lanes }] = Object.values(siblings);
 * console.log(`${index + 1} of ${count}`); // 2 of 2
 * await host.switchBranch("thread_1", lanes[0]);
 */
export function messageSiblings(
  thread: Thread,
  options: MessageSiblingsOptions = {},
): { readonly [messageId: string]: MessageSiblings } {
  checkUIOptions("messageSiblings", options, { lane: true, partial: true });
  const { lane: given, partial } = options;
  if (!Thread.isThread(thread)) {
    const message = "messageSiblings needs a Thread. Load one with `await store.load(id)`.";
    throw new ThreadError({ code: "not_a_thread", message });
  }
  checkLoaded(thread, partial);
  const tree = new MessageTree(thread);
  const lane = checkLane(given) ?? tree.active;
  const showing = tree.lanesShowing();
  const found = tree.path(lane).flatMap((node): [string, MessageSiblings][] => {
    const all = tree.childrenOf(node.parent);
    if (all.length < 2) return [];
    const lanes = all.map((one) => (one === node ? lane : (showing.get(one) ?? lane)));
    return [[node.id, { index: all.indexOf(node), count: all.length, lanes }]];
  });
  return Object.fromEntries(found);
}
