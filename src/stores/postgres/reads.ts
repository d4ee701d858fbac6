import type { ListQuery, RowRange } from "../driver.ts";
import { asJsonText, refTexts, requestKey } from "../row-filter.ts";
import { partsInRange } from "../row-parts.ts";
import type { NamedHead, StoredLane, StoredRow, ThreadHead } from "../stored-records.ts";
import type { Query } from "./connection-pool.ts";
import { readParts } from "./fork-rows.ts";
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
    ...fields.map(({ name, value }) =>
      value === null
        ? sql`and not exists (select from ${tables.threadFields} f where f.thread = t.key and f.name = ${name})`
        : sql`and t.key in (
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
