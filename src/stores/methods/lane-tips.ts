import { type ActiveState, activeState, type LaneTip, tipsOfTrack } from "../../lanes/lane-book.ts";
import type { LaneState, LaneTrack } from "../../lanes/track.ts";
import { trackAfter } from "../earlier-rows.ts";
import {
  checkRow,
  damagedColumn,
  firstChecked,
  isEarlier,
  readLane,
  readRow,
  recordOf,
  stateAfter,
} from "../row-format.ts";
import { storedMeasure } from "../stored-payload.ts";
import type { StoredRow, ThreadHead } from "../stored-records.ts";
import { rowAt, rowsOf, type StoreContext } from "./context.ts";

/** The lanes of a thread directly after one of its rows. */
export interface LaneTips {
  readonly active: ActiveState;
  /** The tips of the lanes that have entries there. */
  readonly tips: ReadonlyMap<string, LaneTip>;
}

interface Place {
  readonly threadId: string;
  readonly head: ThreadHead;
  /** The row after which the lanes are wanted. */
  readonly row: StoredRow;
  /** The rows after it, as far as the caller has them. */
  readonly next: readonly StoredRow[];
}

/** `wanted` returns the lanes to find, given the active one. */
export async function lanesAfter(
  context: StoreContext,
  place: Place,
  wanted: (active: string) => ReadonlySet<string> | "all",
): Promise<LaneTips> {
  const { threadId, head, row } = place;
  if (row.seq < firstChecked(head)) {
    const track = await trackOf(context, threadId, row);
    const names = wanted(track.active);
    const tips = tipsOfTrack(track, row.seq).filter(([lane]) => names === "all" || names.has(lane));
    return { active: activeState(track.active, track.malformed), tips: new Map(tips) };
  }
  const active = stateAfter(threadId, row);
  return { active, tips: await findTips(context, place, wanted(active.active)) };
}

async function findTips(
  context: StoreContext,
  place: Place,
  wanted: ReadonlySet<string> | "all",
): Promise<ReadonlyMap<string, LaneTip>> {
  const { row, next } = place;
  const found = new Map<string, LaneTip>();
  const later = new Map<string, LaneTip>();
  const nextRows = firstRows(next);
  for (const [lane, tip] of await currentTips(context, place, wanted, nextRows)) {
    if (tip.seq <= row.seq) found.set(lane, tip);
    else if (tip.firstSeq <= row.seq) later.set(lane, tip);
  }
  for (const [lane, first] of nextRows) {
    const tip = wanted === "all" || wanted.has(lane) ? await tipBefore(context, place, first) : undefined;
    if (tip !== undefined) found.set(lane, tip);
  }
  if (later.size > 0) for (const [lane, tip] of await searchTips(context, place, later)) found.set(lane, tip);
  return found;
}

/** The first row of each lane. */
function firstRows(rows: readonly StoredRow[]): ReadonlyMap<string, StoredRow> {
  const first = new Map<string, StoredRow>();
  for (const row of rows) if (!first.has(row.lane)) first.set(row.lane, row);
  return first;
}

/** The newest tip of one lane. */
export async function tipOf(
  { driver, ports }: StoreContext,
  { threadId, head: { lanes, rev } }: Pick<Place, "threadId" | "head">,
  lane: string,
): Promise<LaneTip | undefined> {
  if (isEarlier(lanes)) return new Map(tipsOfTrack(lanes.track, rev - 1)).get(lane);
  if (lanes.active === lane) return lanes.tip ?? undefined;
  const [stored] = await driver.lanes(threadId, [lane]);
  return stored && readLane(threadId, stored, ports.sha256)[1];
}

/** The tips at the end of the thread, or later ones if it has grown since. Lanes with rows that are known are left out. */
async function currentTips(
  { driver, ports }: StoreContext,
  { threadId, head: { lanes } }: Place,
  wanted: ReadonlySet<string> | "all",
  known: ReadonlyMap<string, StoredRow>,
): Promise<ReadonlyMap<string, LaneTip>> {
  const names = wanted === "all" ? undefined : [...wanted].filter((lane) => !known.has(lane));
  const stored = names?.length === 0 ? [] : await driver.lanes(threadId, names);
  const tips = new Map(stored.map((lane) => readLane(threadId, lane, ports.sha256)));
  if (!isEarlier(lanes)) {
    tips.delete(lanes.active); // the stored lane of the active one may be old
    if (lanes.tip !== null && (names === undefined || names.includes(lanes.active))) tips.set(lanes.active, lanes.tip);
  }
  for (const lane of known.keys()) tips.delete(lane);
  return tips;
}

