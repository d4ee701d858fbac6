import type postgres from "postgres";
import { freezeJson, type JsonObject } from "../../thread/json.ts";
import { CorruptionError } from "../errors.ts";
import { headTexts, lanesFromTexts } from "../row-format.ts";
import { putBackIds } from "../stored-payload.ts";
import type { StoredLane, StoredRow, ThreadHead } from "../stored-records.ts";
import type { Query, Sql } from "./connection-pool.ts";

interface Tables {
  readonly threads: postgres.Helper<string>;
  readonly entries: postgres.Helper<string>;
  readonly lanes: postgres.Helper<string>;
  readonly threadFields: postgres.Helper<string>;
  readonly bigPayloads: postgres.Helper<string>;
  readonly records: postgres.Helper<string>;
  readonly blobUses: postgres.Helper<string>;
  readonly claims: postgres.Helper<string>;
  readonly commands: postgres.Helper<string>;
  readonly leases: postgres.Helper<string>;
  readonly counters: postgres.Helper<string>;
  readonly runnable: postgres.Helper<string>;
  readonly waiting: postgres.Helper<string>;
  readonly feedItems: postgres.Helper<string>;
  readonly meta: postgres.Helper<string>;
  readonly usage: postgres.Helper<string>;
}

/** The connection, tables and tenant that a statement uses. */
export interface Scope {
  readonly sql: Sql;
  readonly tables: Tables;
  readonly tenant: string;
}

/** For statements that write. */
export interface FencedScope extends Scope {
  /** True only inside the transaction that holds the locks. On a replaced connection it is false, so nothing is written. */
  readonly fence: Query;
}

/** Qualified table names. Behind a pooler, the search_path of a connection may have been set by another client. */
export function tablesIn(schema: string, sql: Sql): Tables {
  return {
    threads: sql(`${schema}.threads`),
    entries: sql(`${schema}.entries`),
    lanes: sql(`${schema}.lanes`),
    threadFields: sql(`${schema}.thread_fields`),
    bigPayloads: sql(`${schema}.big_payloads`),
    records: sql(`${schema}.records`),
    blobUses: sql(`${schema}.blob_uses`),
    claims: sql(`${schema}.claims`),
    commands: sql(`${schema}.commands`),
    leases: sql(`${schema}.leases`),
    counters: sql(`${schema}.counters`),
    runnable: sql(`${schema}.runnable`),
    waiting: sql(`${schema}.waiting`),
    feedItems: sql(`${schema}.feed_items`),
    meta: sql(`${schema}.meta`),
    usage: sql(`${schema}.usage`),
  };
}

/** Whether Postgres can store a text. Names and JSON text always can be stored; a search text may not. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** The columns of `threads` that hold a head. */
export interface HeadColumns {
  readonly rev: number;
  readonly hash: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly metadata: string;
  readonly status: string | null;
  readonly seal: string;
  readonly lanes: string;
  readonly earlier_mark: string | null;
  readonly owner: string | null;
}

/** For `entries e`. A big payload is read in a subquery per row, so that no query plan reads more payloads than it returns. */
export function entryColumns(scope: Scope): Query {
  return scope.sql`e.seq, e.id, e.at, e.v, e.kind, e.refs, ${storedPayload(scope)} as payload,
    e.salt, e.digest, ${prevOf(scope)} as prev, e.hash, e.lane, e.measure, e.state, e.record, e.record_seq, e.check_sum, e.mark, e.track`;
}

/** The hash of the row before. An empty `prev` stands for it, except in a thread's first row. */
function prevOf({ sql, tables }: Scope): Query {
  return sql`(case when e.prev <> '' or e.seq = 0 then e.prev
    else coalesce((select p.hash from ${tables.entries} p where p.thread = e.thread and p.seq = e.seq - 1), '') end)`;
}

/** The whole payload of an entry. When the refs begin with a space, the last two fields of the payload are in them, as in `putBackIds`. */
export function payloadOf(scope: Scope): Query {
  return scope.sql`(case when not starts_with(e.refs, ' ') then ${storedPayload(scope)}
    else left(e.payload, -1) || ',' || substring(e.refs from '"requestId":"[^"]*","runId":"[^"]*"') || '}' end)`;
}

