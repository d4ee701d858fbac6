import type { ClaimRecord, Decision, StoredRow, ThreadHead, ThreadState } from "../../driver.ts";
import type { Wanted } from "./read-states.ts";

/** One call of `transact`. */
export interface Job {
  readonly threadId: string;
  readonly wantedIds: readonly string[];
  /** Returns what to write, and `accept`, which resolves the call after the commit. Throws what the caller's `decide` throws. */
  readonly decide: (state: ThreadState) => { readonly decision: Decision<unknown>; readonly accept: () => void };
  readonly reject: (error: unknown) => void;
  /** Whether the caller has stopped waiting. */
  readonly isOver: () => boolean;
}

export function newJob<Result>(
  threadId: string,
  wantedIds: readonly string[],
  decide: (state: ThreadState) => Decision<Result>,
): { readonly job: Job; readonly answer: Promise<Result>; readonly giveUp: () => void } {
  let isOver = false;
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const job: Job = {
    threadId,
    wantedIds,
    decide(state) {
      const decision = decide(state);
      return { decision, accept: () => resolve(decision.result) };
    },
    reject,
    isOver: () => isOver,
  };
  const giveUp = (): void => {
    isOver = true;
  };
  return { job, answer: promise, giveUp };
}

/** All writes of a batch, and the answers to its callers. */
export interface Outcome {
  readonly heads: readonly (readonly [threadId: string, head: ThreadHead])[];
  readonly rows: readonly (readonly [threadId: string, row: StoredRow])[];
  readonly claims: readonly (readonly [threadId: string, claim: ClaimRecord])[];
  /** Settles the calls after the commit. Refusals wait too, because a failed commit means that all jobs are decided again. */
  readonly answers: readonly (() => void)[];
}

export function wantedBy(jobs: readonly Job[]): Wanted {
  const wanted = new Map<string, Set<string>>();
  for (const { threadId, wantedIds } of jobs) {
    const ids = wanted.get(threadId) ?? new Set();
    wanted.set(threadId, ids);
    for (const id of wantedIds) ids.add(id);
  }
  return wanted;
}

/** Decides the jobs in order. A job sees the pending writes of earlier jobs on the same thread. */
export function decideAll(jobs: readonly Job[], states: ReadonlyMap<string, ThreadState>): Outcome {
  const drafts = new Map([...states].map(([threadId, state]) => [threadId, new ThreadDraft(state)]));
  const rows: (readonly [string, StoredRow])[] = [];
  const answers = jobs.map(({ threadId, wantedIds, decide, reject }) => {
    const draft = drafts.get(threadId);
    if (draft === undefined) throw new Error(`The state of thread ${threadId} was not read.`);
    try {
      const { decision, accept } = decide(draft.stateFor(wantedIds));
      for (const row of draft.apply(decision)) rows.push([threadId, row]);
      return accept;
    } catch (error) {
      return () => reject(error);
    }
  });
  const heads = [...drafts].flatMap(([id, { newHead }]) => (newHead === undefined ? [] : [[id, newHead] as const]));
  const claims = [...drafts].flatMap(([id, { newClaim }]) => (newClaim === undefined ? [] : [[id, newClaim] as const]));
  return { heads, rows, claims, answers };
}

/** The state of a thread with the pending writes of a batch. */
class ThreadDraft {
  newHead: ThreadHead | undefined;
  newClaim: ClaimRecord | undefined;
  readonly #state: ThreadState;
  readonly #rowsById: Map<string, StoredRow>;

  constructor(state: ThreadState) {
    this.#state = state;
    this.#rowsById = new Map(state.known.map((row) => [row.id, row]));
  }

  stateFor(wantedIds: readonly string[]): ThreadState {
    const known = wantedIds.flatMap((id) => this.#rowsById.get(id) ?? []).sort((a, b) => a.seq - b.seq);
    const { head, claim, now } = this.#state;
    return { head: this.newHead ?? head, claim: this.newClaim ?? claim, known, now };
  }

  /** Returns the rows to write; a decision without a head has none. */
  apply({ head, rows = [], claim }: Decision<unknown>): readonly StoredRow[] {
    this.newClaim = claim ?? this.newClaim;
    if (head === undefined) return [];
    this.newHead = head;
    for (const row of rows) this.#rowsById.set(row.id, row);
    return rows;
  }
}
