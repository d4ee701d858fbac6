import { type ActiveState, LaneBook, readActiveState, readRecord } from "../../lanes/lane-book.ts";
import type { LaneOrigin, LaneTrack } from "../../lanes/track.ts";
import type { Sha256 } from "../../thread/encoding.ts";
import { sameJson } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import { headLanes } from "../decide/append.ts";
import { type EarlierTip, EMPTY_EARLIER_TIP, nextEarlierRow } from "../earlier-rows.ts";
import { CorruptionError, threadNotFound } from "../errors.ts";
import { checkOptions } from "../options.ts";
import type { ThreadStore, VerifyOptions, VerifyReport } from "../port.ts";
import {
  ANY_TEXTS,
  type BlobTexts,
  checkHead,
  type DraftContent,
  EMPTY_TIP,
  type EncodedDraft,
  encodeEntry,
  firstChecked,
  isEarlier,
  nextRow,
  parseRow,
  readLane,
  type Tip,
} from "../row-format.ts";
import type { HeadLanes, HeadTracks, StoredLane, StoredRow, ThreadField, ThreadHead } from "../stored-records.ts";
import { areSumsOf, NO_SUMS, sumsAfter, sumsOf } from "../sums.ts";
import { fieldsOf } from "../thread-fields.ts";
import { findOrigin, storedStateAt } from "./branch-origins.ts";
import { readablePagesOf, type StoreContext, withConsistentHead } from "./context.ts";

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
  let check = new ThreadCheck(threadId, ports.sha256);
  try {
    return await withConsistentHead(context, threadId, async (head) => {
      if (head === undefined) throw threadNotFound(threadId);
      check = new ThreadCheck(threadId, ports.sha256);
      onProgress?.(0);
      const range = { from: 0, to: head.rev - 1, limit: head.rev };
      for await (const { rows, blobs } of readablePagesOf(context, threadId, range)) {
        for (const row of rows) {
          check.push(row, blobs, await originOf(context, { threadId, head, row, check }));
          if (check.tip.rev % PROGRESS_INTERVAL === 0) onProgress?.(check.tip.rev);
        }
      }
      check.checkHead(head);
      checkHead(threadId, head, ports.sha256);
      await checkEnd(context, threadId, head.rev);
      check.checkLanes(head, await driver.lanes(threadId));
      checkFields(threadId, head, await driver.fields?.(threadId));
      const damage = await driver.inspect?.(threadId);
      if (damage !== undefined) throw new CorruptionError({ threadId, seq: -1, trouble: damage });
      return { threadId, ok: true, entries: check.tip.rev, hash: check.tip.hash };
    });
  } catch (error) {
    if (!CorruptionError.isInstance(error)) throw error;
    const { rev: entries, hash } = check.tip;
    return { threadId, ok: false, entries, hash, bad: { seq: error.seq, reason: error.message } };
  }
}

/** No row lies behind the end of the thread. Appends that were committed meanwhile move the end. */
async function checkEnd({ driver }: Pick<StoreContext, "driver">, threadId: string, end: number): Promise<void> {
  const [row] = await driver.rows(threadId, { from: end, to: Number.MAX_SAFE_INTEGER, limit: 1 });
  if (row === undefined) return;
  const now = await driver.head(threadId);
  if (now === undefined) return; // it was deleted meanwhile
  if (now.rev > end) return checkEnd({ driver }, threadId, now.rev);
  throw new CorruptionError({ threadId, seq: row.seq, trouble: "it lies behind the end of the thread" });
}

interface CheckedRow {
  readonly threadId: string;
  readonly head: ThreadHead;
  readonly row: StoredRow;
  readonly check: ThreadCheck;
}

/**
 * The origin of the branch that a row begins, from the rows before it, which are checked already. Undefined when the row has
 * a record without an origin, as earlier versions wrote it.
 */
async function originOf(
  context: StoreContext,
  { threadId, head, row, check }: CheckedRow,
): Promise<LaneOrigin | undefined> {
  if (row.record === null || row.recordSeq !== null || readRecord(row.record)?.branched) return undefined;
  const book = check.bookAt(row);
  const branch = book.branchOf(parseRow(threadId, row, ANY_TEXTS));
  if (branch === undefined) return undefined;
  return findOrigin(branch, {
    since: firstChecked(head),
    tipOf: async (lane) => book.tip(lane),
    stateAt: (lane, seq) => storedStateAt(context, threadId, head, lane, seq),
  });
}

/** Computes the rows of a thread one by one, and compares them with the stored ones. */
class ThreadCheck {
  tip: Tip = EMPTY_TIP;
  readonly #threadId: string;
  readonly #sha256: Sha256;
  /** The seq of the first row with a checksum. */
  #checkedFrom: number | undefined;
  /** Only for rows of 0.1. */
  #earlier: EarlierTip = EMPTY_EARLIER_TIP;
  /** From the first row with a checksum on. */
  #book: LaneBook | undefined;
  #sums = NO_SUMS;

  constructor(threadId: string, sha256: Sha256) {
    this.#threadId = threadId;
    this.#sha256 = sha256;
  }

