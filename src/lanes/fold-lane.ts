import type { Entry } from "../thread/entry.ts";
import { ThreadError } from "../thread/errors.ts";
import { fieldsOf, freezeJson } from "../thread/json.ts";
import { type Branch, branchOf, LANE_RULES, type LaneRules } from "../thread/lane-operation.ts";
import { LaneReader } from "../thread/lane-reader.ts";
import type { Thread } from "../thread/thread.ts";
import { type ContextEntry, contextEntries } from "./context-entry.ts";
import { type Inherited, type LaneItem, LaneLog, laneBaseOf } from "./lane-log.ts";

/** One lane as it was at a seq. */
export interface Context {
  readonly lane: string;
  readonly atSeq: number;
  /** The system prompt of the latest replace. */
  readonly systemPrompt?: string;
  /** Its messages, in the form a replace takes them, so that they can replace this lane or another one. */
  readonly entries: readonly ContextEntry[];
  /** Its items in order: messages of the latest replace, then the lane's entries after its base. */
  readonly items: readonly LaneItem[];
  /** The latest replace, with which the lane begins. */
  readonly anchor?: Entry;
  /** The lane's running measure. */
  readonly measure: number;
  /** Whether the items include the beginning of the lane. False when it is before a loaded tail. */
  readonly complete: boolean;
}

/**
 * Folds one lane: the latest replace at or before `atSeq`, then the lane's entries after its base.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "hi" } });
 * foldLane(thread, "default").entries; // [{ role: "user", content: "hi" }]
 */
export function foldLane(thread: Thread, lane: string, options: { readonly atSeq?: number | undefined } = {}): Context {
  const { atSeq = thread.lastSeq } = fieldsOf(options, "options", "invalid_options");
  if (typeof lane !== "string" || lane === "") {
    throw new ThreadError({ code: "invalid_id", path: "lane", message: "lane must be a non-empty string." });
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

/** A lane log with the data of the thread's base and no entries yet. `latest` returns the newest version of the thread. */
export function laneLogOf(
  thread: Thread,
  lane: string,
  { rules = LANE_RULES, latest = () => thread }: { readonly rules?: LaneRules; readonly latest?: () => Thread } = {},
): LaneLog {
  const reader = new LaneReader(thread.base, rules);
  return new LaneLog(lane, thread, reader, (from, atSeq) => originOf(latest(), { from, atSeq }, rules));
}

/**
 * The items a branch begins with. The lane it leaves may be a branch too, and so on. To avoid deep recursion, the oldest
 * lane is folded first, and its log is then reused for the next.
 */
function originOf(thread: Thread, given: Branch, rules: LaneRules): Inherited {
  const reader = new LaneReader(thread.base, rules);
  const entries = entriesByLane(thread, reader);
  const branchAt = beginnings(thread, reader, entries);
  const branch = rules.followsOrigins ? heldAt(given, branchAt) : given;
  if (!isLoaded(thread, branch)) return NOT_LOADED;
  const origins = [branch];
  for (let at: Branch = branch; ; ) {
    const left = branchAt(at.from);
    if (left === undefined || left.seq > at.atSeq) break;
    at = rules.followsOrigins ? heldAt(left, branchAt) : left;
    if (!isLoaded(thread, at)) break;
    origins.push(at);
  }
  const log = new LaneLog(origins.at(-1)?.from ?? branch.from, thread, reader, (from, atSeq) =>
    originOf(thread, { from, atSeq }, rules),
  );
  for (const { from, atSeq } of origins.toReversed()) {
    if (from !== log.lane) log.goOnAs(from);
    for (const entry of entries.get(from) ?? []) {
      if (entry.seq > atSeq) break;
      log.add(entry);
    }
  }
  return log;
}

/** The lane whose own entries hold a position. Before a lane began, that is the lane it left, and so on. */
export function writtenAt(thread: Thread, branch: Branch): Branch {
  const reader = new LaneReader(thread.base);
  const entries = entriesByLane(thread, reader);
  return heldAt(branch, beginnings(thread, reader, entries));
}

/** The branch a lane began as, if any, and the seq of its first entry. */
type BranchAt = (lane: string) => (Branch & { readonly seq: number }) | undefined;

function beginnings({ base }: Thread, reader: LaneReader, entries: EntriesByLane): BranchAt {
  return (lane) => {
    const first = laneBaseOf(base, lane) === undefined ? entries.get(lane)?.[0] : undefined;
    const branch = first === undefined || reader.isMalformed(first) ? undefined : branchOf(first);
    return first && branch && { ...branch, seq: first.seq };
  };
}

function heldAt({ from, atSeq }: Branch, branchAt: BranchAt): Branch {
  let held = { from, atSeq };
  let before = Number.POSITIVE_INFINITY; // guards against a cycle: the default lane may be left before its first entry and then begin as a branch
  for (let origin = branchAt(from); origin !== undefined && origin.seq > held.atSeq; origin = branchAt(held.from)) {
    if (origin.seq >= before) break;
    before = origin.seq;
    held = { from: origin.from, atSeq: Math.min(held.atSeq, origin.atSeq) };
  }
  return held;
}

/** Whether the beginning of the branch is loaded. */
function isLoaded({ firstSeq }: Thread, { atSeq }: Branch): boolean {
  return firstSeq === 0 || atSeq >= firstSeq;
}

const NOT_LOADED: Inherited = { items: [], measure: 0, complete: false };

type EntriesByLane = ReadonlyMap<string, readonly Entry[]>;

function entriesByLane(thread: Thread, reader: LaneReader): EntriesByLane {
  const entries = new Map<string, Entry[]>();
  for (const entry of thread.toArray()) {
    const lane = reader.read(entry);
    const own = entries.get(lane);
    if (own === undefined) entries.set(lane, [entry]);
    else own.push(entry);
  }
  return entries;
}
