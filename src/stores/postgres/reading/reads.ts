import type { Change, NamedHead, RowRange, StoredRow, ThreadHead } from "../../driver.ts";
import { entryColumns, type HeadColumns, headColumns, toHead, toRow } from "../columns.ts";
import { isStorable, type Scope } from "../scope.ts";
import { payloadOf, small } from "./texts.ts";

export async function readHead(scope: Scope, threadId: string): Promise<ThreadHead | undefined> {
  const { sql, tables, tenant } = scope;
  const [found] = await sql<HeadColumns[]>`
    select ${headColumns(scope)} from ${tables.threads} t where t.tenant = ${tenant} and t.id = ${threadId}`;
  return found && toHead(threadId, found);
}

export async function readHeads(
  scope: Scope,
  afterId: string | undefined,
  limit: number,
): Promise<readonly NamedHead[]> {
  const { sql, tables, tenant } = scope;
  const found = await sql<(HeadColumns & { readonly id: string })[]>`
    select t.id, ${headColumns(scope)} from ${tables.threads} t
    where t.tenant = ${tenant} ${afterId === undefined ? sql`` : sql`and t.id > ${afterId}`}
    order by t.id limit ${limit}`;
  return found.map((columns) => ({ id: columns.id, head: toHead(columns.id, columns) }));
}

/** Returns committed rows without gaps: a writer holds the thread's lock until its commit, so rows appear in order. */
export async function readRows(scope: Scope, threadId: string, range: RowRange): Promise<readonly StoredRow[]> {
  const { sql, tables, tenant } = scope;
  const { from, to, kinds, search, reverse = false, limit } = range;
  const ofKinds = kinds === undefined ? sql`` : sql`and e.kind = any(${kinds.filter(isStorable)}::text[])`;
  const mentioning = search === undefined ? sql`` : sql`and strpos(${small(scope, payloadOf(scope))}, ${search}) > 0`;
  const found = await sql<StoredRow[]>`
    select ${entryColumns(scope)} from ${tables.entries} e
    where e.thread = (select t.key from ${tables.threads} t where t.tenant = ${tenant} and t.id = ${threadId})
      and e.seq between ${from}::bigint and ${to}::bigint ${ofKinds} ${mentioning}
    order by e.seq ${reverse ? sql`desc` : sql`asc`} limit ${limit}`;
  return found.map((columns) => toRow(threadId, columns));
}

interface ChangeColumns extends StoredRow {
  readonly thread_id: string;
  readonly xid: string;
  readonly pos: number;
}

/**
 * Orders rows by transaction id and reads only transactions older than the oldest open one, so that no earlier row can
 * appear later. Consequence: a transaction left open anywhere on the server delays the feed.
 */
export async function readChanges(scope: Scope, after: string | undefined, limit: number): Promise<readonly Change[]> {
  const { sql, tables, tenant } = scope;
  const [xid = "0", pos = "0"] = after?.split(":") ?? [];
  const found = await sql<ChangeColumns[]>`
    select t.id as thread_id, e.xid::text as xid, e.pos, ${entryColumns(scope)}
    from ${tables.entries} e join ${tables.threads} t on t.key = e.thread
    where e.tenant = ${tenant} and (e.xid, e.pos) > (${xid}::xid8, ${pos}::bigint)
      and e.xid < pg_snapshot_xmin(pg_current_snapshot())
    order by e.xid, e.pos limit ${limit}`;
  return found.map((columns) => ({
    threadId: columns.thread_id,
    row: toRow(columns.thread_id, columns),
    cursor: `${columns.xid}:${columns.pos}`,
  }));
}
