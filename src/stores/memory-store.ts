import { checkName } from "../thread/names.ts";
import type { Clock } from "../thread/ports.ts";
import { defineStore } from "./define-store.ts";
import type {
  Change,
  ClaimRecord,
  Decision,
  RecordSpace,
  RowRange,
  StoreDriver,
  StoredRow,
  ThreadHead,
  ThreadState,
} from "./driver.ts";
import { checkOptions, completePorts, feedPosition, STORE_OPTIONS, type StoreOptions } from "./options.ts";
import type { ThreadStore } from "./port.ts";
import { hasRefs, requestKey, requestKeyOf } from "./refs-filter.ts";
import { payloadContains } from "./search-text.ts";

/** The tenant and the database of a store in memory. */
export interface MemoryStoreOptions extends StoreOptions {
  /** Part of every key, so that a store has no access to other tenants. Default "default". */
  readonly tenant?: string | undefined;
  /** A database to share between several stores, for example of several tenants. Default: a new one. */
  readonly database?: MemoryDatabase | undefined;
}

/**
 * A store in memory, empty when the process starts. Otherwise it behaves as the other stores do, so use it in tests.
 *
 * @example
 * const store = memoryStore();
 * await store.append("thread_1", { kind: "note" });
 */
export function memoryStore(options: MemoryStoreOptions = {}): ThreadStore {
  const {
    tenant = "default",
    database = new MemoryDatabase(),
    ...others
  } = checkOptions(options, ["tenant", "database", ...STORE_OPTIONS]);
  checkName("tenant", tenant);
  const ports = completePorts(others);
  return defineStore(memoryDriver(database.tenant(tenant), ports.clock), ports);
}

interface StoredThread {
  head: ThreadHead;
  readonly rows: StoredRow[];
  readonly seqById: Map<string, number>;
  readonly seqsByRequest: Map<string, number[]>;
}

/** The data of one tenant in memory. */
export class MemoryTenant {
  readonly threads = new Map<string, StoredThread>();
  readonly claims = new Map<string, ClaimRecord>();
  readonly records = new Map<string, string | Uint8Array>();
  /** All rows in commit order, including rows of removed threads, so that feed cursors stay valid. */
  readonly log: Omit<Change, "cursor">[] = [];
}

/** Keeps threads in the memory of this process. Pass one database to several stores to share it. */
export class MemoryDatabase {
  readonly #tenants = new Map<string, MemoryTenant>();

  tenant(name: string): MemoryTenant {
    const tenant = this.#tenants.get(name) ?? new MemoryTenant();
    this.#tenants.set(name, tenant);
    return tenant;
  }
}

/** The reference implementation of a driver: synchronous, in plain maps. */
export function memoryDriver(tenant: MemoryTenant, clock: Clock): StoreDriver {
  const { threads, claims, records, log } = tenant;

  function stateOf(threadId: string, wantedIds: readonly string[]): ThreadState {
    const thread = threads.get(threadId);
    const seqs = wantedIds.flatMap((id) => thread?.seqById.get(id) ?? []).sort((a, b) => a - b);
    const known = seqs.flatMap((seq) => thread?.rows[seq] ?? []);
    return { head: thread?.head, claim: claims.get(threadId), known, now: clock() };
  }

  function apply(threadId: string, { head, rows = [], claim }: Decision<unknown>): void {
    if (claim !== undefined) claims.set(threadId, claim);
    if (head === undefined) return;
    const thread: StoredThread = threads.get(threadId) ?? {
      head,
      rows: [],
      seqById: new Map(),
      seqsByRequest: new Map(),
    };
    threads.set(threadId, thread);
    thread.head = head;
    for (const row of rows) {
      thread.rows.push(row);
      thread.seqById.set(row.id, row.seq);
      indexRequest(thread, row);
      log.push({ threadId, row });
    }
  }

  return {
    async transact(threadId, wantedIds, decide) {
      const decision = decide(stateOf(threadId, wantedIds));
      apply(threadId, decision);
      return decision.result;
    },

    async head(threadId) {
      return threads.get(threadId)?.head;
    },

    async rows(threadId, range) {
      const thread = threads.get(threadId);
      return thread === undefined ? [] : selectRows(thread, range);
    },

    async changes(after, limit): Promise<readonly Change[]> {
      const start = after === undefined ? 0 : feedPosition(after) + 1;
      const found: Change[] = [];
      for (let index = start; index < log.length && found.length < limit; index++) {
        const change = log[index];
        if (change !== undefined && isStored(change)) found.push({ ...change, cursor: String(index) });
      }
      return found;
    },

    async heads(afterId, limit) {
      const ids = [...threads.keys()].filter((id) => afterId === undefined || id > afterId).sort();
      return ids.slice(0, limit).flatMap((id) => withHead(id, threads.get(id)?.head));
    },

    async remove(threadId) {
      return threads.delete(threadId);
    },

    async getRecord(space, key) {
      return records.get(recordKey(space, key));
    },

    async putRecord(space, key, value) {
      records.set(recordKey(space, key), typeof value === "string" ? value : value.slice());
    },

    async deleteRecord(space, key) {
      return records.delete(recordKey(space, key));
    },

    async close() {},
  };

  function isStored({ threadId, row }: Omit<Change, "cursor">): boolean {
    return threads.get(threadId)?.rows[row.seq] === row;
  }
}

function indexRequest({ seqsByRequest }: StoredThread, row: StoredRow): void {
  const key = requestKeyOf(row);
  if (key === undefined) return;
  const seqs = seqsByRequest.get(key);
  if (seqs === undefined) seqsByRequest.set(key, [row.seq]);
  else seqs.push(row.seq);
}

function selectRows(thread: StoredThread, range: RowRange): readonly StoredRow[] {
  const { kinds, search, refs, limit } = range;
  const found: StoredRow[] = [];
  for (const row of candidates(thread, range)) {
    if (found.length >= limit) break;
    if (!(kinds === undefined || kinds.includes(row.kind))) continue;
    if (refs !== undefined && !hasRefs(row, refs)) continue;
    if (search === undefined || payloadContains(row, search)) found.push(row);
  }
  return found;
}

function* candidates({ rows, seqsByRequest }: StoredThread, range: RowRange): Iterable<StoredRow> {
  const { from, refs, reverse = false } = range;
  const key = refs && requestKey(refs);
  const to = Math.min(range.to, rows.length - 1);
  if (key !== undefined) {
    const seqs = (seqsByRequest.get(key) ?? []).filter((seq) => seq >= from && seq <= to);
    for (const seq of reverse ? seqs.toReversed() : seqs) if (rows[seq] !== undefined) yield rows[seq];
    return;
  }
  for (let step = 0; step <= to - from; step++) {
    const row = rows[reverse ? to - step : from + step];
    if (row !== undefined) yield row;
  }
}

function withHead(id: string, head: ThreadHead | undefined): { id: string; head: ThreadHead }[] {
  return head === undefined ? [] : [{ id, head }];
}

function recordKey(space: RecordSpace, key: string): string {
  return `${space}/${key}`;
}
