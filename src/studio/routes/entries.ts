import { CorruptionError, threadNotFound } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Entry } from "../../thread/entry.ts";
import type { EntryWindow } from "../contract.ts";
import { entriesOfLane, matchesFilter, readsFor } from "../entry-filter.ts";
import { numberIn } from "../http/request.ts";
import { type JsonResponse, json } from "../http/response.ts";
import type { RouteCall } from "../http/router.ts";
import { TimeLimit } from "./list-threads.ts";
import { loadForLanes } from "./thread.ts";

const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 200;

/** GET /api/threads/{id}/entries: a range of entries. With `kinds` or `lane`, a search with a time limit. */
export async function readEntries({ studio, query, param }: RouteCall): Promise<JsonResponse<EntryWindow>> {
  const id = param("id");
  const rev = await revOf(studio.store, id);
  const filter = filterOf(query);
  if (filter !== undefined) {
    const search = searchOf(query, rev);
    return json(await filteredEntries(studio.store, id, filter, search, new TimeLimit(studio.ports.clock)));
  }
  const window = windowOf(query, rev);
  const entries: Entry[] = [];
  if (window.fromSeq <= window.toSeq) {
    for await (const entry of studio.store.read(id, window)) entries.push(entry);
  }
  return json<EntryWindow>({ entries, rev });
}

async function revOf(store: ThreadStore, id: string): Promise<number> {
  const thread = await store.load(id, { last: 1 }).catch((error: unknown) => {
    // The last entry is damaged. The others can be read.
    if (CorruptionError.isInstance(error) && error.seq >= 0) return { rev: error.seq + 1 };
    throw error;
  });
  if (thread === undefined) throw threadNotFound(id);
  return thread.rev;
}

function filterOf(query: URLSearchParams): EntryFilter | undefined {
  const kinds = (query.get("kinds") ?? "").split(",").filter((word) => word !== "");
  const lane = query.get("lane") || undefined;
  return kinds.length === 0 && lane === undefined ? undefined : { kinds, lane };
}

/** Parses the search. It goes forward if `from` is set, else backward from `to` or the end. */
function searchOf(query: URLSearchParams, rev: number): EntrySearch {
  const limit = Math.max(1, numberIn(query, "limit", MAX_LIMIT) ?? DEFAULT_LIMIT);
  const from = numberIn(query, "from");
  if (from !== undefined) return { rev, start: from, isForward: true, limit };
  return { rev, start: Math.min(numberIn(query, "to") ?? rev - 1, rev - 1), isForward: false, limit };
}

/** Parses the range; both ends are included. An empty range has `fromSeq` above `toSeq`. */
function windowOf(query: URLSearchParams, rev: number): { readonly fromSeq: number; readonly toSeq: number } {
  const limit = Math.max(1, numberIn(query, "limit", MAX_LIMIT) ?? DEFAULT_LIMIT);
  const around = numberIn(query, "around");
  const from = numberIn(query, "from");
  const to = numberIn(query, "to");
  if (around !== undefined) {
    const first = Math.max(0, Math.min(around - Math.floor(limit / 2), rev - limit));
    return { fromSeq: first, toSeq: Math.min(first + limit, rev) - 1 };
  }
  if (from !== undefined)
    return {
      fromSeq: from,
      toSeq: Math.min(to ?? rev - 1, rev - 1, from + (to === undefined ? limit : MAX_LIMIT) - 1),
    };
  const last = Math.min(to ?? rev - 1, rev - 1);
  const count = Math.max(1, numberIn(query, "last", MAX_LIMIT) ?? limit);
  return { fromSeq: Math.max(0, last - count + 1), toSeq: last };
}

/** How many entries one store read returns. */
const STEP = 4000;

interface EntryFilter {
  /** Categories or kinds. An empty list means all. */
  readonly kinds: readonly string[];
  readonly lane?: string | undefined;
}

interface EntrySearch {
  readonly rev: number;
  /** The seq at which the search starts. */
  readonly start: number;
  readonly isForward: boolean;
  readonly limit: number;
}

/** Finds matching entries from `start` in one direction, until `limit` is reached or the time is up. */
async function filteredEntries(
  store: ThreadStore,
  threadId: string,
  filter: EntryFilter,
  { rev, start, isForward, limit }: EntrySearch,
  budget: TimeLimit,
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
    if (isFull || (await budget.isReached())) break;
  }
  return isForward
    ? { entries: found, rev, searched: { from: start, to: next - 1 } }
    : { entries: found.reverse(), rev, searched: { from: next + 1, to: start } };
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
  const isWanted = (entry: Entry): boolean => kinds.length === 0 || matchesFilter(entry, kinds);
  if (lane !== undefined) {
    // Loads a thread and not only entries, because the lane of an entry can depend on earlier entries.
    const thread = await loadForLanes(store, threadId, { last: to - from + 1, upToSeq: to });
    const ofLane = entriesOfLane(thread.toArray({ partial: true }), thread.base, lane);
    return ofLane.filter((entry) => entry.seq >= from && isWanted(entry));
  }
  const found = new Map<number, Entry>();
  for (const reading of readsFor(kinds)) {
    for await (const entry of store.read(threadId, { fromSeq: from, toSeq: to, ...reading })) {
      if (isWanted(entry)) found.set(entry.seq, entry);
    }
  }
  return [...found.values()].sort((a, b) => a.seq - b.seq);
}
