import type { LaneTrack } from "../../lanes/track.ts";
import { freezeJson, type JsonObject } from "../../thread/json.ts";
import type { StoredRow, ThreadHead } from "../driver.ts";
import { CorruptionError } from "../errors.ts";
import type { SqlValue } from "./connection/connection.ts";

type Columns = readonly SqlValue[];

/** Big ones lie in a table of their own. */
export const PAYLOAD = "coalesce(e.payload, (SELECT b.payload FROM big_payloads b WHERE b.key = e.big))";

/** The columns of a StoredRow in the order `toRow` reads them. */
export const ROW_COLUMNS =
  `e.seq, e.id, e.at, e.v, e.kind, e.refs, ${PAYLOAD}, ` +
  "e.salt, e.digest, e.prev, e.hash, e.lane, e.measure, e.mark, e.track";

/** STRICT tables keep each column's type, so what comes back is what went in. */
export function toRow(columns: Columns): StoredRow {
  const [seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, lane, measure, mark, track] = columns;
  return { seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, lane, measure, mark, track } as StoredRow;
}

/** The values of a row in the order of INSERT; a big payload is referred to by its key. */
export function rowValues(row: StoredRow, big: number | null): SqlValue[] {
  const payload = big === null ? row.payload : null;
  const { seq, id, at, v, kind, refs, salt, digest, prev, hash, lane, measure, mark, track } = row;
  return [seq, id, at, v, kind, refs, payload, big, salt, digest, prev, hash, lane, measure, mark, track];
}

export const HEAD_COLUMNS = "rev, hash, created_at, updated_at, metadata, seal, track, mark";

export function toHead(threadId: string, columns: Columns): ThreadHead {
  const [rev, hash, createdAt, updatedAt, metadata, seal, track, mark] = columns;
  try {
    return {
      ...({ rev, hash, createdAt, updatedAt, seal } as Pick<
        ThreadHead,
        "rev" | "hash" | "createdAt" | "updatedAt" | "seal"
      >),
      // whoever builds on any of this checks the seal first, which vouches for all of it
      metadata: freezeJson(JSON.parse(String(metadata)) as JsonObject),
      track: JSON.parse(String(track)) as LaneTrack,
      mark: JSON.parse(String(mark)) as ThreadHead["mark"],
    };
  } catch (cause) {
    throw new CorruptionError({ threadId, seq: -1, trouble: "its record is not JSON", cause });
  }
}

export function headValues({ rev, hash, createdAt, updatedAt, metadata, seal, track, mark }: ThreadHead): SqlValue[] {
  return [rev, hash, createdAt, updatedAt, JSON.stringify(metadata), seal, JSON.stringify(track), JSON.stringify(mark)];
}
