import type { LaneTrack } from "../../lanes/track.ts";
import { sameJson } from "../../thread/json.ts";
import { checkName } from "../../thread/names.ts";
import type { Sha256 } from "../../thread/sha256.ts";
import type { StoredRow, ThreadHead } from "../driver.ts";
import { CorruptionError, threadNotFound } from "../errors.ts";
import { checkHead } from "../format/head.ts";
import { NO_TIP, nextRow, parseRow, prepare, type Tip } from "../format/row.ts";
import type { VerifyOptions, VerifyReport } from "../port.ts";
import type { StoreContext } from "./context.ts";
import { rowsOf } from "./read.ts";
import { steadily } from "./steadily.ts";

const PROGRESS_INTERVAL = 1000;

/**
 * Computes every row from the content of the entries and compares all columns with the stored ones. Then checks the
 * thread's head against the last row, and the storage below the rows.
 */
export async function verify(
  context: StoreContext,
  threadId: string,
  { onProgress }: VerifyOptions = {},
): Promise<VerifyReport> {
  const { driver, ports } = context;
  checkName("threadId", threadId);
  let tip: Tip = NO_TIP;
  try {
    return await steadily(context, threadId, async (head) => {
      if (head === undefined) throw threadNotFound(threadId);
      tip = NO_TIP;
      onProgress?.(0);
      for await (const row of rowsOf(context, threadId, { from: 0, to: head.rev - 1, limit: head.rev })) {
        tip = checkRow(threadId, tip, row, ports.sha256);
        if (tip.rev % PROGRESS_INTERVAL === 0) onProgress?.(tip.rev);
      }
      checkEnd(threadId, tip, head);
      checkHead(threadId, head, ports.sha256);
      const trouble = await driver.inspect?.(threadId);
      if (trouble !== undefined) throw new CorruptionError({ threadId, seq: -1, trouble });
      return { threadId, ok: true, entries: tip.rev, hash: tip.hash };
    });
  } catch (error) {
    if (!CorruptionError.isInstance(error)) throw error;
    return { threadId, ok: false, entries: tip.rev, hash: tip.hash, bad: { seq: error.seq, reason: error.message } };
  }
}

function checkRow(threadId: string, tip: Tip, row: StoredRow, sha256: Sha256): Tip {
  if (row.seq !== tip.rev) throw bad(threadId, tip.rev, "it is missing");
  const entry = parseRow(threadId, row);
  const { id, at, v, kind, payload, refs } = entry;
  const prepared = prepare({ id, at, v, kind, payload, refs }, row.salt, sha256);
  const expected = nextRow(tip, prepared, sha256);
  const wrong = differing(expected.row, row);
  if (wrong === undefined) return expected.tip;
  const unmarked = nextRow(withoutMalformed(tip), prepared, sha256);
  if (differing(unmarked.row, row) === undefined) return unmarked.tip;
  throw bad(threadId, row.seq, `its column ${wrong} is not what was written`);
}

function differing(a: StoredRow, b: StoredRow): keyof StoredRow | undefined {
  const columns = Object.keys(a) as (keyof StoredRow)[]; // Object.keys of a StoredRow
  return columns.find((column) => a[column] !== b[column]);
}

/** The tip as earlier versions of the library wrote it: they did not record malformed operations. */
function withoutMalformed({ track, mark, ...tip }: Tip): Tip {
  const unmarked = ({ active, lanes }: LaneTrack): LaneTrack => ({ active, lanes });
  return { ...tip, track: unmarked(track), mark: mark && { ...mark, track: unmarked(mark.track) } };
}

function checkEnd(threadId: string, tip: Tip, head: ThreadHead): void {
  if (tip.rev !== head.rev) throw bad(threadId, tip.rev, "it is missing");
  const agrees = ({ hash, track, mark }: Tip): boolean =>
    hash === head.hash && sameJson(track, head.track) && sameJson(mark, head.mark);
  if (!agrees(tip) && !agrees(withoutMalformed(tip)))
    throw bad(threadId, -1, "the thread's record does not agree with its last entry");
}

function bad(threadId: string, seq: number, trouble: string): CorruptionError {
  return new CorruptionError({ threadId, seq, trouble });
}
