import type { NamedHead } from "../../driver.ts";
import { asJsonText, type ListQuery } from "../../list-query.ts";
import { type HeadColumns, headColumns, toHead } from "../columns.ts";
import type { Query } from "../connection/library.ts";
import { isStorable, type Scope } from "../scope.ts";
import { payloadOf, small } from "./texts.ts";

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

function mentions(scope: Scope, search: string): Query {
  const { sql, tables } = scope;
  const json = asJsonText(search);
  return sql`
    ${isStorable(search) ? sql`strpos(${small(scope, sql`t.id`)}, ${search}) > 0 or` : sql``}
    strpos(${small(scope, sql`t.metadata`)}, ${json}) > 0
    or exists (
      select from ${tables.entries} e where e.thread = t.key and strpos(${small(scope, payloadOf(scope))}, ${json}) > 0
    )`;
}
