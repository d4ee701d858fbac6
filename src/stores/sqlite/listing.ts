import { infoOf } from "../head.ts";
import { asJsonText, type ListQuery, pageOf } from "../list.ts";
import type { ThreadPage } from "../port.ts";
import type { SqliteConnection, SqlValue } from "./connection.ts";
import { HEAD_COLUMNS, toHead } from "./rows.ts";

interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

const PLACE = { updated: "updated_at", created: "created_at", id: "0" } as const;

/** One page of threads, found by SQLite. */
export function listThreads(connection: SqliteConnection, tenant: string, query: ListQuery): ThreadPage {
  const conditions = conditionsOf(tenant, query);
  const where = conditions.map(({ sql }) => sql).join(" AND ");
  const values = conditions.flatMap((condition) => condition.values);
  const sql = `SELECT id, ${HEAD_COLUMNS} FROM threads t WHERE ${where} ORDER BY ${PLACE[query.order]} DESC, id LIMIT ?`;
  const found = connection.prepare(sql).all(...values, query.limit + 1);
  const infos = found.map(([id, ...columns]) => infoOf(String(id), toHead(String(id), columns)));
  return pageOf(infos, query);
}

function conditionsOf(tenant: string, { prefix, order, status, search, after }: ListQuery): readonly Condition[] {
  const place = PLACE[order];
  return [
    { sql: "tenant = ?", values: [tenant] },
    ...(prefix === "" ? [] : [{ sql: "substr(id, 1, length(?)) = ?", values: [prefix, prefix] }]),
    ...(status === undefined ? [] : [{ sql: "json_extract(metadata, '$.status') = ?", values: [status] }]),
    ...(search === "" ? [] : [mentions(search)]),
    ...(after === undefined
      ? []
      : [{ sql: `(${place} < ? OR (${place} = ? AND id > ?))`, values: [after.value, after.value, after.id] }]),
  ];
}

function mentions(search: string): Condition {
  const payload = "coalesce(e.payload, (SELECT b.payload FROM big_payloads b WHERE b.key = e.big))";
  const inEntries = `EXISTS (SELECT 1 FROM entries e WHERE e.thread = t.key AND instr(lower(${payload}), ?))`;
  const text = asJsonText(search);
  return { sql: `(instr(lower(id), ?) OR instr(lower(metadata), ?) OR ${inEntries})`, values: [search, text, text] };
}
