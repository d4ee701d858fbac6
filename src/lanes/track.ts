import type { Entry } from "../thread/entry.ts";
import { isPlainObject } from "../thread/json.ts";

/** The lane of entries that name none, until the first switch. */
const DEFAULT_LANE = "default";

/** What is known of every lane after some number of entries; JSON, so that a store can keep it beside a row. */
export type LaneTrack = {
  readonly active: string;
  readonly lanes: { readonly [lane: string]: LaneState };
};

export type LaneState = {
  /** Sum of the measures of the lane's entries. */
  readonly measure: number;
  /** Seq and base of the latest replace. */
  readonly replaceSeq?: number;
  readonly replaceBase?: number;
  /** Seq and reach of the summary that covers most and still counts. */
  readonly summarySeq?: number;
  readonly summaryTo?: number;
};

export const NO_LANES: LaneTrack = Object.freeze({ active: DEFAULT_LANE, lanes: Object.freeze({}) });

type Tracked = Pick<Entry, "seq" | "kind" | "payload">;

/** Whether what a store gives back is a track: damage may have made anything of it. */
export function isTrack(value: unknown): value is LaneTrack {
  if (!isPlainObject(value) || typeof value["active"] !== "string" || !isPlainObject(value["lanes"])) return false;
  return Object.values(value["lanes"]).every(isState);
}

function isState(value: unknown): boolean {
  if (!isPlainObject(value) || !Number.isSafeInteger(value["measure"])) return false;
  return ["replaceSeq", "replaceBase", "summarySeq", "summaryTo"].every(
    (name) => value[name] === undefined || isSeq(value[name]),
  );
}

/** The lane an entry names, else the one active at its place. */
export function laneOf({ payload }: Pick<Entry, "payload">, track: LaneTrack): string {
  const named = payload["contextRef"];
  return typeof named === "string" && named !== "" ? named : track.active;
}

/** Lanes are named by users, and "constructor" is a name too. */
export function stateOf({ lanes }: LaneTrack, lane: string): LaneState | undefined {
  return Object.hasOwn(lanes, lane) ? lanes[lane] : undefined;
}

/** The track with another measure for one lane; a lane that nothing was written to stays unknown. */
export function withMeasure(track: LaneTrack, lane: string, measure: number): LaneTrack {
  const state = stateOf(track, lane);
  if (state === undefined && measure === 0) return track;
  return { ...track, lanes: { ...track.lanes, [lane]: { ...state, measure } } };
}

/** The track after one more entry. Malformed summaries and operations count as plain entries: the log takes anything. */
export function advance(track: LaneTrack, entry: Tracked, measure: number): LaneTrack {
  const lane = laneOf(entry, track);
  const before = stateOf(track, lane) ?? { measure: 0 };
  const grown = { ...before, measure: before.measure + measure };
  const lanes = { ...track.lanes, [lane]: afterEvent(grown, entry) };
  return { active: activeAfter(entry, track.active), lanes };
}

function activeAfter({ kind, payload }: Tracked, active: string): string {
  if (kind !== "ai_context_operation" || !isPlainObject(payload["operation"])) return active;
  const target = payload["contextRef"];
  return payload["operation"]["type"] === "switch" && typeof target === "string" && target !== "" ? target : active;
}

function afterEvent(state: LaneState, { seq, kind, payload }: Tracked): LaneState {
  if (kind === "summary") return afterSummary(state, seq, payload["toSeq"]);
  if (kind !== "ai_context_operation" || !isPlainObject(payload["operation"])) return state;
  const { type, baseSeq = seq } = payload["operation"];
  return type === "replace" && isSeq(baseSeq) ? afterReplace(state, seq, baseSeq) : state;
}

/** The greatest reach wins, then the newest; what a replace has superseded never counts. */
function afterSummary(state: LaneState, seq: number, toSeq: unknown): LaneState {
  if (!isSeq(toSeq)) return state;
  const reach = Math.min(toSeq, seq);
  const floor = Math.max(state.summaryTo ?? -1, (state.replaceBase ?? -2) + 1);
  return reach >= floor ? { ...state, summarySeq: seq, summaryTo: reach } : state;
}

function afterReplace({ summarySeq, summaryTo, ...state }: LaneState, seq: number, baseSeq: number): LaneState {
  const replaced = { ...state, replaceSeq: seq, replaceBase: Math.min(baseSeq, seq) };
  const survives = summarySeq !== undefined && summaryTo !== undefined && summaryTo > replaced.replaceBase;
  return survives ? { ...replaced, summarySeq, summaryTo } : replaced;
}

function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
