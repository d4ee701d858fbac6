import type { ThreadBase } from "./base.ts";
import type { Entry } from "./entry.ts";
import { DEFAULT_LANE, isMalformed, LANE_RULES, type LaneRules, namedLane, switchTarget } from "./lane-operation.ts";

/** Finds the lane of each entry of a thread. Entries must be read in order. */
export class LaneReader {
  /** The active lane after the last entry that was read. */
  active: string;
  /** Whether the base of a loaded tail was computed with other rules. */
  readonly isUncertain: boolean;
  readonly #rules: LaneRules;
  readonly #written: Set<string>;
  readonly #malformed = new Set<Entry>();

  constructor(base: ThreadBase | undefined, rules = LANE_RULES) {
    this.active = base?.activeLane ?? DEFAULT_LANE;
    this.isUncertain = base?.malformed === true && rules.ignoresMalformed;
    this.#rules = rules;
    this.#written = new Set(base === undefined ? [] : Object.keys(base.lanes));
  }

  /** The lane of the next entry. */
  read(entry: Entry): string {
    const lane = namedLane(entry) ?? this.active;
    if (this.#rules.ignoresMalformed && isMalformed(entry, (name) => this.#written.has(name))) {
      this.#malformed.add(entry);
    } else {
      this.active = switchTarget(entry) ?? this.active;
    }
    this.#written.add(lane);
    return lane;
  }

  /** Whether an entry that was read is a malformed operation, which has no effect. */
  isMalformed(entry: Entry): boolean {
    return this.#malformed.has(entry);
  }
}
