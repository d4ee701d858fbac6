import { setImmediate } from "node:timers/promises";
import { askedAgent } from "../../runtime/host/thread-agent.ts";
import { CorruptionError } from "../../stores/errors.ts";
import { cursorAfter } from "../../stores/methods/list.ts";
import type { ListOptions, ReadOptions, ThreadInfo, ThreadStore } from "../../stores/port.ts";
import { asJsonText, lowerAscii } from "../../stores/row-filter.ts";
import type { Clock } from "../../thread/ports.ts";
import type { ThreadRowPage } from "../contract.ts";
import { numberIn, oneOf, refuseUnknown, timeIn } from "../http/request.ts";
import { badField, type JsonResponse, json } from "../http/response.ts";
import type { RouteCall } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { rowOf } from "./thread.ts";

const MAX_LIMIT = 200;
const STATUSES = ["running", "waiting", "completed", "failed", "cancelled"] as const;

/** GET /api/threads */
export async function listThreads({ studio, query }: RouteCall): Promise<JsonResponse<ThreadRowPage>> {
  refuseUnknown(query, ["search", "status", "agent", "since", "until", "order", "limit", "cursor"]);
  const order = oneOf(["updated", "created"], query.get("order") || "updated", "order");
  const limit = Math.max(1, numberIn(query, "limit", MAX_LIMIT) ?? 50);
  const since = timeIn(query, "since") ?? Number.NEGATIVE_INFINITY;
  const until = timeIn(query, "until") ?? Number.POSITIVE_INFINITY;
  const agent = query.get("agent") || undefined;
  const search = query.get("search") || "";
  const status = query.get("status") ? oneOf(STATUSES, query.get("status") ?? "", "status") : undefined;
  const options = { order, cursor: query.get("cursor") || undefined, status, limit };
  const timeOf = ({ createdAt, updatedAt }: ThreadInfo): number => (order === "created" ? createdAt : updatedAt);
  const filter: Filter = {
    isWanted: (info) => timeOf(info) <= until,
    isOfAgent: async (info) => agent === undefined || (await agentOf(studio, info)) === agent,
    isPast: (info) => timeOf(info) < since,
  };
  const { threads, cursor, stoppedAt } =
    search === "" && agent === undefined
      ? { ...(await filtered(studio, options, filter)), stoppedAt: undefined }
      : await searchThreads(studio.store, search, options, filter, new TimeLimit(studio.ports.clock));
  return json<ThreadRowPage>({
    threads: await Promise.all(threads.map((info) => rowOf(studio, info))),
    ...(cursor !== undefined && { cursor }),
    ...(stoppedAt !== undefined && { searchedTo: timeOf(stoppedAt) }),
  });
}

async function filtered(
  { store }: Studio,
  { order, status, limit, ...place }: Order & { readonly cursor: string | undefined; readonly limit: number },
  { isWanted, isPast }: Filter,
): Promise<{ readonly threads: readonly ThreadInfo[]; readonly cursor?: string | undefined }> {
  const threads: ThreadInfo[] = [];
  for (let { cursor } = place, size = limit + 1; ; size = STORE_PAGE) {
    const page = await store.list({ order, status, cursor, limit: size });
    for (const info of page.threads) {
      if (isPast(info)) return { threads };
      if (!isWanted(info)) continue;
      const last = threads.at(-1);
      if (last !== undefined && threads.length === limit) return { threads, cursor: cursorBehind(last, { order }) };
      threads.push(info);
    }
    cursor = page.cursor;
    if (cursor === undefined) return { threads };
  }
}

/** Threads read at once if the store cannot apply the filter itself. */
const STORE_PAGE = 500;
/** Entries read at once. */
const STEP = 20_000;

interface Order {
  readonly order: "updated" | "created";
  readonly status: string | undefined;
}

interface Filter {
  readonly isWanted: (info: ThreadInfo) => boolean;
  /** May read the log of the thread. */
  readonly isOfAgent: (info: ThreadInfo) => Promise<boolean>;
  /** Whether no further thread can match. Lists are sorted by time, newest first. */
  readonly isPast: (info: ThreadInfo) => boolean;
}

interface SearchResult {
  readonly threads: readonly ThreadInfo[];
  readonly cursor?: string | undefined;
  /** The thread at which the time limit was reached. */
  readonly stoppedAt?: ThreadInfo;
}

/** Where a search continues: after the thread `after`, and in the next thread before the entry `before`. */
interface SearchPosition {
  readonly after?: string | undefined;
  readonly before?: number | undefined;
}

/**
 * Finds threads whose id, metadata or entries contain a text, newest first. It may read whole threads, so it has a time
 * limit. The cursor continues the search.
 */
