import { namedLane, switchTarget } from "../../../lanes/operation.ts";
import { DEFAULT_LANE } from "../../../lanes/track.ts";
import type { Entry } from "../../../thread/entry.ts";
import { isOfContext } from "../../history/block.ts";
import type { ExplainedEntry } from "../../projection.ts";
import type { Run } from "../../run/run.ts";
import { fatesOfDropped } from "./dropped.ts";
import type { Fate } from "./fate.ts";
import { fatesOfBlocks } from "./in-blocks.ts";
import { fateOfContext, fateOfSummary, fateOnLane } from "./on-lane.ts";

/** What became of every entry that is loaded, in order. */
export function explanationOf(run: Run): ExplainedEntry[] {
  const { engine, thread } = run;
  const fates = new Map([...fatesOfBlocks(run), ...fatesOfDropped(run)]);
  const contexts = new Set(engine.history.blocks.filter(isOfContext).map(({ seq }) => seq));
  // A branch shows what its lane began with, also the summary and the context of the lane it left.
  const fateElsewhere = (entry: Entry): Fate => {
    if (entry === engine.history.coverage.summary) return fateOfSummary(run, entry);
    if (contexts.has(entry.seq)) return fateOfContext(run, entry);
    return { status: "other_lane", rule: "lane_not_projected", tokens: 0 };
  };
  let active = thread.base?.activeLane ?? DEFAULT_LANE;
  return thread.toArray().map((entry) => {
    const lane = namedLane(entry) ?? active;
    active = switchTarget(entry) ?? active;
    const fate = fates.get(entry.seq) ?? (lane === engine.lane ? fateOnLane(run, entry) : fateElsewhere(entry));
    return { seq: entry.seq, kind: entry.kind, ...fate };
  });
}