/** The tip of a lane before one of its rows; undefined when that row is its first. */
async function tipBefore(context: StoreContext, place: Place, row: StoredRow): Promise<LaneTip | undefined> {
  const { recordSeq, measure, payload } = row;
  if (recordSeq === null) return undefined;
  const { lanes } = place.head;
  const tip = isEarlier(lanes) || lanes.active !== row.lane ? null : lanes.tip;
  const isSame = tip?.recordSeq === recordSeq; // only the measure has grown since
  const record = isSame ? tip.record : await recordAt(context, place, row.lane, recordSeq);
  const own = storedMeasure(payload ?? "");
  return { firstSeq: 0, seq: place.row.seq, recordSeq, record: { ...record, measure: measure - own } };
}

/** Finds lanes that have rows on both sides of the place, by reading backward from there. This is rare. */
async function searchTips(
  context: StoreContext,
  place: Place,
  later: ReadonlyMap<string, LaneTip>,
): Promise<ReadonlyMap<string, LaneTip>> {
  const { threadId, head } = place;
  const found = new Map<string, LaneTip>();
  const checkedFrom = firstChecked(head);
  const from = Math.max(0, checkedFrom - 1);
  for await (const row of rowsBack(context, place, from)) {
    if (row.seq < checkedFrom) {
      for (const [lane, tip] of tipsOfTrack(await trackOf(context, threadId, row), row.seq))
        if (later.has(lane) && !found.has(lane)) found.set(lane, tip);
      break;
    }
    const firstSeq = later.get(row.lane)?.firstSeq;
    if (firstSeq === undefined || found.has(row.lane)) continue;
    const { lane, seq, measure } = row;
    const recordSeq = row.record === null ? row.recordSeq : seq;
    if (recordSeq === null) throw damagedColumn(threadId, row, "record_seq");
    const record = await recordAt(context, place, lane, recordSeq);
    found.set(lane, { firstSeq, seq, recordSeq, record: { ...record, measure } });
    if (found.size === later.size) break;
  }
  return found;
}

/** The row of the place, then those before it. Often the first one is enough. */
async function* rowsBack(context: StoreContext, { threadId, row }: Place, from: number): AsyncIterable<StoredRow> {
  yield row;
  const range = { from, to: row.seq - 1, reverse: true, limit: row.seq - from };
  if (row.seq > from) yield* rowsOf(context, threadId, range);
}

/** The record of a lane after the row `seq`, which has one or is of 0.1. */
async function recordAt(
  context: StoreContext,
  { threadId, head }: Place,
  lane: string,
  seq: number,
): Promise<LaneState> {
  const row = await rowAt(context, threadId, seq);
  if (seq < firstChecked(head)) {
    const tips = new Map(tipsOfTrack(await trackOf(context, threadId, row), seq));
    const record = tips.get(lane)?.record;
    if (record === undefined) throw damagedColumn(threadId, row, "lane");
    return record;
  }
  checkRow(threadId, row, context.ports.sha256);
  if (row.lane !== lane) throw damagedColumn(threadId, row, "lane");
  return recordOf(threadId, row);
}

/** The state of all lanes after a row of 0.1. */
async function trackOf(context: StoreContext, threadId: string, row: StoredRow): Promise<LaneTrack> {
  const { sha256 } = context.ports;
  const entry = readRow(threadId, row, sha256);
  if (row.checkSum !== null) throw damagedColumn(threadId, row, "check_sum");
  const marked = row.mark === null ? undefined : row.mark === row.seq ? row : await rowAt(context, threadId, row.mark);
  if (marked !== undefined) checkRow(threadId, marked, sha256);
  return trackAfter(threadId, row, { marked, entry });
}
