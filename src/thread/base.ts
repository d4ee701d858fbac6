import type { Entry } from "./entry.ts";

/** What a thread of which only the tail is loaded still knows about the entries before `firstSeq`. */
export interface ThreadBase {
  readonly activeLane: string;
  /** Among these entries is a malformed operation. What is known of them holds for projector heddle/1, which applied it. */
  readonly malformed?: true;
  readonly lanes: { readonly [lane: string]: LaneBase };
}

export interface LaneBase {
  /** Sum over the lane's entries of floor(UTF-8 bytes of the payload's JSON / 4). */
  readonly measure: number;
  /** The latest `replace` operation of the lane. */
  readonly replace?: Entry;
  /** The summary that covers most of the lane and still counts. */
  readonly summary?: Entry;
  /** The lane began with what another lane held, and no replace has taken the place of that. */
  readonly branched?: true;
}
