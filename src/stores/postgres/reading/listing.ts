import type { NamedHead } from "../../driver.ts";
import { asJsonText, type ListQuery } from "../../list-query.ts";
import { type HeadColumns, headColumns, toHead } from "../columns.ts";
import type { Query } from "../connection/library.ts";
import { isStorable, type Scope } from "../scope.ts";

/** The threads of a page, found by Postgres, and one more when there are more. */
export async function listThreads(scope: Scope, query: ListQuery): Promise<readonly NamedHead[]> {
  if (!isStorable(query.prefix)) return [];
  const { sql, tables } = scope;
  const found = await sql<(HeadColumns & { readonly id: string })[]>`
    select t.id, ${headColumns(scope)} from ${tables.threads} t
    where ${conditions(scope, query)}
    order by ${orderOf(scope, query)} limit ${query.limit + 1}`;
  return found.map((columns) => ({ id: columns.id, head: toHead(columns.id, columns) }));
}

function orderOf({ sql }: Scope, { order }: ListQuery): Query {
  switch (order) {
    case "updated":
      return sql`t.updated_at desc, t.id`;
    case "created":
      return sql`t.created_at desc, t.id`;
    case "id":
      return sql`t.id`;
  }
}

function conditions(scope: Scope, { prefix, status, search, order, after }: ListQuery): Query[] {
  const { sql, tenant } = scope;
  return [
    sql`t.tenant = ${tenant}`,
    ...(prefix === "" ? [] : [sql`and t.id >= ${prefix} and starts_with(t.id, ${prefix})`]),
    ...(status === undefined ? [] : [sql`and t.status = ${JSON.stringify(status)}`]),
    ...(search === "" ? [] : [sql`and (${mentions(scope, search)})`]),
    ...(after === undefined ? [] : [sql`and ${beyond(scope, order, after)}`]),
  ];
}

function beyond({ sql }: Scope, order: ListQuery["order"], { value, id }: NonNullable<ListQuery["after"]>): Query {
  switch (order) {
    case "updated":
      return sql`(t.updated_at < ${value} or (t.updated_at = ${value} and t.id > ${id}))`;
    case "created":
      return sql`(t.created_at < ${value} or (t.created_at = ${value} and t.id > ${id}))`;
    case "id":
      return sql`t.id > ${id}`;
  }
}

/** In the collation C `lower` changes A to Z and nothing else. */
function mentions({ sql, tables }: Scope, search: string): Query {
  const small = (text: Query) => sql`lower(${text} collate "C")`;
  const json = asJsonText(search);
  const payload = sql`case when e.big is null then e.payload
    else (select b.payload from ${tables.bigPayloads} b where b.tenant = e.tenant and b.hash = e.big) end`;
  return sql`
    ${isStorable(search) ? sql`strpos(${small(sql`t.id`)}, ${search}) > 0 or` : sql``}
    strpos(${small(sql`t.metadata`)}, ${json}) > 0
    or exists (
      select from ${tables.entries} e where e.thread = t.key and strpos(${small(sql`(${payload})`)}, ${json}) > 0
    )`;
}
