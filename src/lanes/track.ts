import type { Entry } from "../thread/entry.ts";
import { isPlainObject } from "../thread/json.ts";
import {
  DEFAULT_LANE,
  isMalformedOperation,
  namedLane,
  readBranch,
  replaceBase,
  summaryReach,
  switchTarget,
} from "../thread/lane-operations.ts";
import { settingName } from "./setting.ts";

/** The state of every lane after some number of entries, as 0.1 kept it beside a row. */
export type LaneTrack = {
  readonly active: string;
  /** True after a malformed operation. The state then holds for projector heddle/1 only, which applied it. */
  readonly malformed?: true;
  readonly lanes: { readonly [lane: string]: LaneState };
};

export type LaneState = {
  /** Sum of the measures of the lane's entries. */
  readonly measure: number;
  /** The seq and base of the latest replace. */
  readonly replaceSeq?: number;
  readonly replaceBase?: number;
  /** The seq and reach of the summary that reaches furthest. Absent when a replace has ended it. */
  readonly summarySeq?: number;
  readonly summaryTo?: number;
  /** The lane began as a branch whose origin is not recorded, and no replace has replaced its beginning. */
  readonly branched?: true;
  /** The lane began as a branch. */
  readonly origin?: LaneOrigin;
  /** The newest setting of each name of the thread. It is complete only in the record of the active lane. */
  readonly settings?: SettingSeqs;
  /** The newest setting of each name of this lane. */
  readonly laneSettings?: SettingSeqs;
};

/** The seq of the newest setting of each name. */
export type SettingSeqs = { readonly [name: string]: number };

/** The beginning of a branch: the position that it left, and the state of that lane there. */
export type LaneOrigin = {
  /** The lane whose own entries hold the position. */
  readonly lane: string;
  readonly seq: number;
  /** The measure of that lane at the position, plus that of its own origin. The branch's own measure begins at 0. */
  readonly measure: number;
  /** The seq of the replace that the branch inherits. */
  readonly replaceSeq?: number;
  /** The seq and reach of the summary that the branch inherits. */
  readonly summarySeq?: number;
  readonly summaryTo?: number;
  /**
   * The position was before the beginning of the lane that the branch names, so it was looked up in that lane's origin.
   * Projector heddle/1 does not do that.
   */
  readonly followed?: true;
};

export const NO_LANES: LaneTrack = Object.freeze({ active: DEFAULT_LANE, lanes: Object.freeze({}) });

type TrackedEntry = Pick<Entry, "seq" | "kind" | "payload">;

/** Whether stored data is a track. It may be damaged. */
export function isTrack(value: unknown): value is LaneTrack {
  if (!isPlainObject(value) || typeof value["active"] !== "string" || !isPlainObject(value["lanes"])) return false;
  if (value["malformed"] !== undefined && value["malformed"] !== true) return false;
  return Object.values(value["lanes"]).every(isState);
}

/** Whether stored data is the state of a lane. It may be damaged, and may have fields of later versions. */
export function isState(value: unknown): value is LaneState {
  if (!isPlainObject(value) || !Number.isSafeInteger(value["measure"])) return false;
  if (value["branched"] !== undefined && value["branched"] !== true) return false;
  if (value["origin"] !== undefined && !isOrigin(value["origin"])) return false;
  if (!isSettings(value["settings"]) || !isSettings(value["laneSettings"])) return false;
  return ["replaceSeq", "replaceBase", "summarySeq", "summaryTo"].every(
    (name) => value[name] === undefined || Number.isSafeInteger(value[name]),
  );
}

function isSettings(value: unknown): boolean {
  return value === undefined || (isPlainObject(value) && Object.values(value).every(Number.isSafeInteger));
}

/** Whether stored data is an origin. It may be damaged, and may have fields of later versions. */
function isOrigin(value: unknown): value is LaneOrigin {
  if (!isPlainObject(value) || typeof value["lane"] !== "string") return false;
  if (!Number.isSafeInteger(value["seq"]) || !Number.isSafeInteger(value["measure"])) return false;
  if (value["followed"] !== undefined && value["followed"] !== true) return false;
  return ["replaceSeq", "summarySeq", "summaryTo"].every(
    (name) => value[name] === undefined || Number.isSafeInteger(value[name]),
  );
}

