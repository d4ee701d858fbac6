import type { WaitingQuery } from "../driver.ts";
import type { StoredWaiting, ThreadWaiting } from "../stored-records.ts";
import type { Query } from "./connection-pool.ts";
import type { FencedScope, Scope } from "./tables.ts";

interface WaitingColumns {
  readonly thread: string;
  readonly call_id: string;
  readonly kind: string;
  readonly since: number;
  readonly deadline: number | null;
  readonly body: string;
}

function columns({ sql }: Scope): Query {
  return sql`w.thread, w.call_id, w.kind, w.since, w.deadline, w.body`;
}

function toWaiting({ thread: threadId, call_id: callId, ...call }: WaitingColumns): ThreadWaiting {
  const { kind, since, deadline, body } = call;
  return { threadId, call: { callId, kind, since, deadline, body } };
}

export async function listWaiting(scope: Scope, query: WaitingQuery): Promise<readonly ThreadWaiting[]> {
  const { sql, tables, tenant } = scope;
  const { kind, after, limit } = query;
  const found = await sql<WaitingColumns[]>`
    select ${columns(scope)} from ${tables.waiting} w
    where w.tenant = ${tenant} ${kind === undefined ? sql`` : sql`and w.kind = ${kind}`}
      ${after === undefined ? sql`` : sql`and (w.since, w.thread, w.call_id) > (${after.since}::bigint, ${after.threadId}, ${after.callId})`}
    order by w.since, w.thread, w.call_id limit ${limit}`;
  return found.map(toWaiting);
}

/** The waiting calls of these threads. */
export async function readWaiting(scope: Scope, threadIds: readonly string[]): Promise<readonly ThreadWaiting[]> {
  if (threadIds.length === 0) return [];
  const { sql, tables, tenant } = scope;
  const found = await sql<WaitingColumns[]>`
    select ${columns(scope)} from ${tables.waiting} w
    where w.tenant = ${tenant} and w.thread = any(${threadIds}::text[])`;
  return found.map(toWaiting);
}

/** The waiting calls of some threads after a batch. */
export type NewWaiting = readonly (readonly [threadId: string, calls: readonly StoredWaiting[]])[];

export function replaceWaiting(scope: FencedScope, written: NewWaiting): Query[] {
  const { sql, tables, tenant, fence } = scope;
  const rows = written.flatMap(([threadId, calls]) => calls.map((call) => ({ threadId, ...call })));
  const removed = removeWaiting(
    scope,
    written.map(([threadId]) => threadId),
  );
  if (rows.length === 0) return [removed];
  const added = sql`
    insert into ${tables.waiting} (tenant, thread, call_id, kind, since, deadline, body)
    select ${tenant}, w.*
    from unnest(
      ${rows.map(({ threadId }) => threadId)}::text[],
      ${rows.map(({ callId }) => callId)}::text[],
      ${rows.map(({ kind }) => kind)}::text[],
      ${rows.map(({ since }) => since)}::bigint[],
      ${rows.map(({ deadline }) => deadline)}::bigint[],
      ${rows.map(({ body }) => body)}::text[]
    ) as w
    where ${fence}`;
  return [removed, added];
}

export function removeWaiting({ sql, tables, tenant, fence }: FencedScope, threadIds: readonly string[]): Query {
  return sql`delete from ${tables.waiting} where tenant = ${tenant} and thread = any(${threadIds}::text[]) and ${fence}`;
}
