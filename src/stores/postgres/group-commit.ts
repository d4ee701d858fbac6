import type { ClaimRecord, Decision, StoredRow, ThreadHead, ThreadState } from "../driver.ts";
import { waitForTurns } from "./deadlines.ts";
import { isConnectionLoss, storeError } from "./errors.ts";
import { type EntryIdsByThread, readStates } from "./reads.ts";
import type { Writer } from "./writer.ts";
import { type BatchWrites, batchStatements } from "./writes.ts";

/** Limits the locks of one transaction, because the server's lock table has a fixed size. */
const MAX_JOBS = 256;

/**
 * Collects the jobs of one event-loop turn into a batch. Jobs that arrive while a batch runs form the next batch, so under
 * load more appends share one commit.
 */
export class GroupCommit {
  readonly #run: (batch: readonly Job[]) => Promise<void>;
  readonly #waiting: Job[] = [];
  #working: Promise<void> | undefined;

  /** `run` must settle its jobs itself and must not reject. */
  constructor(run: (batch: readonly Job[]) => Promise<void>) {
    this.#run = run;
  }

  add(job: Job): void {
    this.#waiting.push(job);
    this.#working ??= this.#work();
  }

  /** Resolves when no job is waiting or running. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      await waitForTurns(1); // callers of the previous batch can join this one
      await this.#run(this.#waiting.splice(0, MAX_JOBS));
    }
    this.#working = undefined;
  }
}

/** Commits a batch and settles its jobs. When the batch fails, retries each job alone, so that no job fails because of another. */
export async function commitJobs(writer: Writer, jobs: readonly Job[]): Promise<void> {
  try {
    const answers = await commitBatch(writer, jobs);
    for (const answer of answers) answer();
  } catch (error) {
    if (jobs.length === 1 || isConnectionLoss(error)) {
      for (const { reject } of jobs) reject(storeError(error));
      return;
    }
    for (const job of jobs) await commitJobs(writer, [job]);
  }
}

function commitBatch(writer: Writer, jobs: readonly Job[]): Promise<readonly (() => void)[]> {
  const wanted = entryIdsOf(jobs);
  return writer.transaction({
    threadIds: [...wanted.keys()],
    read: (scope) => readStates(scope, wanted),
    write(scope, states) {
      const outcome = decideAll(jobs, states);
      const announce = outcome.rows.length > 0;
      return { statements: batchStatements(scope, outcome), announce, finish: () => outcome.answers };
    },
  });
}

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
interface BatchOutcome extends BatchWrites {
  /** Settles the calls after the commit. Refusals wait too, because a failed commit means that all jobs are decided again. */
  readonly answers: readonly (() => void)[];
}

function entryIdsOf(jobs: readonly Job[]): EntryIdsByThread {
  const wanted = new Map<string, Set<string>>();
  for (const { threadId, wantedIds } of jobs) {
    const ids = wanted.get(threadId) ?? new Set();
    wanted.set(threadId, ids);
    for (const id of wantedIds) ids.add(id);
  }
  return wanted;
}

/** Decides the jobs in order. A job sees the pending writes of earlier jobs on the same thread. */
function decideAll(jobs: readonly Job[], states: ReadonlyMap<string, ThreadState>): BatchOutcome {
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
