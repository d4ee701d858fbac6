import type { ListPosition, ListQuery } from "../driver.ts";
import type { ListOrder } from "../port.ts";
import { asJsonText } from "../row-filter.ts";
import type { NamedHead, ThreadField } from "../stored-records.ts";
import { fieldsOf } from "../thread-fields.ts";
import type { SqliteConnection, SqlValue } from "./connection.ts";
import { retryBusy } from "./errors.ts";
import { PAYLOAD_TEXT } from "./row-columns.ts";
import { HEAD_COLUMNS, slotOf, toHead } from "./thread-tables.ts";
import { runLongQuery, type WorkerConnection } from "./worker-connection.ts";

interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

// `update_slot` is `updated_at` in units of about a second. The index is in its order; SQLite sorts the threads of one slot.
const SORT_ORDER = {
  updated: "update_slot DESC, updated_at DESC, id",
  created: "created_at DESC, id",
  id: "id",
} as const;
const REVERSE_ORDER = {
  updated: "update_slot, updated_at, id DESC",
  created: "created_at, id DESC",
  id: "id DESC",
} as const;

/** A status must be text. `json_extract` alone would also convert objects to text. */
const STATUS = "CASE json_type(metadata, '$.status') WHEN 'text' THEN json_extract(metadata, '$.status') END";

/** The threads of a page, plus one when there is another page. */
export async function listThreads(
  connection: SqliteConnection,
  tenant: string,
  query: ListQuery,
  queries: WorkerConnection | undefined,
): Promise<readonly NamedHead[]> {
  const fields = [...query.fields, ...(query.status === undefined ? [] : fieldsOf({ status: query.status }))];
  const first = await retryBusy(() => rarestField(connection, tenant, fields));
  const conditions = conditionsOf(tenant, { ...query, fields }, first);
  const where = conditions.map(({ sql }) => sql).join(" AND ");
  const values = [...conditions.flatMap((condition) => condition.values), query.limit + 1];
  const order = (query.reverse ? REVERSE_ORDER : SORT_ORDER)[query.order];
  const pageFrom = (columns: string, tables: string) =>
    `SELECT ${columns} FROM ${tables} WHERE ${where} ORDER BY ${order} LIMIT ?`;
  const columns = `id, ${HEAD_COLUMNS}`;
  // The threads that match a field are sorted first, so all of their columns are read only for the page.
  const sql =
    first === undefined
      ? pageFrom(columns, "threads t")
      : `SELECT ${columns} FROM (${pageFrom("t.key AS found", "thread_fields f CROSS JOIN threads t")})
         CROSS JOIN threads ON key = found ORDER BY ${order}`;
  const rows = await (query.search === ""
    ? retryBusy(() => connection.prepare(sql).all(...values))
    : runLongQuery(connection, queries, sql, values)); // a search reads every payload
  return rows.map(([id, ...columns]) => ({ id: String(id), head: toHead(String(id), columns) }));
}

/** With more threads than this, reading all threads in the order of the list finds a page sooner than sorting the matches. */
const MAX_SORTED = 2000;

/**
 * The field that the fewest threads have, if they are few enough to be sorted. SQLite has no statistics, so it cannot choose
 * by itself between the index of the field and that of the order.
 */
function rarestField(
  connection: SqliteConnection,
  tenant: string,
  fields: readonly ThreadField[],
): ThreadField | undefined {
  const count = connection.prepare(
    `SELECT count(*) FROM (SELECT 1 FROM thread_fields WHERE tenant = ? AND name = ? AND value = ? LIMIT ${MAX_SORTED})`,
  );
  const present = fields.filter(({ value }) => value !== null);
  const counted = present.map((field) => ({ field, threads: Number(count.get(tenant, field.name, field.value)?.[0]) }));
  const [rarest] = counted.sort((a, b) => a.threads - b.threads);
  return rarest !== undefined && rarest.threads < MAX_SORTED ? rarest.field : undefined;
}

/** `first` is the field whose index is read. The others are looked up for each thread. */
function conditionsOf(tenant: string, query: ListQuery, first: ThreadField | undefined): readonly Condition[] {
  const { prefix, order, reverse, status, owner, fields, search, after } = query;
  const others = fields.filter((field) => field !== first);
  return [
    ...(first === undefined ? [] : [isFirst(tenant, first)]),
    { sql: "t.tenant = ? AND t.state IS NULL", values: [tenant] },
    ...(owner === undefined ? [] : [{ sql: "owner = ?", values: [owner] }]),
    ...others.map(hasField),
    ...timesOf(query),
    ...(prefix === "" ? [] : [{ sql: "substr(id, 1, length(?)) = ?", values: [prefix, prefix] }]),
    ...(prefix === "" || order !== "id"
      ? []
      : boundsOf(prefix, after === undefined ? "both" : reverse ? "first" : "end")),
    ...(status === undefined ? [] : [{ sql: `${STATUS} = ?`, values: [status] }]),
    ...(search === "" ? [] : [containsText(search)]),
    ...(after === undefined ? [] : [isAfter(after, order, reverse)]),
  ];
}