async function searchThreads(
  store: ThreadStore,
  search: string,
  options: Order & { readonly cursor: string | undefined; readonly limit: number },
  { isWanted, isOfAgent, isPast }: Filter,
  budget: TimeLimit,
): Promise<SearchResult> {
  const { order, status, limit } = options;
  const threads: ThreadInfo[] = [];
  let { after, before }: SearchPosition = positionIn(options.cursor);
  for (;;) {
    const page: Awaited<ReturnType<ThreadStore["list"]>> = await store.list({
      order,
      status,
      cursor: after,
      limit: STORE_PAGE,
    });
    for (const info of page.threads) {
      if (isPast(info)) return { threads };
      if (isWanted(info)) {
        if (threads.length === limit) return { threads, cursor: cursorAt({ after }) };
        const looked: boolean | number =
          (await isOfAgent(info)) &&
          (isInHead(info, search) || (await isInEntries(store, info, search, before, budget)));
        if (typeof looked === "number") {
          return { threads, cursor: cursorAt({ after, before: looked }), stoppedAt: info };
        }
        if (looked) threads.push(info);
      }
      before = undefined;
      after = cursorBehind(info, options);
      if (await budget.isReached()) return { threads, cursor: cursorAt({ after }), stoppedAt: info };
    }
    if (page.cursor === undefined) return { threads };
  }
}

/** Hosts write no agent into the metadata. The asks name it. */
async function agentOf({ store, ports }: Studio, { id, rev, metadata }: ThreadInfo): Promise<string | undefined> {
  const { agent } = metadata;
  if (typeof agent === "string") return agent;
  if (rev === 0) return undefined;
  const asked = await askedAgent({ store, ports }, id).catch((error: unknown) => {
    if (CorruptionError.isInstance(error)) return undefined; // one damaged thread must not hide the others
    throw error;
  });
  return asked?.name;
}

function isInHead({ id, metadata }: ThreadInfo, search: string): boolean {
  const small = lowerAscii(search);
  return lowerAscii(id).includes(small) || lowerAscii(JSON.stringify(metadata)).includes(asJsonText(small));
}

/** The refs that have the ids of requests, runs and model calls. */
const MADE_IDS: { readonly [kind: string]: string } = { req: "requestId", run: "runId", call: "callId" };

/** The filters of a search, each enough for a match. An id is in the refs of entries. The key that a tool gets begins with the id of a call. */
function wantedOf(search: string): readonly (Pick<ReadOptions, "search"> | Pick<ReadOptions, "refs">)[] {
  const [id = "", kind = ""] = /^(req|run|call)_[^.\s]+/.exec(search) ?? [];
  const ref = MADE_IDS[kind];
  return ref === undefined ? [{ search }] : [{ search }, { refs: { [ref]: id } }];
}

/** Returns whether the text occurs. At the time limit, returns the seq before which entries are not searched yet. */
async function isInEntries(
  store: ThreadStore,
  { id, rev }: ThreadInfo,
  search: string,
  before: number | undefined,
  budget: TimeLimit,
): Promise<boolean | number> {
  for (let toSeq = Math.min(rev, before ?? rev) - 1; toSeq >= 0; toSeq -= STEP) {
    const fromSeq = Math.max(0, toSeq - STEP + 1);
    for (const wanted of wantedOf(search)) {
      for await (const _ of store.read(id, { fromSeq, toSeq, ...wanted, reverse: true, limit: 1 })) return true;
    }
    if (fromSeq > 0 && (await budget.isReached())) return fromSeq;
  }
  return false;
}

/** Makes a list cursor in the format of the store. */
function cursorBehind(info: ThreadInfo, { order }: Pick<ListOptions, "order">): string | undefined {
  return cursorAfter(info, { order: order ?? "updated", reverse: false });
}

const SEARCH_PREFIX = "search:";

function cursorAt(place: SearchPosition): string {
  return `${SEARCH_PREFIX}${JSON.stringify(place)}`;
}

function positionIn(cursor: string | undefined): SearchPosition {
  if (cursor === undefined) return {};
  try {
    if (!cursor.startsWith(SEARCH_PREFIX)) throw new SyntaxError();
    const { after, before }: { readonly after?: unknown; readonly before?: unknown } = JSON.parse(
      cursor.slice(SEARCH_PREFIX.length),
    );
    if (after !== undefined && typeof after !== "string") throw new SyntaxError();
    if (before !== undefined && !Number.isSafeInteger(before)) throw new SyntaxError();
    return { after, before: before as number | undefined }; // the lines above check the types
  } catch {
    throw badField("cursor", "the cursor of a page of the same search");
  }
}

/** Milliseconds after which a search answers with the threads found so far. */
const LIMIT_MS = 250;
/** Milliseconds of searching between two pauses for other work of the process. */
const YIELD_MS = 20;

/** The time limit of one search. */
export class TimeLimit {
  readonly #clock: Clock;
  readonly #end: number;
  #lastYield: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastYield = clock();
    this.#end = this.#lastYield + LIMIT_MS;
  }

  /** Returns whether the time is up. Call it between short steps of work: it also pauses for other work. */
  async isReached(): Promise<boolean> {
    const now = this.#clock();
    if (now >= this.#end) return true;
    if (now - this.#lastYield >= YIELD_MS) {
      await setImmediate();
      this.#lastYield = this.#clock();
    }
    return false;
  }
}
