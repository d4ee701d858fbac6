import type postgres from "postgres";
import type { LaneTrack } from "../../lanes/track.ts";
import { freezeJson, type JsonObject } from "../../thread/json.ts";
import type { StoredRow, ThreadHead } from "../driver.ts";
import { CorruptionError } from "../errors.ts";
import type { Query, Sql } from "./connection-pool.ts";

interface Tables {
  readonly threads: postgres.Helper<string>;
  readonly entries: postgres.Helper<string>;
  readonly bigPayloads: postgres.Helper<string>;
  readonly records: postgres.Helper<string>;
  readonly claims: postgres.Helper<string>;
  readonly commands: postgres.Helper<string>;
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
    bigPayloads: sql(`${schema}.big_payloads`),
    records: sql(`${schema}.records`),
    claims: sql(`${schema}.claims`),
    commands: sql(`${schema}.commands`),
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
  readonly track: string;
  readonly mark: string | null;
}

/** For `entries e`. A big payload is read in a subquery per row, so that no query plan reads more payloads than it returns. */
export function entryColumns(scope: Scope): Query {
  return scope.sql`e.seq, e.id, e.at, e.v, e.kind, e.refs, ${payloadOf(scope)} as payload,
    e.salt, e.digest, e.prev, e.hash, e.lane, e.measure, e.mark, e.track`;
}

/** The payload of an entry, from its row or from the table of big payloads. */
export function payloadOf({ sql, tables }: Scope): Query {
  return sql`(case when e.big is null then e.payload
    else (select b.payload from ${tables.bigPayloads} b where b.tenant = e.tenant and b.hash = e.big) end)`;
}

/** With the collation C, `lower` changes only A to Z. */
export function lowerCase({ sql }: Scope, text: Query): Query {
  return sql`lower(${text} collate "C")`;
}

/** For `threads t`. */
export function headColumns({ sql }: Scope): Query {
  return sql`t.rev, t.hash, t.created_at, t.updated_at, t.metadata, t.status, t.seal, t.track, t.mark`;
}

/** `entryColumns` selects a complete row, except that the lane is JSON text. */
export function toRow(threadId: string, columns: StoredRow): StoredRow {
  const { seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, measure, mark, track } = columns;
  const lane = parseColumn<string>(threadId, seq, "lane", columns.lane);
  return { seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, lane, measure, mark, track };
}

export function toHead(threadId: string, columns: HeadColumns): ThreadHead {
  const { rev, hash, created_at: createdAt, updated_at: updatedAt, seal, mark } = columns;
  return {
    rev,
    hash,
    createdAt,
    updatedAt,
    metadata: freezeJson(parseColumn<JsonObject>(threadId, -1, "metadata", columns.metadata)),
    seal,
    track: parseColumn<LaneTrack>(threadId, -1, "track", columns.track),
    mark: mark === null ? null : parseColumn<NonNullable<ThreadHead["mark"]>>(threadId, -1, "mark", mark),
  };
}

export function headValues({ rev, hash, createdAt, updatedAt, metadata, seal, track, mark }: ThreadHead): HeadColumns {
  return {
    rev,
    hash,
    created_at: createdAt,
    updated_at: updatedAt,
    metadata: JSON.stringify(metadata),
    status: typeof metadata["status"] === "string" ? JSON.stringify(metadata["status"]) : null,
    seal,
    track: JSON.stringify(track),
    mark: mark === null ? null : JSON.stringify(mark),
  };
}

/** Rejects only invalid JSON. Hashes, seals and `verify` detect any other damage. */
function parseColumn<Shape>(threadId: string, seq: number, column: string, text: string): Shape {
  try {
    return JSON.parse(text) as Shape;
  } catch (cause) {
    throw new CorruptionError({ threadId, seq, trouble: `its column ${column} is not JSON`, cause });
  }
}
