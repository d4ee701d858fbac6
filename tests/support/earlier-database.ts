import type { EntryInput } from "heddle";
import type { ThreadHead } from "heddle/store";
import type postgres from "postgres";
import { V1 as POSTGRES_V1 } from "../../src/stores/postgres/schema/v1.ts";
import { headTexts } from "../../src/stores/row-format.ts";
import { findSqlite } from "../../src/stores/sqlite/connection.ts";
import { V1 as SQLITE_V1 } from "../../src/stores/sqlite/schema/v1.ts";
import type { StoredRow } from "../../src/stores/stored-records.ts";
import { writeEarlierRows } from "./earlier-thread.ts";

/** How large a database of 0.1 is to be. Its threads are named `earlier_0` and so on, and belong to the default tenant. */
interface Size {
  readonly threads: number;
  readonly entriesPerThread: number;
}

/** Messages of a chat, five to a request. Every thread of 0.1 below has such entries. */
function* chat(threadId: string, count: number): Iterable<EntryInput> {
  for (let n = 0; n < count; n++) {
    const requestId = `${threadId}-r${Math.floor(n / 5)}`;
    const role = n % 2 === 0 ? "user" : "assistant";
    const content = `Message ${n}: ${"warp and weft make wool. ".repeat(20)}`;
    yield { kind: "message", payload: { role, content }, refs: { requestId } };
  }
}

/** Writes a SQLite file of schema 1, as 0.1 left it, in one transaction. */
export function writeEarlierFile(path: string, { threads, entriesPerThread }: Size): void {
  const connection = findSqlite()(path);
  connection.exec(`PRAGMA journal_mode = wal; PRAGMA synchronous = 0; BEGIN; ${SQLITE_V1}`);
  const entry = connection.prepare(`INSERT INTO entries
    (thread, seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, lane, measure, mark, track)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const thread = connection.prepare(`INSERT INTO threads
    (key, tenant, id, rev, hash, created_at, updated_at, metadata, seal, track, mark)
    VALUES (?, 'default', ?, ?, ?, ?, ?, '{}', ?, ?, ?)`);
  for (let key = 1; key <= threads; key++) {
    const id = `earlier_${key - 1}`;
    const head = writeEarlierRows(id, chat(id, entriesPerThread), (row) => entry.run(key, ...valuesOf(row)));
    const { lanes, mark } = headTexts(head);
    thread.run(key, id, head.rev, head.hash, head.createdAt, head.updatedAt, head.seal, lanes, mark ?? "null");
  }
  connection.exec(
    "PRAGMA user_version = 1; PRAGMA application_id = 1214604396; COMMIT; PRAGMA wal_checkpoint(truncate)",
  );
  connection.close();
}

const BATCH = 5000;

/** Writes the same into a schema of a Postgres database. */
export async function writeEarlierSchema(
  sql: postgres.Sql,
  schema: string,
  { threads, entriesPerThread }: Size,
): Promise<void> {
  await sql.unsafe(`create schema ${schema}; set search_path to ${schema}; ${POSTGRES_V1}
    create table meta (name text primary key, value text not null); insert into meta values ('version', '1')`);
  for (let key = 1; key <= threads; key++) {
    const id = `earlier_${key - 1}`;
    const rows: object[] = [];
    const insert = async (batch: readonly object[]): Promise<void> => {
      await sql.unsafe(
        `insert into ${schema}.entries (thread, seq, id, at, v, kind, refs, payload, salt, prev, hash, lane, measure, tenant)
          select ${key}, seq, id, at, v, kind, refs, payload, salt, prev, hash, to_json(lane)::text, measure, 'default'
          from json_populate_recordset(null::${schema}.entries, $1::text::json) order by seq`,
        [JSON.stringify(batch)],
      );
    };
    const head: ThreadHead = writeEarlierRows(id, chat(id, entriesPerThread), (row) => rows.push(row));
    for (let from = 0; from < rows.length; from += BATCH) await insert(rows.slice(from, from + BATCH));
    const { lanes, mark } = headTexts(head);
    await sql.unsafe(
      `insert into ${schema}.threads
        (key, tenant, id, rev, hash, created_at, updated_at, metadata, seal, track, mark) overriding system value
        values (${key}, 'default', $1, $2, $3, $4, $5, '{}', $6, $7, $8)`,
      [id, head.rev, head.hash, head.createdAt, head.updatedAt, head.seal, lanes, mark],
    );
  }
  await sql.unsafe(`select setval(pg_get_serial_sequence('${schema}.threads', 'key'), ${threads})`);
}

function valuesOf(row: StoredRow): (string | number | null)[] {
  const { seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, lane, measure, mark, track } = row;
  return [seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, lane, measure, mark, track];
}
