import type { LaneTrack } from "../../lanes/track.ts";
import { freezeJson, type JsonObject } from "../../thread/json.ts";
import type { StoredRow, ThreadHead } from "../driver.ts";
import { CorruptionError } from "../errors.ts";
import type { SqlValue } from "./connection/connection.ts";

type Columns = readonly SqlValue[];

/** The payload of an entry, from its row or from the table of big payloads. */
export const PAYLOAD = "coalesce(e.payload, (SELECT b.payload FROM big_payloads b WHERE b.key = e.big))";

/** The columns of a StoredRow, in the order in which `toRow` reads them. */
export const ROW_COLUMNS =
  `e.seq, e.id, e.at, e.v, e.kind, e.refs, ${PAYLOAD}, ` +
  "e.salt, e.digest, e.prev, e.hash, e.lane, e.measure, e.mark, e.track";

/** STRICT tables keep the type of each column, so the cast is safe. */
export function toRow(columns: Columns): StoredRow {
  const [seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, lane, measure, mark, track] = columns;
  return { seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, lane, measure, mark, track } as StoredRow;
}

/** The values of a row, in the order of the INSERT. `big` is the key of a big payload. */
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
      // The casts are safe: callers check the seal, which covers all these fields.
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
