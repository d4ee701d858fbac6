import { threadNotFound } from "../../stores/errors.ts";
import type { LoadOptions, ThreadStore } from "../../stores/port.ts";
import type { Entry } from "../../thread/entry.ts";
import type { Thread } from "../../thread/thread.ts";
import type { EntryWindow } from "../contract/thread.ts";
import type { Budget } from "../http/budget.ts";
import { entriesOfLane } from "./of-lane.ts";
import { isOf, readingsFor } from "./sorts.ts";

/** Entries read in one step. */
const STEP = 4000;

export interface EntryFilter {
  /** Sorts or kinds. An empty list means all. */
  readonly kinds: readonly string[];
  readonly lane?: string | undefined;
}

export interface Looking {
  readonly rev: number;
  /** The first entry to look at. */
  readonly start: number;
  readonly isForward: boolean;
  readonly limit: number;
}

/** The matching entries from `start` on in one direction, until `limit` is reached or the time is up. */
export async function filteredEntries(
  store: ThreadStore,
  threadId: string,
  filter: EntryFilter,
  { rev, start, isForward, limit }: Looking,
  budget: Budget,
): Promise<EntryWindow> {
  const found: Entry[] = [];
  const end = isForward ? rev - 1 : 0;
  let next = start;
  while (isForward ? next <= end : next >= end) {
    const edge = isForward ? Math.min(end, next + STEP - 1) : Math.max(end, next - STEP + 1);
    const [from, to] = isForward ? [next, edge] : [edge, next];
    const inStep = await entriesIn(store, threadId, filter, { from, to });
    const taken = (isForward ? inStep : inStep.toReversed()).slice(0, limit - found.length);
    found.push(...taken);
    const last = taken.at(-1);
    const isFull = found.length >= limit && last !== undefined;
    next = (isFull ? last.seq : edge) + (isForward ? 1 : -1);
    if (isFull || (await budget.isSpent())) break;
  }
  return isForward
    ? { entries: found, rev, searched: { from: start, to: next - 1 } }
    : { entries: found.reverse(), rev, searched: { from: next + 1, to: start } };
}

/** The end of a thread with its lanes; all of it where a malformed operation makes what the store knows of them doubtful. */
export async function loadForLanes(store: ThreadStore, threadId: string, options: LoadOptions): Promise<Thread> {
  const tail = await store.load(threadId, options);
  if (tail === undefined) throw threadNotFound(threadId);
  if (!tail.base?.malformed) return tail;
  const { last: _tail, ...whole } = options;
  const thread = await store.load(threadId, whole);
  if (thread === undefined) throw threadNotFound(threadId);
  return thread;
}

interface Step {
  readonly from: number;
  readonly to: number;
}

async function entriesIn(
  store: ThreadStore,
  threadId: string,
  { kinds, lane }: EntryFilter,
  { from, to }: Step,
): Promise<readonly Entry[]> {
  const isWanted = (entry: Entry): boolean => kinds.length === 0 || isOf(entry, kinds);
  if (lane !== undefined) {
    // The loaded thread also has the lane that was active before its first entry.
    const thread = await loadForLanes(store, threadId, { last: to - from + 1, upToSeq: to });
    const ofLane = entriesOfLane(thread.toArray(), thread.base, lane);
    return ofLane.filter((entry) => entry.seq >= from && isWanted(entry));
  }
  const found = new Map<number, Entry>();
  for (const reading of readingsFor(kinds)) {
    for await (const entry of store.read(threadId, { fromSeq: from, toSeq: to, ...reading })) {
      if (isWanted(entry)) found.set(entry.seq, entry);
    }
  }
  return [...found.values()].sort((a, b) => a.seq - b.seq);
}
