import type { Change, FeedEpoch, ThreadChanges } from "../driver.ts";
import { readFeedItem } from "../feed-item.ts";
import { invalidCursor } from "../options.ts";
import type { Query } from "./connection-pool.ts";
import { type EntryColumns, entryColumns, type Scope, toRow } from "./tables.ts";

interface ChangeColumns extends EntryColumns {
  readonly thread_id: string;
  readonly xid: string;
  readonly place: number;
  /** Null for a row. */
  readonly item: string | null;
  readonly body: string | null;
}

/**
 * Orders changes by transaction id and reads only transactions older than the oldest open one, so that no earlier change can
 * appear later. Consequence: a transaction left open anywhere on the server delays the feed. One query reads rows and items,
 * because two would see different transactions.
 */
export async function readChanges(scope: Scope, after: string | undefined, limit: number): Promise<readonly Change[]> {
  const { sql, tables, tenant } = scope;
  const [xid, pos] = feedPlace(after);
  const isNext = (table: Query) => sql`
    ${table}.tenant = ${tenant} and (${table}.xid, ${table}.pos) > (${xid}::xid8, ${pos}::bigint)
    and ${table}.xid < pg_snapshot_xmin(pg_current_snapshot())`;
  const found = await sql<ChangeColumns[]>`
    select c.*, c.id8::text as xid from (
      (
        select e.xid as id8, e.pos as place, t.id as thread_id, null as item, null as body, ${entryColumns(scope)}
        from ${tables.entries} e join ${tables.threads} t on t.key = e.thread
        where ${isNext(sql`e`)} and t.state is null
        order by e.xid, e.pos limit ${limit}
      ) union all (
        select f.xid, f.pos, f.thread, f.kind, f.body, ${entryColumns(scope)}
        from ${tables.feedItems} f left join ${tables.entries} e on false
        where ${isNext(sql`f`)}
        order by f.xid, f.pos limit ${limit}
      )
    ) as c
    order by c.id8, c.place limit ${limit}`;
  return found.map((columns) => {
    const { thread_id: threadId, item, body } = columns;
    const cursor = `${columns.xid}:${columns.place}`;
    if (item === null) return { type: "entry", threadId, row: toRow(threadId, columns), cursor };
    return { ...readFeedItem(threadId, item, body ?? ""), cursor };
  });
}

export async function readFeedEpoch({ sql, tables }: Scope): Promise<FeedEpoch> {
  const found = await sql<{ readonly name: string; readonly value: string }[]>`select name, value from ${tables.meta}`;
  const values = new Map(found.map(({ name, value }) => [name, value]));
  return { epoch: String(values.get("feed_epoch")), hasEarlierCursors: values.has("earlier_cursors") };
}

const MAX_XID = 2n ** 64n - 1n;

/** The transaction and the position that a cursor names. */
function feedPlace(cursor = "0:0"): readonly [xid: string, pos: string] {
  const [, xid = "", pos = ""] = /^(\d{1,20}):(\d{1,15})$/.exec(cursor) ?? [];
  if (xid === "" || BigInt(xid) > MAX_XID) throw invalidCursor();
  return [xid, pos];
}

interface ChangedThreadColumns {
  readonly position: string;
  /** JSON of a list of thread ids, as `posted_ids`. */
  readonly ids: string;
  readonly posted_ids: string;
  readonly is_feed_behind: boolean;
}

/**
 * The position is a snapshot. Rows that the previous snapshot could not see come from transactions that began after it or
 * were open in it. So an open transaction of another client delays no watcher, and no row is read twice.
 */
export async function readChangedThreads(
  scope: Scope,
  after: string | undefined,
  inboxes?: readonly string[],
): Promise<ThreadChanges> {
  const { sql, tables, tenant } = scope;
  const position = sql`${after ?? ""}::pg_snapshot`;
  const isNew = (table: Query) => [
    sql`${table}.tenant = ${tenant} and ${table}.xid >= pg_snapshot_xmax(${position})`,
    sql`${table}.tenant = ${tenant} and ${table}.xid = any(array(select pg_snapshot_xip(${position})))`,
  ];
  const [afterRows, openRows] = isNew(sql`e`);
  const [afterItems, openItems] = isNew(sql`f`);
  const none = sql`'{}'::text[]`;
  const ids =
    after === undefined
      ? none
      : sql`array(
          select t.id from (
            select e.thread from ${tables.entries} e where ${afterRows ?? sql``}
            union select e.thread from ${tables.entries} e where ${openRows ?? sql``}
          ) as e join ${tables.threads} t on t.key = e.thread
        )`;
  const items =
    after === undefined
      ? none
      : sql`array(
          select f.thread from ${tables.feedItems} f where ${afterItems ?? sql``}
          union select f.thread from ${tables.feedItems} f where ${openItems ?? sql``}
        )`;
  const isWithheld = (table: Query) =>
    sql`${table}.tenant = ${tenant} and ${table}.xid >= pg_snapshot_xmin(pg_current_snapshot())`;
  const [found] = await sql<ChangedThreadColumns[]>`
    select pg_current_snapshot()::text as position, to_json(${ids} || i.items)::text as ids, to_json(array(
      select inbox.thread from unnest(${inboxes ?? []}::text[]) as inbox (thread) where exists (
        select from ${tables.commands} c where c.tenant = ${tenant} and c.thread = inbox.thread and c.done_at is null
      )
    ) || i.items)::text as posted_ids, (
      exists (select from ${tables.entries} e where ${isWithheld(sql`e`)})
      or exists (select from ${tables.feedItems} f where ${isWithheld(sql`f`)})
    ) as is_feed_behind
    from (select ${items} as items) i`; // the commands of a deleted thread are gone
  if (found === undefined) throw new Error("The look at the changes has no answer."); // a select without a table has one row
  return {
    threadIds: JSON.parse(found.ids) as readonly string[],
    postedIds: inboxes && (JSON.parse(found.posted_ids) as readonly string[]),
    position: found.position,
    isFeedBehind: found.is_feed_behind,
  };
}
