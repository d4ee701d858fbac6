import { measureOf } from "../lanes/measure.ts";
import { advance, isTrack, type LaneTrack, laneOf, NO_LANES, stateOf, withMeasure } from "../lanes/track.ts";
import type { Sha256 } from "../thread/encoding.ts";
import type { Entry } from "../thread/entry.ts";
import { sameJson } from "../thread/json.ts";
import { DEFAULT_LANE, namedLane, switchTarget } from "../thread/lane-operations.ts";
import { type DraftContent, damagedColumn, EMPTY_TIP, type EncodedDraft, nextFields, type Tip } from "./row-format.ts";
import type { HeadTracks, StoredRow } from "./stored-records.ts";

/** The end of a thread that version 0.1 wrote. */
export type EarlierTip = Tip & HeadTracks;

export const EMPTY_EARLIER_TIP: EarlierTip = { ...EMPTY_TIP, track: NO_LANES, mark: null };

/** The row that version 0.1 wrote for the next draft, and the tip after it. */
export function nextEarlierRow(
  tip: EarlierTip,
  prepared: EncodedDraft<DraftContent>,
  sha256: Sha256,
): { readonly row: StoredRow; readonly tip: EarlierTip } {
  const { entry, stored } = nextFields(tip, prepared, sha256);
  const lane = laneOf(entry, tip.track);
  const before = stateOf(tip.track, lane)?.measure ?? 0;
  const derived = withMeasure(tip.mark?.track ?? NO_LANES, lane, before);
  const follows = sameJson(derived, tip.track);
  const mark = follows ? tip.mark : { seq: tip.rev, track: tip.track };
  const row: StoredRow = {
    ...stored,
    lane,
    measure: before + prepared.measure,
    state: null,
    record: null,
    recordSeq: null,
    checkSum: null,
    mark: mark?.seq ?? null,
    track: follows ? null : JSON.stringify(tip.track),
  };
  const track = advance(tip.track, entry, prepared.measure);
  return { row, tip: { rev: tip.rev + 1, hash: row.hash, track, mark } };
}

/** The state of all lanes before a row of 0.1. `marked` is the row that its `mark` points to. */
function trackBefore(threadId: string, row: StoredRow, marked: StoredRow | undefined): LaneTrack {
  const own = row.measure - measureOf(row.payload ?? "");
  if (row.track === null) {
    const base = marked?.track == null ? NO_LANES : readTrack(threadId, marked, marked.track);
    return withMeasure(base, row.lane, own);
  }
  const track = readTrack(threadId, row, row.track);
  if ((stateOf(track, row.lane)?.measure ?? 0) !== own) throw damagedColumn(threadId, row, "track");
  return track;
}

/** The state of all lanes after a row of version 0.1, whose entry is given. */
export function trackAfter(
  threadId: string,
  row: StoredRow,
  { marked, entry }: { readonly marked: StoredRow | undefined; readonly entry: Entry },
): LaneTrack {
  const before = trackBefore(threadId, row, marked);
  if (laneOf(entry, before) !== row.lane) throw damagedColumn(threadId, row, "lane");
  return advance(before, entry, measureOf(row.payload ?? ""));
}

function readTrack(threadId: string, row: StoredRow, text: string): LaneTrack {
  try {
    const track: unknown = JSON.parse(text);
    if (isTrack(track)) return track;
  } catch {} // damaged either way
  throw damagedColumn(threadId, row, "track");
}

/** Compares each row with the rows that were read before it. Rows of version 0.1 have no checksum of their derived columns. */
export class NeighborCheck {
  readonly #threadId: string;
  readonly #measures = new Map<string, number>();
  #last: StoredRow | undefined;
  #active: string | undefined;
  #isWhole = false;

  constructor(threadId: string) {
    this.#threadId = threadId;
  }

  /** The next row in order, and its entry. */
  push(row: StoredRow, entry: Entry): void {
    if (row.checkSum !== null) {
      this.#last = row;
      return; // no row of version 0.1 may follow
    }
    if (row.seq === 0) {
      this.#active = DEFAULT_LANE;
      this.#isWhole = true;
    }
    this.#check(row, entry);
    this.#last = row;
    this.#active = switchTarget(entry) ?? (namedLane(entry) === undefined ? row.lane : this.#active);
    this.#measures.set(row.lane, row.measure);
  }

  #check(row: StoredRow, entry: Entry): void {
    const last = this.#last;
    if (last !== undefined && last.checkSum !== null) throw damagedColumn(this.#threadId, row, "check_sum");
    if (last !== undefined && row.track === null && row.mark !== last.mark)
      throw damagedColumn(this.#threadId, row, "mark");
    if (namedLane(entry) === undefined && this.#active !== undefined && row.lane !== this.#active)
      throw damagedColumn(this.#threadId, row, "lane");
    if (row.track !== null) this.#checkTrack(row, trackBefore(this.#threadId, row, undefined));
    const before = this.#measures.get(row.lane) ?? (this.#isWhole ? 0 : undefined);
    if (before !== undefined && before + measureOf(row.payload ?? "") !== row.measure)
      throw damagedColumn(this.#threadId, row, "measure");
  }

  #checkTrack(row: StoredRow, track: LaneTrack): void {
    const isComplete = !this.#isWhole || Object.keys(track.lanes).length === this.#measures.size;
    const isEqual = [...this.#measures].every(([lane, measure]) => stateOf(track, lane)?.measure === measure);
    const isActive = this.#active === undefined || this.#active === track.active;
    if (!isComplete || !isEqual || !isActive) throw damagedColumn(this.#threadId, row, "track");
  }
}
