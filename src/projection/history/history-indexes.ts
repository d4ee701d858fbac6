import type { ToolCall } from "../../thread/message.ts";
import { firstIndex } from "../binary-search.ts";
import type { AssistantItem, Block, ResultItem } from "./block.ts";

/** Records how to undo changes, so that a tentative change can be reverted. */
export class UndoLog {
  #steps: (() => void)[] | undefined;

  /** Records the reverse of one change. Call it for every change. */
  record(undo: () => void): void {
    this.#steps?.push(undo);
  }

  /** Runs `attempt` and then undoes every change it made. */
  tentatively<T>(attempt: () => T): T {
    const steps: (() => void)[] = [];
    this.#steps = steps;
    try {
      return attempt();
    } finally {
      this.#steps = undefined;
      for (const undo of steps.reverse()) undo();
    }
  }
}

/** A turn: a user message that starts it, and all blocks before the next such message. */
interface Turn {
  /** The user blocks of the turn: the first message, then the messages sent while the request ran. */
  readonly users: number[];
  /** The answer blocks of the turn. A block with tool calls is not an answer. */
  readonly answers: number[];
}

const NO_USERS: readonly number[] = Object.freeze([]);

/** Maps each block to its turn. */
export class Turns {
  /** The index of the first block of each turn. */
  readonly openers: number[] = [];
  readonly #turns: Turn[] = [];
  readonly #turnOf: number[] = [];
  readonly #undoLog: UndoLog;
  #lastRequest: string | undefined;

  constructor(undoLog: UndoLog) {
    this.#undoLog = undoLog;
  }

  /** Adds a block. A user block starts a turn, unless it belongs to the same request as the user message before. */
  add(index: number, block: Block): void {
    if (block.type === "user") this.#addUser(index, block.item.requestId);
    this.#turnOf[index] = this.#turns.length - 1;
    this.#undoLog.record(() => this.#turnOf.pop());
    if (block.type === "answer") this.addAnswer(index);
  }

  addAnswer(index: number): void {
    const answers = this.#turns[this.#turnOf[index] ?? -1]?.answers;
    answers?.push(index);
    this.#undoLog.record(() => answers?.pop());
  }

  /** Removes an answer that has turned out to have tool calls. It is always the last answer of its turn. */
  takeAnswer(index: number): void {
    const answers = this.#turns[this.#turnOf[index] ?? -1]?.answers;
    answers?.pop();
    this.#undoLog.record(() => answers?.push(index));
  }

  /** Returns the first block of the turn that contains a block. Undefined before the first turn. */
  openerOf(index: number): number | undefined {
    const turn = this.#turnOf[index] ?? -1;
    return this.openers[turn];
  }

  /** Returns the user blocks of a block's turn that come before it. An index past the end means the last turn. */
  usersBefore(index: number): readonly number[] {
    const turn = this.#turns[this.#turnAt(index)];
    const [first = index] = turn?.users ?? NO_USERS;
    return turn === undefined || first >= index ? NO_USERS : turn.users.filter((user) => user < index);
  }

  /** Whether a block is in the last turn, and the turn has no answer from block `since` on. */
  isOpenSince(index: number, since: number): boolean {
    const turn = this.#turnAt(index);
    const last = this.#turns[turn]?.answers.at(-1) ?? -1;
    return turn === this.#turns.length - 1 && last < since;
  }

  /** The first block of the nth turn from the end. */
  lastOpener(nth: number): number | undefined {
    return this.openers[this.openers.length - nth];
  }

  #turnAt(index: number): number {
    return this.#turnOf[Math.min(index, this.#turnOf.length - 1)] ?? -1;
  }

  #addUser(index: number, request: string | undefined): void {
    const { openers } = this;
    const turns = this.#turns;
    const before = this.#lastRequest;
    const current = turns.at(-1);
    if (current !== undefined && request !== undefined && request === this.#lastRequest) {
      current.users.push(index);
      this.#undoLog.record(() => current.users.pop());
    } else {
      turns.push({ users: [index], answers: [] });
      openers.push(index);
      this.#undoLog.record(() => {
        turns.pop();
        openers.pop();
      });
    }
    this.#lastRequest = request;
    this.#undoLog.record(() => {
      this.#lastRequest = before;
    });
  }
}

/** The tool calls that have no result yet. */
export class UnansweredCalls {
  /** The unanswered calls by key. A result can name a call by call id or tool name, each with or without callId. */
  readonly #queues = new Map<string, CallQueue>();
  readonly #undoLog: UndoLog;

  constructor(undoLog: UndoLog) {
    this.#undoLog = undoLog;
  }

