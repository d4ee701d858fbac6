import type { LaneTrack } from "../../lanes/track.ts";
import { sameJson } from "../../thread/json.ts";
import { checkName } from "../../thread/names.ts";
import type { Sha256 } from "../../thread/sha256.ts";
import type { StoredRow, ThreadHead } from "../driver.ts";
import { CorruptionError, threadNotFound } from "../errors.ts";
import { checkOptions } from "../options.ts";
import type { ThreadStore, VerifyOptions, VerifyReport } from "../port.ts";
import { checkHead, EMPTY_TIP, encodeDraft, nextRow, parseRow, type Tip } from "../row-format.ts";
import { rowsOf, type StoreContext, withConsistentHead } from "./context.ts";

const PROGRESS_INTERVAL = 1000;

/** `verify`: the check of a whole thread. */
export function verifyMethods(context: StoreContext): Pick<ThreadStore, "verify"> {
  return {
    async verify(threadId, options = {}) {
      const copy = checkOptions(options, ["onProgress", "signal"]);
      context.checkOpen();
      checkName("threadId", threadId);
      return verifyThread(context.withSignal(copy.signal), threadId, copy);
    },
  };
}

/**
 * Computes every row from the content of the entries and compares all columns with the stored ones. Then checks the
 * thread's head against the last row, and the storage below the rows.
 */
async function verifyThread(
  context: StoreContext,
  threadId: string,
  { onProgress }: VerifyOptions,
): Promise<VerifyReport> {
  const { driver, ports } = context;
  let tip: Tip = EMPTY_TIP;
  try {
    return await withConsistentHead(context, threadId, async (head) => {
      if (head === undefined) throw threadNotFound(threadId);
      tip = EMPTY_TIP;
      onProgress?.(0);
      for await (const row of rowsOf(context, threadId, { from: 0, to: head.rev - 1, limit: head.rev })) {
        tip = checkRow(threadId, tip, row, ports.sha256);
        if (tip.rev % PROGRESS_INTERVAL === 0) onProgress?.(tip.rev);
      }
      checkEnd(threadId, tip, head);
      checkHead(threadId, head, ports.sha256);
      const damage = await driver.inspect?.(threadId);
      if (damage !== undefined) throw new CorruptionError({ threadId, seq: -1, trouble: damage });
      return { threadId, ok: true, entries: tip.rev, hash: tip.hash };
    });
  } catch (error) {
    if (!CorruptionError.isInstance(error)) throw error;
    return { threadId, ok: false, entries: tip.rev, hash: tip.hash, bad: { seq: error.seq, reason: error.message } };
  }
}

function checkRow(threadId: string, tip: Tip, row: StoredRow, sha256: Sha256): Tip {
  if (row.seq !== tip.rev) throw corruptRow(threadId, tip.rev, "it is missing");
  const entry = parseRow(threadId, row);
  const { id, at, v, kind, payload, refs } = entry;
  const prepared = encodeDraft({ id, at, v, kind, payload, refs }, row.salt, sha256);
  const expected = nextRow(tip, prepared, sha256);
  const wrong = differingColumn(expected.row, row);
  if (wrong === undefined) return expected.tip;
  const unmarked = nextRow(withoutMalformed(tip), prepared, sha256);
  if (differingColumn(unmarked.row, row) === undefined) return unmarked.tip;
  throw corruptRow(threadId, row.seq, `its column ${wrong} is not what was written`);
}

function differingColumn(a: StoredRow, b: StoredRow): keyof StoredRow | undefined {
  const columns = Object.keys(a) as (keyof StoredRow)[]; // Object.keys of a StoredRow
  return columns.find((column) => a[column] !== b[column]);
}

/** The tip as earlier versions of the library wrote it: they did not record malformed operations. */
function withoutMalformed({ track, mark, ...tip }: Tip): Tip {
  const unmarked = ({ active, lanes }: LaneTrack): LaneTrack => ({ active, lanes });
  return { ...tip, track: unmarked(track), mark: mark && { ...mark, track: unmarked(mark.track) } };
}

function checkEnd(threadId: string, tip: Tip, head: ThreadHead): void {
  if (tip.rev !== head.rev) throw corruptRow(threadId, tip.rev, "it is missing");
  const isEqual = ({ hash, track, mark }: Tip): boolean =>
    hash === head.hash && sameJson(track, head.track) && sameJson(mark, head.mark);
  if (!isEqual(tip) && !isEqual(withoutMalformed(tip)))
    throw corruptRow(threadId, -1, "the thread's record does not agree with its last entry");
}

function corruptRow(threadId: string, seq: number, trouble: string): CorruptionError {
  return new CorruptionError({ threadId, seq, trouble });
}
