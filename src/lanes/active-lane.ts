import type { Entry } from "../thread/entry.ts";
import {
  DEFAULT_LANE,
  isMalformedOperation,
  LANE_RULES,
  LaneReader,
  namedLane,
  switchTarget,
} from "../thread/lane-operations.ts";
import type { Thread } from "../thread/thread.ts";
import { laneBaseOf } from "../thread/thread-data.ts";

/** The active lane before a seq, by default at the end. The last valid switch sets it. */
export function activeLane(thread: Thread, rules = LANE_RULES, beforeSeq = thread.rev): string {
  const counts = (entry: Entry): boolean => !(rules.ignoresMalformed && isMalformedIn(thread, entry));
  const switched = thread
    .filterByKind("ai_context_operation", { partial: true })
    .findLast((entry) => entry.seq < beforeSeq && switchTarget(entry) !== undefined && counts(entry));
  return (switched && switchTarget(switched)) ?? thread.base?.activeLane ?? DEFAULT_LANE;
}

/** A cache. It is valid for all versions of a thread, because the entries before an entry never change. */
const known = new WeakMap<Entry, boolean>();

function isMalformedIn(thread: Thread, entry: Entry): boolean {
  const before = known.get(entry);
  if (before !== undefined) return before;
  const found = isMalformedOperation(entry, (lane) => isWritten(thread, lane, entry.seq));
  known.set(entry, found);
  return found;
}

/** Whether a lane has entries before a seq. Every lane except the default one has an entry that names it. */
export function isWritten(thread: Thread, lane: string, beforeSeq = thread.rev): boolean {
  if (lane === DEFAULT_LANE) return lanesBefore(thread, beforeSeq).includes(lane);
  for (let seq = thread.firstSeq; seq < beforeSeq; seq++) {
    const entry = thread.at(seq);
    if (entry !== undefined && namedLane(entry) === lane) return true;
  }
  return laneBaseOf(thread.base, lane) !== undefined;
}

/** The lanes that have entries before a seq, sorted. Of a tail, those that are loaded. */
export function lanesBefore(thread: Thread, seq: number): readonly string[] {
  const { base, firstSeq } = thread;
  const reader = new LaneReader(base);
  const lanes = new Set(base === undefined ? [] : Object.keys(base.lanes));
  if (seq > firstSeq) for (const entry of thread.slice(firstSeq, seq - 1)) lanes.add(reader.read(entry));
  return [...lanes].sort();
}

/** The lanes of a tail that now starts earlier. `known` has those of the entries that it had before. */
export function lanesOfExtended(thread: Thread, known: readonly string[]): readonly string[] {
  const { lanes = {}, unwritten } = thread.base ?? {};
  // A lane of the earlier entries is in `lanes`, or in `unwritten` if its first entry is one of them.
  const isKnown = unwritten?.every((lane) => known.includes(lane));
  return isKnown ? Object.keys(lanes).reduce(withLane, known) : lanesBefore(thread, thread.rev);
}

/** Adds a lane to a sorted list. Returns the same list if it is already in it. */
export function withLane(lanes: readonly string[], lane: string): readonly string[] {
  return lanes.includes(lane) ? lanes : [...lanes, lane].sort();
}
