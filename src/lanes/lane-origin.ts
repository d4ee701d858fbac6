import type { LaneOrigin, LaneState } from "./track.ts";

/**
 * The origin of a branch that leaves a lane with this state. The state is undefined before the first entry of a lane that
 * is no branch. Returns undefined when the beginning of the lane is unknown.
 */
export function originAt(
  { lane, seq, isFollowed }: { readonly lane: string; readonly seq: number; readonly isFollowed: boolean },
  state: LaneState | undefined,
): LaneOrigin | undefined {
  const followed = isFollowed ? { followed: true as const } : {};
  if (state === undefined) return { lane, seq, measure: 0, ...followed };
  if (state.branched) return undefined;
  const measure = state.measure + (state.origin?.measure ?? 0);
  const { replaceSeq, summarySeq, summaryTo, followed: before } = inheritedFrom(state);
  return {
    lane,
    seq,
    measure,
    ...(replaceSeq !== undefined && { replaceSeq }),
    ...(summarySeq !== undefined && summaryTo !== undefined && { summarySeq, summaryTo }),
    ...(before ? { followed: before } : followed),
  };
}

/**
 * A replace of the lane ends all that the lane inherited. Of two summaries that end at the same entry, the newer one counts.
 */
function inheritedFrom(state: LaneState): Pick<LaneOrigin, "replaceSeq" | "summarySeq" | "summaryTo" | "followed"> {
  const { origin, replaceSeq, summarySeq, summaryTo } = state;
  if (origin === undefined || replaceSeq !== undefined) return state;
  if (summarySeq === undefined || summaryTo === undefined || summaryTo < (origin.summaryTo ?? summaryTo)) return origin;
  return { ...origin, summarySeq, summaryTo };
}
