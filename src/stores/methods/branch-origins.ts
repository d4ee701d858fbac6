import { originAt } from "../../lanes/branch.ts";
import type { LaneTip } from "../../lanes/lane-book.ts";
import type { LaneOrigin, LaneState } from "../../lanes/track.ts";
import { makeEntry } from "../../thread/entry.ts";
import { type Branch, readBranch } from "../../thread/lane-operations.ts";
import { type AppendRequest, type BranchOrigins, lanesNamedBy, openBook } from "../decide/append.ts";
import { checkHead, firstChecked, newHead } from "../row-format.ts";
import type { ThreadHead } from "../stored-records.ts";
import { rowAt, type StoreContext, withConsistentHead } from "./context.ts";
import { lanesAfter, tipOf } from "./lane-tips.ts";

/**
 * After so many attempts, the branch gets no origin. This happens when others write to the thread all the time. Such a branch
 * is projected from the first entry of the thread.
 */
const ATTEMPTS = 5;

type Batch = Pick<AppendRequest, "threadId" | "batch">;

/**
 * Calls `append` with the origins of the branches that a batch begins. They are found before the transaction, because that
 * may read rows. Calls it again when it returns undefined: the thread has grown meanwhile.
 */
export function withBranches<Result>(
  context: StoreContext,
  request: Batch,
  append: (branches: BranchOrigins | undefined) => Promise<Result | undefined>,
): Promise<Result> {
  const mayBranch = request.batch.some(
    ({ draft }) => draft.kind === "ai_context_operation" && readBranch(makeEntry(draft, 0)) !== undefined,
  );
  // An append without origins never returns undefined.
  return mayBranch ? appendBranches(context, request, append) : (append(undefined) as Promise<Result>);
}

async function appendBranches<Result>(
  context: StoreContext,
  request: Batch,
  append: (branches: BranchOrigins | undefined) => Promise<Result | undefined>,
): Promise<Result> {
  for (let attempt = 0; ; attempt++) {
    const branches = attempt < ATTEMPTS ? await findBranches(context, request) : undefined;
    const result = await append(branches);
    if (result !== undefined || branches === undefined) return result as Result; // as above
  }
}

function findBranches(context: StoreContext, { threadId, batch }: Batch): Promise<BranchOrigins> {
  const { driver, ports } = context;
  return withConsistentHead(context, threadId, async (stored) => {
    const head = stored && checkHead(threadId, stored, ports.sha256);
    const start = head ?? newHead(threadId, { createdAt: 0, updatedAt: 0, metadata: {}, owner: null }, ports.sha256);
    const lanes = head === undefined ? [] : await driver.lanes(threadId, lanesNamedBy(batch));
    const book = openBook(threadId, start, lanes, ports.sha256);
    const states = new StateHistory();
    const source: OriginSource = {
      since: firstChecked(start),
      tipOf: async (lane) => book.tip(lane) ?? (head && tipOf(context, { threadId, head }, lane)),
      stateAt: async (lane, seq) => states.at(lane, seq) ?? (head && storedStateAt(context, threadId, head, lane, seq)),
    };
    const byIndex = new Map<number, LaneOrigin>();
    for (const [index, { draft, measure }] of batch.entries()) {
      const entry = makeEntry(draft, start.rev + index);
      const branch = book.branchOf(entry);
      const origin = branch && (await findOrigin(branch, source));
      if (origin !== undefined) byIndex.set(index, origin);
      const { lane } = book.push(entry, measure, origin);
      states.add(lane, entry.seq, book.tip(lane)?.record);
    }
    return { tipHash: start.hash, byIndex };
  });
}

/** The states of lanes after the entries of a batch. */
class StateHistory {
  readonly #lanes = new Map<string, { readonly seq: number; readonly state: LaneState }[]>();

  add(lane: string, seq: number, state: LaneState | undefined): void {
    if (state === undefined) return;
    const states = this.#lanes.get(lane);
    if (states === undefined) this.#lanes.set(lane, [{ seq, state }]);
    else states.push({ seq, state });
  }

  at(lane: string, seq: number): LaneState | undefined {
    return this.#lanes.get(lane)?.findLast((known) => known.seq <= seq)?.state;
  }
}

/** The facts from which the origin of a branch is found. */
export interface OriginSource {
  /** The seq of the first row of format 2. */
  readonly since: number;
  /** A tip of the lane, at the branch or later. */
  readonly tipOf: (lane: string) => Promise<LaneTip | undefined>;
  /** The state of a lane after its last entry up to a seq. Undefined when it has none there. */
  readonly stateAt: (lane: string, seq: number) => Promise<LaneState | undefined>;
}

/** Finds the origin of a branch. Undefined when rows of version 0.1 do not say it. */
export async function findOrigin({ from, atSeq }: Branch, source: OriginSource): Promise<LaneOrigin | undefined> {
  let lane = from;
  let seq = atSeq;
  let before = Number.POSITIVE_INFINITY; // guards against a cycle, as in the fold of a lane
  for (let isFollowed = false; ; isFollowed = true) {
    const state = await source.stateAt(lane, seq);
    const tip = state === undefined ? await source.tipOf(lane) : undefined;
    if (tip === undefined) return originAt({ lane, seq, isFollowed }, state);
    const { record, firstSeq } = tip;
    const { origin } = record;
    if (origin === undefined) {
      // Version 0.1 may have begun the lane as a branch, and a record made from its rows may not say so.
      const isUnknown = record.branched || (source.since > 0 && firstSeq === 0 && record.replaceSeq !== undefined);
      return isUnknown ? undefined : originAt({ lane, seq, isFollowed }, undefined);
    }
    if (firstSeq >= before) return originAt({ lane, seq, isFollowed }, undefined);
    before = firstSeq;
    lane = origin.lane;
    seq = Math.min(seq, origin.seq);
  }
}

/**
 * The state of a lane after its last stored entry up to a seq. Reads few rows, because that entry is near the seq or is the
 * lane's newest one.
 */
export async function storedStateAt(
  context: StoreContext,
  threadId: string,
  head: ThreadHead,
  lane: string,
  seq: number,
): Promise<LaneState | undefined> {
  const last = Math.min(seq, head.rev - 1);
  if (last < 0) return undefined;
  const row = await rowAt(context, threadId, last);
  const { tips } = await lanesAfter(context, { threadId, head, row, next: [] }, () => new Set([lane]));
  return tips.get(lane)?.record;
}