/** The payload of an entry as it is stored, from its row or from the table of big payloads. */
export function storedPayload({ sql, tables }: Scope): Query {
  return sql`(case when e.big is null then e.payload
    else (select b.payload from ${tables.bigPayloads} b where b.tenant = e.tenant and b.hash = e.big) end)`;
}

/** Finds `entries e` by id, in the index of hashes. */
export function hasId({ sql }: Scope, id: Query): Query {
  return sql`hashtextextended(e.id, 0) = hashtextextended(${id} collate "C", 0) and e.id = ${id}`;
}

/** With the collation C, `lower` changes only A to Z. */
export function lowerCase({ sql }: Scope, text: Query): Query {
  return sql`lower(${text} collate "C")`;
}

/** For `threads t`. */
export function headColumns({ sql }: Scope): Query {
  return sql`t.rev, t.hash, t.created_at, t.updated_at, t.metadata, t.status, t.seal, t.lanes, t.earlier_mark,
    t.owner`;
}

/** The columns that `entryColumns` selects. The lane is JSON text. */
export interface EntryColumns extends Omit<StoredRow, "recordSeq" | "checkSum"> {
  readonly record_seq: number | null;
  readonly check_sum: string | null;
}

export function toRow(threadId: string, columns: EntryColumns): StoredRow {
  const { seq, id, at, v, kind, salt, digest, prev, hash, measure } = columns;
  const { state, record, record_seq: recordSeq, check_sum: checkSum, mark, track } = columns;
  const lane = parseColumn<string>(threadId, seq, "lane", columns.lane);
  const fields = { seq, id, at, v, kind, ...putBackIds(columns), salt, digest, prev, hash };
  return { ...fields, lane, measure, state, record, recordSeq, checkSum, mark, track };
}

/** The columns of a StoredLane. The lane is JSON text. */
export interface LaneColumns {
  readonly lane: string;
  readonly first_seq: number;
  readonly seq: number;
  readonly record_seq: number;
  readonly record: string;
  readonly check_sum: string;
}

/** For `lanes l`. */
export function laneColumns({ sql }: Scope): Query {
  return sql`l.lane, l.first_seq, l.seq, l.record_seq, l.record, l.check_sum`;
}

export function toLane(threadId: string, columns: LaneColumns): StoredLane {
  const { first_seq: firstSeq, seq, record_seq: recordSeq, record, check_sum: checkSum } = columns;
  return { lane: parseColumn<string>(threadId, -1, "lane", columns.lane), firstSeq, seq, recordSeq, record, checkSum };
}

export function toHead(threadId: string, columns: HeadColumns): ThreadHead {
  const { rev, hash, created_at: createdAt, updated_at: updatedAt, seal, earlier_mark: mark, owner } = columns;
  return {
    rev,
    hash,
    createdAt,
    updatedAt,
    metadata: freezeJson(parseColumn<JsonObject>(threadId, -1, "metadata", columns.metadata)),
    owner,
    seal,
    lanes: parsing(threadId, -1, "lanes", () => lanesFromTexts(columns.lanes, mark)),
  };
}

export function headValues(head: ThreadHead): HeadColumns {
  const { rev, hash, createdAt, updatedAt, metadata: fields, seal, owner } = head;
  const { metadata, lanes, mark } = headTexts(head);
  return {
    rev,
    hash,
    created_at: createdAt,
    updated_at: updatedAt,
    metadata,
    status: typeof fields["status"] === "string" ? JSON.stringify(fields["status"]) : null,
    seal,
    lanes,
    earlier_mark: mark,
    owner,
  };
}

/** Rejects only invalid JSON. Hashes, seals and `verify` detect any other damage. */
function parseColumn<Shape>(threadId: string, seq: number, column: string, text: string): Shape {
  return parsing(threadId, seq, column, () => JSON.parse(text) as Shape);
}

function parsing<Shape>(threadId: string, seq: number, column: string, parse: () => Shape): Shape {
  try {
    return parse();
  } catch (cause) {
    throw new CorruptionError({ threadId, seq, trouble: `its column ${column} is not JSON`, cause });
  }
}
