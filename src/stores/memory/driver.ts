import type { Clock } from "../../thread/ports.ts";
import type {
  Change,
  Decision,
  RecordSpace,
  RowRange,
  StoreDriver,
  StoredRow,
  ThreadHead,
  ThreadState,
} from "../driver.ts";
import { mentions } from "../list-query.ts";
import { invalidOption } from "../options.ts";
import type { MemoryTenant } from "./database.ts";

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
    const thread = threads.get(threadId) ?? { head, rows: [], seqById: new Map<string, number>() };
    threads.set(threadId, thread);
    thread.head = head;
    for (const row of rows) {
      thread.rows.push(row);
      thread.seqById.set(row.id, row.seq);
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
      return rowsIn(threads.get(threadId)?.rows ?? [], range);
    },

    async changes(after, limit): Promise<readonly Change[]> {
      const start = after === undefined ? 0 : positionOf(after) + 1;
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

function rowsIn(
  rows: readonly StoredRow[],
  { from, to, kinds, search, reverse = false, limit }: RowRange,
): readonly StoredRow[] {
  const found: StoredRow[] = [];
  const last = Math.min(to, rows.length - 1);
  for (let step = 0; step <= last - from && found.length < limit; step++) {
    const row = rows[reverse ? last - step : from + step];
    if (row === undefined || !(kinds === undefined || kinds.includes(row.kind))) continue;
    if (search === undefined || mentions(row, search)) found.push(row);
  }
  return found;
}

function withHead(id: string, head: ThreadHead | undefined): { id: string; head: ThreadHead }[] {
  return head === undefined ? [] : [{ id, head }];
}

function recordKey(space: RecordSpace, key: string): string {
  return `${space}/${key}`;
}

function positionOf(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw invalidOption("after", "the cursor of a feed item");
  return Number(cursor);
}