  push(row: StoredRow, blobs: BlobTexts, origin: LaneOrigin | undefined): void {
    const { rev } = this.tip;
    if (row.seq !== rev) throw this.#corrupt(rev, "it is missing");
    const { id, at, v, kind, payload, refs } = parseRow(this.#threadId, row, blobs);
    this.#sums = sumsAfter(this.#sums, { seq: rev, kind, payload });
    const prepared = encodeEntry({ id, at, v, kind, payload, refs }, row, this.#sha256);
    if (row.checkSum !== null) this.#checkedFrom ??= rev;
    if (this.#checkedFrom === undefined) {
      this.#earlier = this.#pushEarlier(row, prepared);
      this.tip = this.#earlier;
      return;
    }
    const expected = nextRow(this.tip, this.bookAt(row), prepared, this.#sha256, origin);
    this.#compare(expected.row, row);
    this.tip = expected.tip;
  }

  /** The lanes before the next row to check, which has a checksum. */
  bookAt(row: StoredRow): LaneBook {
    this.#book ??= this.#openBook(row);
    return this.#book;
  }

  #pushEarlier(row: StoredRow, prepared: EncodedDraft<DraftContent>): EarlierTip {
    const expected = nextEarlierRow(this.#earlier, prepared, this.#sha256);
    if (differingColumn(expected.row, row) === undefined) return expected.tip;
    const unmarked = nextEarlierRow(withoutMalformed(this.#earlier), prepared, this.#sha256);
    if (differingColumn(unmarked.row, row) === undefined) return unmarked.tip;
    this.#compare(expected.row, row);
    return expected.tip;
  }

  #compare(expected: StoredRow, row: StoredRow): void {
    const wrong = differingColumn(expected, row);
    if (wrong !== undefined) throw this.#corrupt(row.seq, `its column ${wrong} is not what was written`);
  }

  /** The end of the rows of version 0.1. The last of them may be a malformed operation that it did not record. */
  #openBook(row: StoredRow | undefined, state?: ActiveState): LaneBook {
    const { track } = this.#earlier;
    const after = row === undefined ? state : readActiveState(row.state, row.lane);
    const isMarked = track.malformed !== true || after?.malformed === true;
    return LaneBook.fromTrack(isMarked ? track : withoutMalformed(this.#earlier).track, this.tip.rev - 1);
  }

  checkHead({ rev, hash, lanes }: ThreadHead): void {
    if (this.tip.rev !== rev) throw this.#corrupt(this.tip.rev, "it is missing");
    const isEqual = hash === this.tip.hash && (isEarlier(lanes) ? this.#isEarlierEnd(lanes) : this.#isEnd(lanes));
    if (!isEqual) throw this.#corrupt(-1, "the thread's record does not agree with its last entry");
    const sums = sumsOf({ rev, lanes });
    const areRight = sums === undefined ? this.#checkedFrom !== 0 : areSumsOf(sums, this.#sums);
    if (!areRight) throw this.#corrupt(-1, "the sums in the thread's record do not agree with its entries");
  }

  #isEarlierEnd(lanes: HeadTracks): boolean {
    return [this.#earlier, withoutMalformed(this.#earlier)].some(
      ({ track, mark }) => sameJson(track, lanes.track) && sameJson(mark, lanes.mark),
    );
  }

  #isEnd(lanes: HeadLanes): boolean {
    this.#book ??= this.#openBook(undefined, lanes);
    return (
      lanes.since === (this.#checkedFrom ?? this.tip.rev) &&
      sameJson(headLanes(this.#book, lanes.since, lanes.sums), lanes)
    );
  }

  /** Compares all lanes. The stored lane of the active one may be old. */
  checkLanes({ lanes }: ThreadHead, stored: readonly StoredLane[]): void {
    const tips = new Map(stored.map((lane) => readLane(this.#threadId, lane, this.#sha256)));
    if (isEarlier(lanes)) {
      if (tips.size > 0) throw this.#corrupt(-1, "it has records of lanes that were not written");
      return;
    }
    const book = this.#book;
    const names = new Set([...tips.keys(), ...(book?.lanes ?? [])]);
    names.delete(lanes.active);
    for (const lane of names) {
      const [tip, written] = [tips.get(lane), book?.tip(lane)];
      if (tip === undefined || written === undefined || !sameJson(tip, written))
        throw this.#corrupt(-1, `the record of its lane ${JSON.stringify(lane)} does not agree with its entries`);
    }
  }

  #corrupt(seq: number, trouble: string): CorruptionError {
    return new CorruptionError({ threadId: this.#threadId, seq, trouble });
  }
}

function checkFields(threadId: string, { metadata }: ThreadHead, stored: readonly ThreadField[] | undefined): void {
  const texts = (fields: readonly ThreadField[]) =>
    fields.map(({ name, value }) => JSON.stringify([name, value])).sort();
  if (stored === undefined || sameJson(texts(stored), texts(fieldsOf(metadata)))) return;
  throw new CorruptionError({ threadId, seq: -1, trouble: "its fields for lists do not agree with its metadata" });
}

function differingColumn(a: StoredRow, b: StoredRow): keyof StoredRow | undefined {
  const columns = Object.keys(a) as (keyof StoredRow)[]; // Object.keys of a StoredRow
  return columns.find((column) => a[column] !== b[column]);
}

/** The tip as the first versions of the library wrote it: they did not record malformed operations. */
function withoutMalformed({ track, mark, ...tip }: EarlierTip): EarlierTip {
  const unmarked = ({ active, lanes }: LaneTrack): LaneTrack => ({ active, lanes });
  return { ...tip, track: unmarked(track), mark: mark && { ...mark, track: unmarked(mark.track) } };
}
