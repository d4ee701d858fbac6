import type { Entry } from "../thread/entry.ts";
import { isPlainObject } from "../thread/json.ts";
import {
  type Branch,
  DEFAULT_LANE,
  isMalformedOperation,
  namedLane,
  readBranch,
  switchTarget,
} from "../thread/lane-operations.ts";
import { afterEntry, isState, type LaneOrigin, type LaneState, type LaneTrack, withThreadSettings } from "./track.ts";

/** A lane after its last entry. It is JSON, so that a store can keep it. */
export type LaneTip = {
  /** The seq of its first entry. 0 when it is unknown, because the entry was written by 0.1. */
  readonly firstSeq: number;
  /** The seq of its last entry, or a later one when that entry was written by 0.1. */
  readonly seq: number;
  /** The seq of its last row with a record, or of the last row of 0.1. */
  readonly recordSeq: number;
  readonly record: LaneState;
};

/** The state of a thread that belongs to no lane. */
export type ActiveState = {
  readonly active: string;
  /** True after a malformed operation. The state then holds for projector heddle/1 only, which applied it. */
  readonly malformed?: true;
};

/** The effect of one entry on the lanes. A store keeps it beside the row. */
export interface LaneChange {
  readonly lane: string;
  /** The lane's measure after the entry. */
  readonly measure: number;
  /** JSON of an ActiveState after the entry. Null when the entry's lane is active and nothing is malformed. */
  readonly state: string | null;
  /** JSON of the lane's record after the entry. Null when only the measure grew. The first entry of a lane has a record. */
  readonly record: string | null;
  /** The seq of the lane's last record before this entry. Null for the first entry of a lane. */
  readonly recordSeq: number | null;
}

type TrackedEntry = Pick<Entry, "seq" | "kind" | "payload">;

export const NO_ENTRIES: ActiveState = Object.freeze({ active: DEFAULT_LANE });

/**
 * The tips of some lanes, advanced entry by entry. It is mutable, because a thread may have thousands of lanes. It must hold
 * the active lane and each lane that a pushed entry names.
 */
export class LaneBook {
  #state: ActiveState;
  readonly #tips: Map<string, LaneTip>;
  readonly #changed = new Set<string>();

  constructor({ active, malformed }: ActiveState, tips: Iterable<readonly [string, LaneTip]>) {
    this.#state = activeState(active, malformed);
    this.#tips = new Map(tips);
  }

  /** Continues from a track of version 0.1, whose thread ends at `lastSeq`. All its lanes count as changed. */
  static fromTrack(track: LaneTrack, lastSeq: number): LaneBook {
    const book = new LaneBook(track, tipsOfTrack(track, lastSeq));
    for (const lane of book.#tips.keys()) book.#changed.add(lane);
    return book;
  }

  get state(): ActiveState {
    return this.#state;
  }

  tip(lane: string): LaneTip | undefined {
    return this.#tips.get(lane);
  }

  get lanes(): Iterable<string> {
    return this.#tips.keys();
  }

  /** The lanes that entries were added to. */
  get changed(): Iterable<string> {
    return this.#changed;
  }

  /**
   * The branch that the next entry begins. Undefined when it begins none, and after a malformed operation, because then no
   * origin is recorded.
   */
  branchOf(entry: TrackedEntry): Branch | undefined {
    const branch = readBranch(entry);
    const lane = branch && namedLane(entry);
    return lane === undefined || this.#tips.has(lane) || this.#isMalformedAfter(entry) ? undefined : branch;
  }

  /** `origin` is that of the branch which the entry begins, if it is known. */
  push(entry: TrackedEntry, measure: number, origin?: LaneOrigin): LaneChange {
    const lane = namedLane(entry) ?? this.#state.active;
    const before = this.#tips.get(lane);
    const isMalformed = this.#isMalformedAfter(entry);
    const { state, hasChanged } = afterEntry(before?.record, entry, measure, origin);
    const { active: from } = this.#state;
    const isLeft = switchTarget(entry) !== undefined && lane !== from;
    const record = isLeft ? withThreadSettings(state, this.#tips.get(from)?.record.settings) : state;
    const isRecord = before === undefined || hasChanged || record !== state;
    this.#tips.set(lane, {
      firstSeq: before?.firstSeq ?? entry.seq,
      seq: entry.seq,
      recordSeq: isRecord ? entry.seq : before.recordSeq,
      record,
    });
    this.#changed.add(lane);
    this.#state = activeState(switchTarget(entry) ?? this.#state.active, isMalformed);
    const { active, malformed } = this.#state;
    return {
      lane,
      measure: record.measure,
      state: active === lane && !malformed ? null : JSON.stringify(this.#state),
      record: isRecord ? JSON.stringify(record) : null,
      recordSeq: before?.recordSeq ?? null,
    };
  }

  #isMalformedAfter(entry: TrackedEntry): boolean {
    return this.#state.malformed ?? isMalformedOperation(entry, (name) => this.#tips.has(name));
  }
}

export function activeState(active: string, malformed: boolean | undefined): ActiveState {
  return malformed ? { active, malformed } : { active };
}

/** The tips of all lanes of a track of version 0.1, whose thread ends at `lastSeq`. */
export function tipsOfTrack(track: LaneTrack, lastSeq: number): [string, LaneTip][] {
  return Object.entries(track.lanes).map(([lane, record]) => [
    lane,
    { firstSeq: 0, seq: lastSeq, recordSeq: lastSeq, record },
  ]);
}

/** The state after a row whose column `state` has this text. Undefined when it is damaged. */
export function readActiveState(text: string | null, lane: string): ActiveState | undefined {
  if (text === null) return { active: lane };
  const value = parsed(text);
  if (!isPlainObject(value) || typeof value["active"] !== "string") return undefined;
  return activeState(value["active"], value["malformed"] === true);
}

/** The record in a text. It may have fields of later versions. Undefined when it is damaged. */
export function readRecord(text: string | null): LaneState | undefined {
  const value = text === null ? undefined : parsed(text);
  return isState(value) ? value : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