  add(call: UnansweredCall): void {
    const queued: QueuedCall = { call, keys: keysOf(call), isAnswered: false };
    for (const key of queued.keys) {
      let queue = this.#queues.get(key);
      if (queue === undefined) {
        queue = new CallQueue(this.#undoLog);
        this.#queues.set(key, queue);
        this.#undoLog.record(() => this.#queues.delete(key));
      }
      queue.add(queued);
    }
  }

  /** Removes and returns the call that a result answers: the first match in the newest block with a match. */
  take(result: ResultItem): UnansweredCall | undefined {
    const queued = this.#find(result);
    if (queued === undefined) return undefined;
    queued.isAnswered = true;
    this.#undoLog.record(() => {
      queued.isAnswered = false;
    });
    for (const key of queued.keys) this.#tidy(key);
    return queued.call;
  }

  /**
   * Finds the call of a result by its call id, else by its tool name. The callId is compared only with calls that have
   * one.
   */
  #find({ toolCallId, name, callId }: ResultItem): QueuedCall | undefined {
    const key = (callId?: string | null): string =>
      toolCallId === undefined ? keyOf("name", name, callId) : keyOf("id", toolCallId, callId);
    if (callId === undefined) return this.#first(key());
    const own = this.#first(key(callId));
    const any = this.#first(key(null));
    return own === undefined || (any !== undefined && any.call.block > own.call.block) ? any : own;
  }

  #first(key: string): QueuedCall | undefined {
    return this.#queues.get(key)?.first();
  }

  #tidy(key: string): void {
    const queue = this.#queues.get(key);
    if (queue === undefined || queue.first() !== undefined) return;
    this.#queues.delete(key);
    this.#undoLog.record(() => this.#queues.set(key, queue));
  }
}

function keysOf({ call: { id, name }, by }: UnansweredCall): readonly string[] {
  const callId = by.callId ?? null;
  return [keyOf("id", id), keyOf("id", id, callId), keyOf("name", name), keyOf("name", name, callId)];
}

/** Makes a map key. It has the length of the first text, because ids and names may contain any separator. */
function keyOf(what: "id" | "name", text: string | undefined, callId?: string | null): string {
  const of = callId === undefined ? "" : callId === null ? "-" : `=${callId}`;
  return `${what}${text?.length}:${text}${of}`;
}

/** A call that waits for its result. */
export interface UnansweredCall {
  readonly block: number;
  readonly slot: number;
  readonly call: ToolCall;
  readonly by: AssistantItem;
}

/** A call that is in several queues. When a result is found through one queue, the others skip the call. */
export interface QueuedCall {
  readonly call: UnansweredCall;
  /** The keys of its queues. */
  readonly keys: readonly string[];
  isAnswered: boolean;
}

/** The unanswered calls of one block, in order. */
interface CallsOfBlock {
  readonly block: number;
  readonly calls: QueuedCall[];
  /** The index of the first call that may be unanswered. */
  next: number;
}

/** Calls that a result may answer: the newest block first, and in a block the oldest call first. */
export class CallQueue {
  /** Sorted by block. A call answered through another queue is removed only when it becomes the first here. */
  readonly #groups: CallsOfBlock[] = [];
  readonly #undoLog: UndoLog;

  constructor(undoLog: UndoLog) {
    this.#undoLog = undoLog;
  }

  add(queued: QueuedCall): void {
    this.first(); // removes answered calls now, so that the queue does not grow
    const { block } = queued.call;
    const groups = this.#groups;
    const at = firstIndex(0, groups.length, (index) => (groups[index]?.block ?? block) >= block);
    const group = groups[at];
    if (group?.block === block) {
      group.calls.push(queued);
      this.#undoLog.record(() => group.calls.pop());
    } else {
      groups.splice(at, 0, { block, calls: [queued], next: 0 });
      this.#undoLog.record(() => groups.splice(at, 1));
    }
  }

  first(): QueuedCall | undefined {
    for (let group = this.#groups.at(-1); group !== undefined; group = this.#groups.at(-1)) {
      const queued = this.#firstOf(group);
      if (queued !== undefined) return queued;
      this.#pop(group);
    }
    return undefined;
  }

  #firstOf(group: CallsOfBlock): QueuedCall | undefined {
    const before = group.next;
    while (group.calls[group.next]?.isAnswered) group.next++;
    if (group.next !== before) {
      this.#undoLog.record(() => {
        group.next = before;
      });
    }
    return group.calls[group.next];
  }

  #pop(group: CallsOfBlock): void {
    this.#groups.pop();
    this.#undoLog.record(() => this.#groups.push(group));
  }
}
