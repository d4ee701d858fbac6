import type {
  Change,
  ClaimRecord,
  FeedEpoch,
  LeaseRecord,
  ListQuery,
  NamedHead,
  RowRange,
  RunnableRow,
  StoredCommand,
  StoredLane,
  StoredRow,
  StoredWaiting,
  ThreadChanges,
  ThreadHead,
  ThreadState,
  WantedInbox,
} from "../driver.ts";
import { readFeedItem } from "../feed-item.ts";
import { invalidCursor } from "../options.ts";
import { refTexts, requestKey } from "../refs-filter.ts";
import { partsInRange } from "../row-parts.ts";
import { asJsonText } from "../search-text.ts";
import { readCommands, readLastPositions } from "./commands.ts";
import type { Query } from "./connection-pool.ts";
import { readParts, readSharedRows } from "./fork-rows.ts";
import { readLeases, serverClock } from "./leases.ts";
import { type PendingCommand, readPendingIds, readRunnable } from "./runnable.ts";
import { REQUEST_KEY_OF_ENTRY } from "./schema/v2.ts";
import {
  type EntryColumns,
  entryColumns,
  type HeadColumns,
  headColumns,
  isStorable,
  type LaneColumns,
  laneColumns,
  lowerCase,
  payloadOf,
  type Scope,
  toHead,
  toLane,
  toRow,
} from "./tables.ts";
import { readWaiting } from "./waiting.ts";

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
    where t.tenant = ${tenant} and t.state is null ${afterId === undefined ? sql`` : sql`and t.id > ${afterId}`}
    order by t.id limit ${limit}`;
  return found.map((columns) => ({ id: columns.id, head: toHead(columns.id, columns) }));
}

/** Without names, all lanes of the thread. */
export async function readLanes(
  scope: Scope,
  threadId: string,
  names: readonly string[] | undefined,
): Promise<readonly StoredLane[]> {
  const { sql, tables, tenant } = scope;
  const named =
    names === undefined ? sql`` : sql`and l.lane = any(${names.map((name) => JSON.stringify(name))}::text[])`;
  const found = await sql<LaneColumns[]>`
    select ${laneColumns(scope)} from ${tables.lanes} l
    where l.thread = (select t.key from ${tables.threads} t where t.tenant = ${tenant} and t.id = ${threadId}) ${named}`;
  return found.map((columns) => toLane(threadId, columns));
}

/**
 * Returns committed rows without gaps: a writer holds the thread's lock until its commit, so rows appear in order. Most reads
 * need one query. Only when the thread's own rows do not fill the range, a second one looks whether it is a fork.
 */
export async function readRows(scope: Scope, threadId: string, range: RowRange): Promise<readonly StoredRow[]> {
  const { sql, tables, tenant } = scope;
  const { from, to, reverse = false, limit } = range;
  const filters = filtersOf(scope, range);
  const ofThread = sql`(select t.key from ${tables.threads} t where t.tenant = ${tenant} and t.id = ${threadId})`;
  const own = await sql<EntryColumns[]>`
    select ${entryColumns(scope)} from ${tables.entries} e
    where e.thread = ${ofThread} and e.seq between ${from}::bigint and ${to}::bigint ${filters.conditions}
    order by ${filters.order} limit ${limit}`;
  const isPartial = reverse ? own.length < limit && own.at(-1)?.seq !== from : own[0]?.seq !== from;
  const shared = isPartial ? await readSharedRange(scope, threadId, range) : [];
  const found = reverse ? [...own, ...shared] : [...shared, ...own];
  return found.slice(0, limit).map((columns) => toRow(threadId, columns));
}

/** The rows of a range that a fork shares. */
async function readSharedRange(scope: Scope, threadId: string, range: RowRange): Promise<readonly EntryColumns[]> {
  const { sql, tables } = scope;
  const parts = (await readParts(scope, [threadId])).get(threadId) ?? [];
  const wanted = partsInRange(parts.slice(1), range);
  if (wanted.length === 0) return [];
  const { conditions, order } = filtersOf(scope, range);
  return sql<EntryColumns[]>`
    select ${entryColumns(scope)}
    from unnest(
      ${wanted.map(({ owner }) => owner)}::bigint[],
      ${wanted.map(({ from }) => from)}::bigint[],
      ${wanted.map(({ to }) => to)}::bigint[]
    ) as p (owner, first, last)
    cross join lateral (
      select e.* from ${tables.entries} e
      where e.thread = p.owner and e.seq between p.first and p.last ${conditions}
      order by ${order} limit ${range.limit}
    ) e
    order by ${order} limit ${range.limit}`;
}

/** The filters and the order of a range, for `entries e`. */
function filtersOf(
  scope: Scope,
  { kinds, search, refs = {}, reverse = false }: RowRange,
): { readonly conditions: Query; readonly order: Query } {
  const { sql } = scope;
  const key = requestKey(refs);
  const ofRequest = key === undefined ? sql`` : sql`and ${sql.unsafe(REQUEST_KEY_OF_ENTRY)} = ${key}`;
  // The sum keeps Postgres from reading the whole thread in the order of its primary key.
  const seq = key === undefined ? sql`e.seq` : sql`e.seq + 0`;
  const withRefs = [sql``, ...refTexts(refs).map((text) => sql`and strpos(e.refs, ${text}) > 0`)]; // never empty, which postgres.js refuses
  const ofKinds = kinds === undefined ? sql`` : sql`and e.kind = any(${kinds.filter(isStorable)}::text[])`;
  const mentioning =
    search === undefined
      ? sql``
      : sql`and (strpos(${lowerCase(scope, payloadOf(scope))}, ${search}) > 0 or ${hasReferences(scope)})`;
  return {
    conditions: sql`${ofRequest} ${withRefs} ${ofKinds} ${mentioning}`,
    order: sql`${seq} ${reverse ? sql`desc` : sql`asc`}`,
  };
}

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
  /** JSON of a list of thread ids. */
  readonly ids: string;
  readonly is_feed_behind: boolean;
}

/**
 * The position is a snapshot. Rows that the previous snapshot could not see come from transactions that began after it or
 * were open in it. So an open transaction of another client delays no watcher, and no row is read twice.
 */
export async function readChangedThreads(scope: Scope, after: string | undefined): Promise<ThreadChanges> {
  const { sql, tables, tenant } = scope;
  const position = sql`${after ?? ""}::pg_snapshot`;
  const isNew = (table: Query) => [
    sql`${table}.tenant = ${tenant} and ${table}.xid >= pg_snapshot_xmax(${position})`,
    sql`${table}.tenant = ${tenant} and ${table}.xid = any(array(select pg_snapshot_xip(${position})))`,
  ];
  const [afterRows, openRows] = isNew(sql`e`);
  const [afterItems, openItems] = isNew(sql`f`);
  const ids =
    after === undefined
      ? sql`'{}'::text[]`
      : sql`array(
          select t.id from (
            select e.thread from ${tables.entries} e where ${afterRows ?? sql``}
            union select e.thread from ${tables.entries} e where ${openRows ?? sql``}
          ) as e join ${tables.threads} t on t.key = e.thread
          union select f.thread from ${tables.feedItems} f where ${afterItems ?? sql``}
          union select f.thread from ${tables.feedItems} f where ${openItems ?? sql``}
        )`;
  const isWithheld = (table: Query) =>
    sql`${table}.tenant = ${tenant} and ${table}.xid >= pg_snapshot_xmin(pg_current_snapshot())`;
  const [found] = await sql<ChangedThreadColumns[]>`
    select pg_current_snapshot()::text as position, to_json(${ids})::text as ids, (
      exists (select from ${tables.entries} e where ${isWithheld(sql`e`)})
      or exists (select from ${tables.feedItems} f where ${isWithheld(sql`f`)})
    ) as is_feed_behind`;
  if (found === undefined) throw new Error("The look at the changes has no answer."); // a select without a table has one row
  return {
    threadIds: JSON.parse(found.ids) as readonly string[],
    position: found.position,
    isFeedBehind: found.is_feed_behind,
  };
}

/** The threads of a page, plus one when there is another page. */
export async function listThreads(scope: Scope, query: ListQuery): Promise<readonly NamedHead[]> {
  if (!isStorable(query.prefix)) return [];
  const { sql, tables } = scope;
  const found = await sql<(HeadColumns & { readonly id: string })[]>`
    select t.id, ${headColumns(scope)} from ${tables.threads} t
    where ${conditions(scope, query)}
    order by ${orderOf(scope, query)} limit ${query.limit + 1}`;
  return found.map((columns) => ({ id: columns.id, head: toHead(columns.id, columns) }));
}

function orderOf({ sql }: Scope, { order, reverse }: ListQuery): Query {
  switch (order) {
    case "updated":
      return reverse ? sql`t.updated_at, t.id desc` : sql`t.updated_at desc, t.id`;
    case "created":
      return reverse ? sql`t.created_at, t.id desc` : sql`t.created_at desc, t.id`;
    case "id":
      return reverse ? sql`t.id desc` : sql`t.id`;
  }
}

function conditions(scope: Scope, query: ListQuery): Query[] {
  const { prefix, status, owner, fields, search, order, reverse, after } = query;
  const { updatedSince, updatedBefore, createdSince, createdBefore } = query;
  const { sql, tables, tenant } = scope;
  return [
    sql`t.tenant = ${tenant} and t.state is null`,
    ...(prefix === "" ? [] : [sql`and t.id >= ${prefix} and starts_with(t.id, ${prefix})`]),
    ...(status === undefined ? [] : [sql`and t.status = ${JSON.stringify(status)}`]),
    ...(owner === undefined ? [] : [sql`and t.owner = ${owner}`]),
    ...fields.map(
      ({ name, value }) => sql`and t.key in (
        select f.thread from ${tables.threadFields} f
        where f.tenant = ${tenant} and f.name = ${name} and f.value = ${value}
      )`,
    ),
    ...(updatedSince === undefined ? [] : [sql`and t.updated_at >= ${updatedSince}`]),
    ...(updatedBefore === undefined ? [] : [sql`and t.updated_at < ${updatedBefore}`]),
    ...(createdSince === undefined ? [] : [sql`and t.created_at >= ${createdSince}`]),
    ...(createdBefore === undefined ? [] : [sql`and t.created_at < ${createdBefore}`]),
    ...(search === "" ? [] : [sql`and (${containsText(scope, search)})`]),
    ...(after === undefined ? [] : [sql`and ${isAfter(scope, order, reverse, after)}`]),
  ];
}

function isAfter(
  { sql }: Scope,
  order: ListQuery["order"],
  reverse: boolean,
  { value, id }: NonNullable<ListQuery["after"]>,
): Query {
  const less = reverse ? sql`>` : sql`<`;
  const greater = reverse ? sql`<` : sql`>`;
  switch (order) {
    case "updated":
      return sql`(t.updated_at ${less} ${value} or (t.updated_at = ${value} and t.id ${greater} ${id}))`;
    case "created":
      return sql`(t.created_at ${less} ${value} or (t.created_at = ${value} and t.id ${greater} ${id}))`;
    case "id":
      return sql`t.id ${greater} ${id}`;
  }
}

function containsText(scope: Scope, search: string): Query {
  const { sql, tables } = scope;
  const json = asJsonText(search);
  return sql`
    ${isStorable(search) ? sql`strpos(${lowerCase(scope, sql`t.id`)}, ${search}) > 0 or` : sql``}
    strpos(${lowerCase(scope, sql`t.metadata`)}, ${json}) > 0
    or exists (
      select from ${tables.entries} e where e.thread = t.key and strpos(${lowerCase(scope, payloadOf(scope))}, ${json}) > 0
    ) or exists (
      select from ${tables.blobUses} u
      join ${tables.records} r on r.tenant = u.tenant and r.space = 'blob' and r.key = u.hash
      where u.tenant = t.tenant and u.thread = t.id and u.purpose = 'text'
        and strpos(${lowerCase(scope, sql`r.json`)}, ${json}) > 0 and exists (
          with recursive part (owner, last) as (
            select t.key, ${Number.MAX_SAFE_INTEGER}::bigint
            union all
            select o.origin, o.fork_seq from part p join ${tables.threads} o on o.key = p.owner where o.origin is not null
          )
          select from part p join ${tables.entries} e on e.thread = p.owner and e.seq <= p.last
          where ${hasReferences(scope)} and strpos(${payloadOf(scope)}, u.hash) > 0
        )
    ) or t.origin is not null and exists (
      with recursive part (owner, last) as (
        select t.origin, t.fork_seq
        union all
        select o.origin, o.fork_seq from part p join ${tables.threads} o on o.key = p.owner where o.origin is not null
      )
      select from part p join ${tables.entries} e on e.thread = p.owner and e.seq <= p.last
      where strpos(${lowerCase(scope, payloadOf(scope))}, ${json}) > 0
    )`;
}

/** Long texts of the payload are in blobs. */
function hasReferences(scope: Scope): Query {
  return scope.sql`starts_with(${payloadOf(scope)}, '[')`;
}

/** The entries and commands of one thread that a batch needs. */
export interface WantedThread {
  readonly entryIds: Set<string>;
  readonly lanes: Set<string>;
  readonly commandIds: Set<string>;
  /** The nodes whose leases are read beside that of the claim; undefined when no lease is. */
  nodes: Set<string> | undefined;
  /** As in a WantedInbox. */
  runnable: WantedInbox["runnable"];
  waiting: boolean;
}

/** One thread as it is inside the transaction of a batch. */
export interface ReadThread extends Pick<ThreadState, "head" | "claim" | "now"> {
  readonly rows: readonly StoredRow[];
  readonly lanes: readonly StoredLane[];
  readonly commands: readonly StoredCommand[];
  readonly lastPosition: number;
  /** All leases that the batch needs. */
  readonly leases: readonly LeaseRecord[];
  /** Undefined when it was not read. */
  readonly runnable: RunnableRow | null | undefined;
  readonly pending: readonly PendingCommand[];
  readonly waiting: readonly StoredWaiting[];
}

interface WantedName {
  readonly threadId: string;
  readonly id: string;
}

/** Reads the threads of a batch, while it holds their locks. */
export async function readThreads(
  scope: Scope,
  wanted: ReadonlyMap<string, WantedThread>,
): Promise<ReadonlyMap<string, ReadThread>> {
  const names = (part: "entryIds" | "lanes" | "commandIds"): readonly WantedName[] =>
    [...wanted].flatMap(([threadId, thread]) => [...thread[part]].map((id) => ({ threadId, id })));
  const keys = names("commandIds");
  const withLeases = [...wanted].flatMap(([threadId, { nodes }]) => (nodes === undefined ? [] : [{ threadId, nodes }]));
  const withRunnable = [...wanted].flatMap(([threadId, { runnable }]) => (runnable === undefined ? [] : [threadId]));
  const withPending = withRunnable.filter((threadId) => wanted.get(threadId)?.runnable === "pending");
  const [states, known, lanes, commands, positions, leases, runnable, pending, waiting] = await Promise.all([
    selectStates(scope, [...wanted.keys()]),
    selectKnown(scope, names("entryIds")),
    selectLanes(scope, names("lanes")),
    readCommands(scope, keys),
    readLastPositions(scope, [...new Set(keys.map(({ threadId }) => threadId))]),
    withLeases.length === 0
      ? []
      : readLeases(
          scope,
          withLeases.map(({ threadId }) => threadId),
          withLeases.flatMap(({ nodes }) => [...nodes]),
        ),
    readRunnable(scope, withRunnable),
    readPendingIds(scope, withPending),
    readWaiting(
      scope,
      [...wanted].flatMap(([threadId, thread]) => (thread.waiting ? [threadId] : [])),
    ),
  ]);
  const shared = await readSharedRows(scope, unknownOfForks(states, known, names("entryIds")));
  const rowsById = Map.groupBy([...known, ...shared], ({ thread_id }) => thread_id);
  const lanesById = Map.groupBy(lanes, ({ thread_id }) => thread_id);
  const pendingById = Map.groupBy(pending, ({ thread }) => thread);
  const commandsById = Map.groupBy(commands, ({ threadId }) => threadId);
  return new Map(
    states.map((columns) => {
      const { thread_id: id, now } = columns;
      const rows = (rowsById.get(id) ?? []).map((row) => toRow(id, row));
      const lanesOfThread = (lanesById.get(id) ?? []).map((lane) => toLane(id, lane));
      const ofThread = (commandsById.get(id) ?? []).map(({ command }) => command);
      const lastPosition = positions.get(id) ?? 0;
      const [head, claim] = [headOf(columns), claimOf(columns)];
      const scheduling = {
        leases,
        runnable: withRunnable.includes(id) ? (runnable.get(id) ?? null) : undefined,
        pending: pendingById.get(id) ?? [],
        waiting: waiting.flatMap(({ threadId, call }) => (threadId === id ? [call] : [])),
      };
      return [id, { head, claim, rows, lanes: lanesOfThread, commands: ofThread, lastPosition, ...scheduling, now }];
    }),
  );
}

/** The ids that no own row of a fork has. A shared row may have them. */
function unknownOfForks(
  states: readonly StateColumns[],
  known: readonly KnownColumns[],
  wanted: readonly WantedName[],
): readonly WantedName[] {
  const forks = new Set(states.flatMap(({ thread_id, origin }) => (origin === null ? [] : thread_id)));
  if (forks.size === 0) return [];
  const found = new Set(known.map(({ thread_id, id }) => `${thread_id}/${id}`)); // no name of a thread contains a slash
  return wanted.filter(({ threadId, id }) => forks.has(threadId) && !found.has(`${threadId}/${id}`));
}

interface StateColumns extends Nullable<HeadColumns>, Nullable<ClaimColumns> {
  readonly thread_id: string;
  readonly now: number;
  readonly origin: number | null;
}

interface ClaimColumns {
  readonly holder: string;
  readonly epoch: number;
  readonly until: number;
  readonly ttl: number;
  readonly node: string | null;
  readonly incarnation: number | null;
}

type Nullable<Columns> = { readonly [Name in keyof Columns]: Columns[Name] | null };

function selectStates(scope: Scope, threadIds: readonly string[]): PromiseLike<readonly StateColumns[]> {
  const { sql, tables, tenant } = scope;
  return sql<StateColumns[]>`
    select w.id as thread_id, ${serverClock(scope)} as now,
      ${headColumns(scope)}, t.origin, c.holder, c.epoch, c.until, c.ttl, c.node, c.incarnation
    from unnest(${threadIds}::text[]) as w (id)
    left join ${tables.threads} t on t.tenant = ${tenant} and t.id = w.id
    left join ${tables.claims} c on c.tenant = ${tenant} and c.thread = w.id`.execute();
}

interface KnownColumns extends EntryColumns {
  readonly thread_id: string;
}

function selectLanes(
  scope: Scope,
  pairs: readonly WantedName[],
): PromiseLike<readonly (LaneColumns & { readonly thread_id: string })[]> | readonly [] {
  if (pairs.length === 0) return [];
  const { sql, tables, tenant } = scope;
  return sql<(LaneColumns & { readonly thread_id: string })[]>`
    select t.id as thread_id, ${laneColumns(scope)}
    from unnest(
      ${pairs.map(({ threadId }) => threadId)}::text[], ${pairs.map(({ id }) => JSON.stringify(id))}::text[]
    ) as w (thread_id, lane)
    join ${tables.threads} t on t.tenant = ${tenant} and t.id = w.thread_id
    join ${tables.lanes} l on l.thread = t.key and l.lane = w.lane`.execute();
}

function selectKnown(
  scope: Scope,
  pairs: readonly WantedName[],
): PromiseLike<readonly KnownColumns[]> | readonly KnownColumns[] {
  if (pairs.length === 0) return [];
  const { sql, tables, tenant } = scope;
  const threadIds = pairs.map(({ threadId }) => threadId);
  const ids = pairs.map(({ id }) => id);
  return sql<KnownColumns[]>`
    select t.id as thread_id, ${entryColumns(scope)}
    from unnest(${threadIds}::text[], ${ids}::text[]) as w (thread_id, id)
    join ${tables.threads} t on t.tenant = ${tenant} and t.id = w.thread_id
    join ${tables.entries} e on e.thread = t.key and e.id = w.id
    order by e.seq`.execute();
}

function headOf(columns: StateColumns): ThreadHead | undefined {
  return isComplete(columns) ? toHead(columns.thread_id, columns) : undefined;
}

/** When there is no thread, all columns of its head are null. */
function isComplete(columns: StateColumns): columns is StateColumns & HeadColumns {
  return columns.rev !== null;
}

function claimOf({ holder, epoch, until, ttl, node, incarnation }: StateColumns): ClaimRecord | undefined {
  if (holder === null || epoch === null || until === null || ttl === null) return undefined;
  const lease = node === null || incarnation === null ? undefined : { node, incarnation };
  return { holder, epoch, until, ttlMs: ttl, lease };
}

/** The keys of the threads that exist, by thread id. */
export type ThreadKeys = ReadonlyMap<string, number>;

export async function readThreadKeys(
  { sql, tables, tenant }: Scope,
  threadIds: readonly string[],
): Promise<ThreadKeys> {
  const found = await sql<{ readonly id: string; readonly key: number }[]>`
    select id, key from ${tables.threads} where tenant = ${tenant} and id = any(${threadIds}::text[])`;
  return new Map(found.map(({ id, key }) => [id, key]));
}