function isFirst(tenant: string, { name, value }: ThreadField): Condition {
  return { sql: "f.tenant = ? AND f.name = ? AND f.value = ? AND t.key = f.thread", values: [tenant, name, value] };
}

function hasField({ name, value }: ThreadField): Condition {
  const named = "EXISTS (SELECT 1 FROM thread_fields o WHERE o.thread = t.key AND o.name = ?";
  return value === null
    ? { sql: `NOT ${named})`, values: [name] }
    : { sql: `${named} AND o.value = ?)`, values: [name, value] };
}

function timesOf({ updatedSince, updatedBefore, createdSince, createdBefore }: ListQuery): readonly Condition[] {
  return [
    ...(updatedSince === undefined
      ? []
      : [{ sql: "updated_at >= ? AND update_slot >= ?", values: [updatedSince, slotOf(updatedSince)] }]),
    ...(updatedBefore === undefined
      ? []
      : [{ sql: "updated_at < ? AND update_slot <= ?", values: [updatedBefore, slotOf(updatedBefore)] }]),
    ...(createdSince === undefined ? [] : [{ sql: "created_at >= ?", values: [createdSince] }]),
    ...(createdBefore === undefined ? [] : [{ sql: "created_at < ?", values: [createdBefore] }]),
  ];
}

/** The range of ids in the index. A page after another has one bound already. No byte of UTF-8 is as great as FF. */
function boundsOf(prefix: string, which: "first" | "end" | "both"): readonly Condition[] {
  return [
    ...(which === "end" ? [] : [{ sql: "id >= ?", values: [prefix] }]),
    ...(which === "first" ? [] : [{ sql: "id < ? || CAST(x'FF' AS TEXT)", values: [prefix] }]),
  ];
}

function isAfter({ value, id }: ListPosition, order: ListOrder, reverse: boolean): Condition {
  const [less, greater] = reverse ? [">", "<"] : ["<", ">"];
  if (order === "id") return { sql: `id ${greater} ?`, values: [id] };
  const column = order === "updated" ? "updated_at" : "created_at";
  const sql = `(${column} ${less} ? OR (${column} = ? AND id ${greater} ?))`;
  if (order === "created") return { sql, values: [value, value, id] };
  return { sql: `update_slot ${less}= ? AND ${sql}`, values: [slotOf(value), value, value, id] };
}

/** Whether a long text that a row of the thread refers to contains the search. */
const IN_BLOBS = `EXISTS (
  SELECT 1 FROM blob_uses u JOIN records r ON r.tenant = u.tenant AND r.space = 'blob' AND r.key = u.hash
  WHERE u.tenant = t.tenant AND u.thread = t.id AND u.purpose = 'text' AND instr(lower(r.value), ?) AND EXISTS (
    WITH RECURSIVE part (owner, last) AS (
      SELECT t.key, ${Number.MAX_SAFE_INTEGER}
      UNION ALL SELECT o.origin, o.fork_seq FROM part JOIN threads o ON o.key = part.owner WHERE o.origin IS NOT NULL
    )
    SELECT 1 FROM part CROSS JOIN entries e ON e.thread = part.owner AND e.seq <= part.last
    WHERE substr(${PAYLOAD_TEXT}, 1, 1) = '[' AND instr(${PAYLOAD_TEXT}, u.hash)))`;

function containsText(search: string): Condition {
  const inOwnRows = `EXISTS (SELECT 1 FROM entries e WHERE e.thread = t.key AND instr(lower(${PAYLOAD_TEXT}), ?))`;
  const inSharedRows = `t.origin IS NOT NULL AND EXISTS (
    WITH RECURSIVE part (owner, last) AS (
      SELECT t.origin, t.fork_seq
      UNION ALL SELECT o.origin, o.fork_seq FROM part JOIN threads o ON o.key = part.owner WHERE o.origin IS NOT NULL
    )
    SELECT 1 FROM part CROSS JOIN entries e ON e.thread = part.owner AND e.seq <= part.last AND instr(lower(${PAYLOAD_TEXT}), ?)
  )`;
  const text = asJsonText(search);
  return {
    sql: `(instr(lower(id), ?) OR instr(lower(metadata), ?) OR ${inOwnRows} OR ${inSharedRows} OR ${IN_BLOBS})`,
    values: [search, text, text, text, text],
  };
}
