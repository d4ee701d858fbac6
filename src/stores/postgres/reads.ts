import type {
  Change,
  ClaimRecord,
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
import { invalidCursor } from "../options.ts";
import { refTexts, requestKey } from "../refs-filter.ts";
import { asJsonText } from "../search-text.ts";
import { readCommands, readLastPositions } from "./commands.ts";
import type { Query } from "./connection-pool.ts";
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
    where t.tenant = ${tenant} ${afterId === undefined ? sql`` : sql`and t.id > ${afterId}`}
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

/** Returns committed rows without gaps: a writer holds the thread's lock until its commit, so rows appear in order. */
export async function readRows(scope: Scope, threadId: string, range: RowRange): Promise<readonly StoredRow[]> {
  const { sql, tables, tenant } = scope;
  const { from, to, kinds, search, refs = {}, reverse = false, limit } = range;
  const key = requestKey(refs);
  const ofRequest = key === undefined ? sql`` : sql`and ${sql.unsafe(REQUEST_KEY_OF_ENTRY)} = ${key}`;
  // The sum keeps Postgres from reading the whole thread in the order of its primary key.
  const order = key === undefined ? sql`e.seq` : sql`e.seq + 0`;
  const withRefs = [sql``, ...refTexts(refs).map((text) => sql`and strpos(e.refs, ${text}) > 0`)]; // never empty, which postgres.js refuses
  const ofKinds = kinds === undefined ? sql`` : sql`and e.kind = any(${kinds.filter(isStorable)}::text[])`;
  const mentioning =
    search === undefined
      ? sql``
      : sql`and (strpos(${lowerCase(scope, payloadOf(scope))}, ${search}) > 0 or ${hasReferences(scope)})`;
  const found = await sql<EntryColumns[]>`
    select ${entryColumns(scope)} from ${tables.entries} e
    where e.thread = (select t.key from ${tables.threads} t where t.tenant = ${tenant} and t.id = ${threadId})
      and e.seq between ${from}::bigint and ${to}::bigint 
      ${ofRequest} ${withRefs} ${ofKinds} ${mentioning}
    order by ${order} ${reverse ? sql`desc` : sql`asc`} limit ${limit}`;
  return found.map((columns) => toRow(threadId, columns));
}

interface ChangeColumns extends EntryColumns {
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
  const [xid, pos] = feedPlace(after);
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
  const newRows = sql`
    select e.thread from ${tables.entries} e
    where e.tenant = ${tenant} and e.xid >= pg_snapshot_xmax(${position})
    union
    select e.thread from ${tables.entries} e
    where e.tenant = ${tenant} and e.xid = any(array(select pg_snapshot_xip(${position})))`;
  const ids =
    after === undefined
      ? sql`'{}'::text[]`
      : sql`array(select t.id from (${newRows}) as e join ${tables.threads} t on t.key = e.thread)`;
  const [found] = await sql<ChangedThreadColumns[]>`
    select pg_current_snapshot()::text as position, to_json(${ids})::text as ids, exists (
      select from ${tables.entries} e
      where e.tenant = ${tenant} and e.xid >= pg_snapshot_xmin(pg_current_snapshot())
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
    sql`t.tenant = ${tenant}`,
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
          select from ${tables.entries} e
          where e.thread = t.key and ${hasReferences(scope)} and strpos(${payloadOf(scope)}, u.hash) > 0
        )
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
  const rowsById = Map.groupBy(known, ({ thread_id }) => thread_id);
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

interface StateColumns extends Nullable<HeadColumns>, Nullable<ClaimColumns> {
  readonly thread_id: string;
  readonly now: number;
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
      ${headColumns(scope)}, c.holder, c.epoch, c.until, c.ttl, c.node, c.incarnation
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
