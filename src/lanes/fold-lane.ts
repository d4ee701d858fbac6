import type { Entry } from "../thread/entry.ts";
import { ThreadError } from "../thread/errors.ts";
import { fieldsOf, freezeJson } from "../thread/json.ts";
import type { Thread } from "../thread/thread.ts";
import { type ContextEntry, contextEntries } from "./context-entry.ts";
import { type Inherited, type LaneItem, LaneLog } from "./lane-log.ts";

/** One lane as it was at a seq. */
export interface Context {
  readonly lane: string;
  readonly atSeq: number;
  /** The system prompt that the latest replace brought. */
  readonly systemPrompt?: string;
  /** Its messages, as a replace takes them: what it folds to can be put in its place, or on another lane. */
  readonly entries: readonly ContextEntry[];
  /** What it is made of: messages of the latest replace, then the entries of the lane after its base, in order. */
  readonly items: readonly LaneItem[];
  /** The latest replace: what the lane begins with. */
  readonly anchor?: Entry;
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
 * foldLane(thread, "default").entries; // [{ role: "user", content: "hi" }]
 */
export function foldLane(thread: Thread, lane: string, options: { readonly atSeq?: number } = {}): Context {
  const { atSeq = thread.lastSeq } = fieldsOf(options, "options", "invalid_options");
  if (typeof lane !== "string" || lane === "") {
    throw new ThreadError({ code: "invalid_id", path: "lane", message: "lane must be the name of a lane." });
  }
  const { items, anchor, systemPrompt, measure, complete } = foldedLog(thread, lane, atSeq);
  return Object.freeze({
    lane,
    atSeq,
    ...(systemPrompt !== undefined && { systemPrompt }),
    entries: freezeJson(contextEntries(items)),
    items: Object.freeze(items),
    measure,
    complete,
    ...(anchor && { anchor }),
  });
}

function foldedLog(thread: Thread, lane: string, atSeq: number): LaneLog {
  const version = thread.upTo(atSeq);
  const log = laneLogOf(version, lane);
  for (const entry of version.toArray()) log.push(entry);
  return log;
}

/** A log of one lane that knows what the thread's base says, and nothing of its entries yet; `latest` is the thread as it has grown. */
export function laneLogOf(thread: Thread, lane: string, latest: () => Thread = () => thread): LaneLog {
  return new LaneLog(lane, thread.firstSeq, thread.base, (from, atSeq) => originOf(latest(), from, atSeq));
}

/** A branch that leaves its lane before what is loaded has a beginning nobody can see yet. */
function originOf(thread: Thread, from: string, atSeq: number): Inherited {
  if (thread.firstSeq > 0 && atSeq < thread.firstSeq) return { items: [], measure: 0, complete: false };
  return foldedLog(thread, from, atSeq);
}
