import type { ThreadBase } from "../../thread/base.ts";
import type { Entry } from "../../thread/entry.ts";
import { LaneReader } from "../../thread/lane-reader.ts";

/** The entries of a lane: those that name it, and those without a lane while it is active. `base` covers the entries before. */
export function entriesOfLane(entries: readonly Entry[], base: ThreadBase | undefined, lane: string): readonly Entry[] {
  const reader = new LaneReader(base);
  return entries.filter((entry) => reader.read(entry) === lane);
}

/** Every lane that has entries, in their order, and the lane that is active at the end. */
export function lanesOf(
  entries: readonly Entry[],
  base: ThreadBase | undefined,
): { readonly lanes: readonly string[]; readonly activeLane: string } {
  const reader = new LaneReader(base);
  const written = [...Object.keys(base?.lanes ?? {}), ...entries.map((entry) => reader.read(entry))];
  return { lanes: [...new Set([...written, reader.active])], activeLane: reader.active };
}
