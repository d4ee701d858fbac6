import type { ToolCall } from "../../thread/message.ts";
import { firstIndex } from "../binary-search.ts";
import type { AssistantItem, ResultItem } from "./block.ts";
import type { UndoLog } from "./undo-log.ts";

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
