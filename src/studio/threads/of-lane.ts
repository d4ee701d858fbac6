import { advance, type LaneTrack, laneOf, NO_LANES } from "../../lanes/track.ts";
import type { Entry } from "../../thread/entry.ts";

/** Those that are of a lane: they name it, or, naming none, stand where it is active; `active` is at the first of them. */
export function entriesOfLane(entries: readonly Entry[], active: string, lane: string): readonly Entry[] {
  let track: LaneTrack = { ...NO_LANES, active };
  return entries.filter((entry) => {
    const own = laneOf(entry, track);
    track = { active: advance(track, entry, 0).active, lanes: {} };
    return own === lane;
  });
}
