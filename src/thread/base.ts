import type { Entry } from "./entry.ts";

/** Facts about the entries before `firstSeq`, for a thread of which only a tail is loaded. */
export interface ThreadBase {
  readonly activeLane: string;
  /** These entries include a malformed operation. The base then holds for projector heddle/1 only, which applied it. */
  readonly malformed?: true;
  readonly lanes: { readonly [lane: string]: LaneBase };
}

export interface LaneBase {
  /** Sum over the lane's entries of floor(UTF-8 bytes of the payload's JSON / 4). */
  readonly measure: number;
  /** The latest `replace` operation of the lane. */
  readonly replace?: Entry;
  /** The summary in effect: the one that reaches furthest. */
  readonly summary?: Entry;
  /** The lane began as a branch, and no replace has replaced its beginning. */
  readonly branched?: true;
}
