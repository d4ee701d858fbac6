import { measureOfEntry } from "../lanes/measure.ts";
import { ENTRIES_PER_TURN, type ProjectionError } from "../projection/error.ts";
import type { Thread } from "../thread/thread.ts";
import type { ThreadBase } from "../thread/thread-data.ts";
import type { ThreadStore } from "./port.ts";

/** A store that tails are loaded from. With `read`, the start of a long turn is found in the index of requests. */
export type TailStore = Pick<ThreadStore, "load"> & Partial<Pick<ThreadStore, "read">>;

type Missing = Pick<ProjectionError, "neededFromSeq" | "windowSeq" | "missingTurns">;

/** Turns that are looked up one by one. Where more are needed, most are short and are found by loading. */
const MOST_TURNS = 16;
/** Entries without a request, such as notes, that may be between two requests. */
const MOST_NOTES = 8;

/** Where to load a tail from. */
export interface TailStart {
  readonly fromSeq: number;
  /** The first entries of the requests that were looked up, the newest first. */
  readonly requests: readonly number[];
}

/**
 * Where to load from, so that the tail has the turns that it lacks. These are `missingTurns` before its first entry, the turn
 * of `windowSeq`, and the one before that. Reads a few entries instead of whole turns. Undefined when it is not known.
 */
export async function startOfMissing(store: TailStore, tail: Thread, missing: Missing): Promise<TailStart | undefined> {
  const { missingTurns } = missing;
  const windowSeq = await startOfWindow(store, tail, missing);
  const isCut = windowSeq < tail.firstSeq;
  if (missingTurns === undefined || (missingTurns === 0 && !isCut)) return undefined;
  if (isCut && windowSeq <= ENTRIES_PER_TURN) return { fromSeq: 0, requests: [] };
  const requests: number[] = [];
  let start = tail.firstSeq;
  let ofWindow = isCut ? 0 : 2;
  while (start > 0 && requests.length < MOST_TURNS && (requests.length < missingTurns || ofWindow < 2)) {
    const before = requests.length < missingTurns ? start : Math.min(start, windowSeq + 1);
    const found = await requestStart(store, tail.id, before - 1);
    if (found === undefined) return undefined;
    start = found;
    requests.push(start);
    if (start <= windowSeq) ofWindow++;
  }
  return { fromSeq: Math.max(0, Math.min(start, windowSeq) - ENTRIES_PER_TURN), requests };
}

/** The first entry of the request that was running at a seq. */
async function requestStart(store: TailStore, threadId: string, seq: number): Promise<number | undefined> {
  for await (const { refs } of store.read?.(threadId, { toSeq: seq, reverse: true, limit: MOST_NOTES }) ?? []) {
    const { requestId } = refs;
    if (requestId === undefined) continue;
    for await (const first of store.read?.(threadId, { refs: { requestId }, limit: 1 }) ?? []) return first.seq;
  }
  return undefined;
}

/** Where the window is expected to start. An estimate far before the tail is used if the entries up to there are not much larger. */
async function startOfWindow(
  store: TailStore,
  tail: Thread,
  { neededFromSeq = 0, windowSeq = tail.firstSeq }: Missing,
): Promise<number> {
  if (windowSeq >= neededFromSeq || tail.base === undefined) return windowSeq;
  const { id, firstSeq, rev, base } = tail;
  const lanes = Object.keys(base.lanes);
  const before = windowSeq === 0 ? undefined : await store.load(id, { last: 0, upToSeq: windowSeq - 1, lanes });
  const size = measureIn(base) - (before?.base === undefined ? 0 : measureIn(before.base));
  const expected = (measureOfEntries(tail) / (rev - firstSeq)) * (firstSeq - windowSeq);
  return size <= MOST_GROWTH * expected ? windowSeq : neededFromSeq;
}

/** How much larger earlier entries may be than the loaded ones, on average. */
const MOST_GROWTH = 2;

/** The size of the loaded entries. */
export function measureOfEntries(tail: Thread): number {
  return tail.toArray({ partial: true }).reduce((sum, entry) => sum + measureOfEntry(entry), 0);
}

/** The size of the entries before a tail, on the lanes that are known. */
export function measureIn({ lanes }: ThreadBase): number {
  return Object.values(lanes).reduce((sum, { measure }) => sum + measure, 0);
}
