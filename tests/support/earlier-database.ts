import type { EntryInput, JsonObject } from "heddle";
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
  /** Whether a process has left a request on each thread. */
  readonly isRunning?: boolean;
}

/** The metadata of its threads. */
function metadataOf({ isRunning }: Size): JsonObject {
  return isRunning ? { status: "running" } : {};
}

/** The ask of a request that a process of 0.1 has left. */
function askOf(threadId: string): EntryInput {
  const ids = { requestId: `${threadId}-open`, runId: `${threadId}-run` };
  const payload = { contextRef: "default", role: "user", content: "Are you there?", ...ids };
  return { kind: "ai_message", payload, refs: ids };
}

/** Messages of a chat, five to a request. Every thread of 0.1 below has such entries. */
function* chat(threadId: string, { entriesPerThread: count, isRunning }: Size): Iterable<EntryInput> {
  for (let n = 0; n < count; n++) {
    const requestId = `${threadId}-r${Math.floor(n / 5)}`;
    const role = n % 2 === 0 ? "user" : "assistant";
    const content = `Message ${n}: ${"warp and weft make wool. ".repeat(20)}`;
    yield { kind: "message", payload: { role, content }, refs: { requestId } };
  }
  if (isRunning) yield askOf(threadId);
}

/** Writes a SQLite file of schema 1, as 0.1 left it, in one transaction. */
export function writeEarlierFile(path: string, size: Size): void {
  const { threads } = size;
  const metadata = metadataOf(size);
  const connection = findSqlite()(path);
  connection.exec(`PRAGMA journal_mode = wal; PRAGMA synchronous = 0; BEGIN; ${SQLITE_V1}`);
  const entry = connection.prepare(`INSERT INTO entries
    (thread, seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, lane, measure, mark, track)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const thread = connection.prepare(`INSERT INTO threads
    (key, tenant, id, rev, hash, created_at, updated_at, metadata, seal, track, mark)
    VALUES (?, 'default', ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  for (let key = 1; key <= threads; key++) {
    const id = `earlier_${key - 1}`;
    const head = writeEarlierRows(id, chat(id, size), (row) => entry.run(key, ...valuesOf(row)), { metadata });
    const { lanes, mark } = headTexts(head);
    const fields = JSON.stringify(metadata);
    thread.run(key, id, head.rev, head.hash, head.createdAt, head.updatedAt, fields, head.seal, lanes, mark ?? "null");
  }
  connection.exec(
    "PRAGMA user_version = 1; PRAGMA application_id = 1214604396; COMMIT; PRAGMA wal_checkpoint(truncate)",
  );
  connection.close();
}

const BATCH = 5000;

/** Writes the same into a schema of a Postgres database. */
export async function writeEarlierSchema(sql: postgres.Sql, schema: string, size: Size): Promise<void> {
  const { threads } = size;
  const metadata = metadataOf(size);
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
    const head: ThreadHead = writeEarlierRows(id, chat(id, size), (row) => rows.push(row), { metadata });
    for (let from = 0; from < rows.length; from += BATCH) await insert(rows.slice(from, from + BATCH));
    const { lanes, mark } = headTexts(head);
    await sql.unsafe(
      `insert into ${schema}.threads
        (key, tenant, id, rev, hash, created_at, updated_at, metadata, seal, track, mark) overriding system value
        values (${key}, 'default', $1, $2, $3, $4, $5, $9, $6, $7, $8)`,
      [id, head.rev, head.hash, head.createdAt, head.updatedAt, head.seal, lanes, mark, JSON.stringify(metadata)],
    );
  }
  await sql.unsafe(`select setval(pg_get_serial_sequence('${schema}.threads', 'key'), ${threads})`);
}

function valuesOf(row: StoredRow): (string | number | null)[] {
  const { seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, lane, measure, mark, track } = row;
  return [seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, lane, measure, mark, track];
}
