import type { NamedHead } from "../../driver.ts";
import { asJsonText, type ListQuery, type Place } from "../../list-query.ts";
import type { ListOrder } from "../../port.ts";
import type { SqliteConnection, SqlValue } from "../connection/connection.ts";
import { HEAD_COLUMNS, PAYLOAD, toHead } from "../rows.ts";

interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

const SORTED = { updated: "updated_at DESC, id", created: "created_at DESC, id", id: "id" } as const;

/** A status must be text. `json_extract` alone would also convert objects to text. */
const STATUS = "CASE json_type(metadata, '$.status') WHEN 'text' THEN json_extract(metadata, '$.status') END";

/** The threads of a page, plus one when there is another page. */
export function listThreads(connection: SqliteConnection, tenant: string, query: ListQuery): readonly NamedHead[] {
  const conditions = conditionsOf(tenant, query);
  const where = conditions.map(({ sql }) => sql).join(" AND ");
  const values = conditions.flatMap((condition) => condition.values);
  const sql = `SELECT id, ${HEAD_COLUMNS} FROM threads t WHERE ${where} ORDER BY ${SORTED[query.order]} LIMIT ?`;
  const found = connection.prepare(sql).all(...values, query.limit + 1);
  return found.map(([id, ...columns]) => ({ id: String(id), head: toHead(String(id), columns) }));
}

function conditionsOf(tenant: string, { prefix, order, status, search, after }: ListQuery): readonly Condition[] {
  return [
    { sql: "tenant = ?", values: [tenant] },
    ...(prefix === "" ? [] : [{ sql: "substr(id, 1, length(?)) = ?", values: [prefix, prefix] }]),
    ...(status === undefined ? [] : [{ sql: `${STATUS} = ?`, values: [status] }]),
    ...(search === "" ? [] : [mentions(search)]),
    ...(after === undefined ? [] : [comesAfter(after, order)]),
  ];
}

function comesAfter({ value, id }: Place, order: ListOrder): Condition {
  if (order === "id") return { sql: "id > ?", values: [id] };
  const column = order === "updated" ? "updated_at" : "created_at";
  return { sql: `(${column} < ? OR (${column} = ? AND id > ?))`, values: [value, value, id] };
}

function mentions(search: string): Condition {
  const inEntries = `EXISTS (SELECT 1 FROM entries e WHERE e.thread = t.key AND instr(lower(${PAYLOAD}), ?))`;
  const text = asJsonText(search);
  return { sql: `(instr(lower(id), ?) OR instr(lower(metadata), ?) OR ${inEntries})`, values: [search, text, text] };
}
