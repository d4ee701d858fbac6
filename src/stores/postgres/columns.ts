import type { LaneTrack } from "../../lanes/track.ts";
import { freezeJson, type JsonObject } from "../../thread/json.ts";
import type { StoredRow, ThreadHead } from "../driver.ts";
import { CorruptionError } from "../errors.ts";
import type { Query } from "./connection/library.ts";
import type { Scope } from "./scope.ts";

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
export function entryColumns({ sql, tables }: Scope): Query {
  return sql`e.seq, e.id, e.at, e.v, e.kind, e.refs,
    case when e.big is null then e.payload
      else (select b.payload from ${tables.bigPayloads} b where b.tenant = e.tenant and b.hash = e.big) end as payload,
    e.salt, e.digest, e.prev, e.hash, e.lane, e.measure, e.mark, e.track`;
}

/** For `threads t`. */
export function headColumns({ sql }: Scope): Query {
  return sql`t.rev, t.hash, t.created_at, t.updated_at, t.metadata, t.status, t.seal, t.track, t.mark`;
}

/** `entryColumns` selects a complete row, except that the lane is JSON text. */
export function toRow(threadId: string, columns: StoredRow): StoredRow {
  const { seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, measure, mark, track } = columns;
  const lane = parse<string>(threadId, seq, "lane", columns.lane);
  return { seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, lane, measure, mark, track };
}

export function toHead(threadId: string, columns: HeadColumns): ThreadHead {
  const { rev, hash, created_at: createdAt, updated_at: updatedAt, seal, mark } = columns;
  return {
    rev,
    hash,
    createdAt,
    updatedAt,
    metadata: freezeJson(parse<JsonObject>(threadId, -1, "metadata", columns.metadata)),
    seal,
    track: parse<LaneTrack>(threadId, -1, "track", columns.track),
    mark: mark === null ? null : parse<NonNullable<ThreadHead["mark"]>>(threadId, -1, "mark", mark),
  };
}

export function fromHead({ rev, hash, createdAt, updatedAt, metadata, seal, track, mark }: ThreadHead): HeadColumns {
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
function parse<Shape>(threadId: string, seq: number, column: string, text: string): Shape {
  try {
    return JSON.parse(text) as Shape;
  } catch (cause) {
    throw new CorruptionError({ threadId, seq, trouble: `its column ${column} is not JSON`, cause });
  }
}