/** The lane an entry names, else the active lane. */
export function laneOf(entry: Pick<Entry, "payload">, track: LaneTrack): string {
  return namedLane(entry) ?? track.active;
}

/** Uses `hasOwn`, because a lane may be named "constructor". */
export function stateOf({ lanes }: LaneTrack, lane: string): LaneState | undefined {
  return Object.hasOwn(lanes, lane) ? lanes[lane] : undefined;
}

/** The track with another measure for one lane. A lane without entries stays absent while its measure is 0. */
export function withMeasure(track: LaneTrack, lane: string, measure: number): LaneTrack {
  const state = stateOf(track, lane);
  if (state === undefined && measure === 0) return track;
  return { ...track, lanes: { ...track.lanes, [lane]: { ...state, measure } } };
}

/** The track after one more entry. Malformed summaries, and operations without valid fields, count as plain entries. */
export function advance(track: LaneTrack, entry: TrackedEntry, measure: number): LaneTrack {
  const lane = laneOf(entry, track);
  const lanes = { ...track.lanes, [lane]: afterEntry(stateOf(track, lane), entry, measure).state };
  const active = switchTarget(entry) ?? track.active;
  const hasMalformed = track.malformed ?? isMalformedOperation(entry, (name) => stateOf(track, name) !== undefined);
  return { active, ...(hasMalformed && { malformed: true }), lanes };
}

/**
 * The state of a lane after one more entry of it, and whether more than its measure has changed. `origin` is that of the
 * branch which the entry begins, if it is known.
 */
export function afterEntry(
  state: LaneState | undefined,
  entry: TrackedEntry,
  measure: number,
  origin?: LaneOrigin,
): { readonly state: LaneState; readonly hasChanged: boolean } {
  const before = state ?? firstState(entry, origin);
  const grown = { ...before, measure: before.measure + measure };
  const after = afterEvent(grown, entry);
  return { state: after, hasChanged: after !== grown };
}

/** Only the first entry of a lane can make it a branch. */
function firstState(entry: TrackedEntry, origin: LaneOrigin | undefined): LaneState {
  if (readBranch(entry) === undefined) return { measure: 0 };
  return origin === undefined ? { measure: 0, branched: true } : { measure: 0, origin };
}

function afterEvent(state: LaneState, entry: TrackedEntry): LaneState {
  const reach = summaryReach(entry);
  if (reach !== undefined) return afterSummary(state, entry.seq, reach);
  const base = replaceBase(entry);
  if (base !== undefined) return afterReplace(state, entry.seq, base);
  const name = settingName(entry);
  return name === undefined ? state : afterSetting(state, entry, name);
}

function afterSetting(state: LaneState, entry: TrackedEntry, name: string): LaneState {
  const level = namedLane(entry) === undefined ? "settings" : "laneSettings";
  return { ...state, [level]: { ...state[level], [name]: entry.seq } };
}

/** The lane that becomes active gets the settings of the thread. The same state when it has them. */
export function withThreadSettings(state: LaneState, settings: SettingSeqs | undefined): LaneState {
  const { settings: before, ...others } = state;
  if (JSON.stringify(before) === JSON.stringify(settings)) return state;
  return { ...others, ...(settings && { settings }) };
}

/** The greatest reach wins. With equal reach, the newest. A summary within a replaced range is ignored. */
function afterSummary(state: LaneState, seq: number, reach: number): LaneState {
  const floor = Math.max(state.summaryTo ?? -1, (state.replaceBase ?? -2) + 1);
  return reach >= floor ? { ...state, summarySeq: seq, summaryTo: reach } : state;
}

function afterReplace(
  { summarySeq, summaryTo, branched: _branched, ...state }: LaneState,
  seq: number,
  baseSeq: number,
): LaneState {
  const replaced = { ...state, replaceSeq: seq, replaceBase: baseSeq };
  const survives = summarySeq !== undefined && summaryTo !== undefined && summaryTo > baseSeq;
  return survives ? { ...replaced, summarySeq, summaryTo } : replaced;
}
