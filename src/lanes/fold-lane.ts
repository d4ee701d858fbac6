import type { Entry } from "../thread/entry.ts";
import type { Thread } from "../thread/thread.ts";
import { type Inherited, type LaneItem, LaneLog } from "./lane-log.ts";

/** One lane as it was at a seq. */
export interface Context {
  readonly lane: string;
  readonly atSeq: number;
  /** Messages of the latest replace, then the entries of the lane after its base, in order. */
  readonly items: readonly LaneItem[];
  /** The latest replace: what the lane begins with. */
  readonly anchor?: Entry;
  /** The system prompt that the replace brought. */
  readonly systemPrompt?: string;
  /** The lane's running measure. */
  readonly measure: number;
  /** Whether the beginning of the lane is among the items; not when it lies before a loaded tail. */
  readonly complete: boolean;
}

/**
 * Folds one lane: the latest replace at or before `atSeq`, then the lane's entries after its base.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "hi" } });
 * foldLane(thread, "default").items.length; // 1
 */
export function foldLane(thread: Thread, lane: string, options: { readonly atSeq?: number } = {}): Context {
  const { atSeq = thread.lastSeq } = options;
  const version = thread.upTo(atSeq);
  const log = laneLogOf(version, lane);
  for (const entry of version.toArray()) log.push(entry);
  const { items, anchor, systemPrompt, measure, complete } = log;
  return Object.freeze({
    lane,
    atSeq,
    items: Object.freeze(items),
    measure,
    complete,
    ...(anchor && { anchor }),
    ...(systemPrompt !== undefined && { systemPrompt }),
  });
}

/** A log of one lane that knows what the thread's base says, and nothing of its entries yet; `latest` is the thread as it has grown. */
export function laneLogOf(thread: Thread, lane: string, latest: () => Thread = () => thread): LaneLog {
  return new LaneLog(lane, thread.firstSeq, thread.base, (from, atSeq) => originOf(latest(), from, atSeq));
}

/** A branch that leaves its lane before what is loaded has a beginning nobody can see yet. */
function originOf(thread: Thread, from: string, atSeq: number): Inherited {
  if (thread.firstSeq > 0 && atSeq < thread.firstSeq) return { items: [], measure: 0, complete: false };
  return foldLane(thread, from, { atSeq });
}
