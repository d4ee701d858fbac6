import type { ClaimRecord, Decision, StoredRow, ThreadHead, ThreadState } from "../driver.ts";
import { waitForTurns } from "./deadlines.ts";
import { isConnectionLoss, isTimeout, storeError } from "./errors.ts";
import { type EntryIdsByThread, readStates } from "./reads.ts";
import type { Transaction } from "./writer.ts";
import { type BatchWrites, batchStatements } from "./writes.ts";

/** Limits the locks of one transaction, because the server's lock table has a fixed size. */
const MAX_JOBS = 256;

/**
 * Collects the jobs of one event-loop turn into a batch, for each tenant apart. Jobs that arrive while a batch of their
 * tenant runs form its next batch, so under load more appends share one commit.
 */
export class GroupCommit {
  readonly #run: (tenant: string, batch: readonly Job[]) => Promise<void>;
  readonly #waiting = new Map<string, Job[]>();
  readonly #working = new Set<Promise<void>>();

  /** `run` must settle its jobs itself and must not reject. */
  constructor(run: (tenant: string, batch: readonly Job[]) => Promise<void>) {
    this.#run = run;
  }

  add(tenant: string, job: Job): void {
    const jobs = this.#waiting.get(tenant);
    if (jobs !== undefined) return void jobs.push(job);
    this.#waiting.set(tenant, [job]);
    const working = this.#work(tenant);
    this.#working.add(working);
    void working.then(() => this.#working.delete(working));
  }

  /** Resolves when no job is waiting or running. */
  async idle(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  async #work(tenant: string): Promise<void> {
    for (;;) {
      await waitForTurns(1); // callers of the previous batch can join this one
      const jobs = this.#waiting.get(tenant);
      if (jobs === undefined || jobs.length === 0) break;
      await this.#run(tenant, jobs.splice(0, MAX_JOBS));
    }
    this.#waiting.delete(tenant);
  }
}

/** Runs one transaction of a tenant on a writer. */
export type Transact = <Seen, Result>(work: Transaction<Seen, Result>) => Promise<Result>;

/** Commits a batch and settles its jobs. When the batch fails, retries each job alone, so that no job fails because of another. */
export async function commitJobs(transact: Transact, queued: readonly Job[]): Promise<void> {
  const jobs = queued.filter(({ isOver }) => !isOver()); // these callers already got an error
  if (jobs.length === 0) return;
  try {
    const answers = await transact(batchTransaction(jobs));
    for (const answer of answers) answer();
  } catch (error) {
    if (jobs.length === 1 || isConnectionLoss(error) || isTimeout(error)) {
      for (const { reject } of jobs) reject(storeError(error));
      return;
    }
    for (const job of jobs) await commitJobs(transact, [job]);
  }
}

type Seen = ReadonlyMap<string, ThreadState>;

function batchTransaction(jobs: readonly Job[]): Transaction<Seen, readonly (() => void)[]> {
  const wanted = entryIdsOf(jobs);
  return {
    threadIds: [...wanted.keys()],
    read: (scope) => readStates(scope, wanted),
    write(scope, states) {
      const outcome = decideAll(jobs, states);
      const announce = outcome.rows.length > 0;
      return { statements: batchStatements(scope, outcome), announce, finish: () => outcome.answers };
    },
  };
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

/** The signals abort when the caller has stopped waiting. */
export function newJob<Result>(
  threadId: string,
  wantedIds: readonly string[],
  decide: (state: ThreadState) => Decision<Result>,
  signals: readonly (AbortSignal | undefined)[],
): { readonly job: Job; readonly answer: Promise<Result> } {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const job: Job = {
    threadId,
    wantedIds,
    decide(state) {
      const decision = decide(state);
      return { decision, accept: () => resolve(decision.result) };
    },
    reject,
    isOver: () => signals.some((signal) => signal?.aborted),
  };
  return { job, answer: promise };
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
  const answers = jobs.map(({ threadId, wantedIds, decide, reject, isOver }) => {
    if (isOver()) return () => {}; // its caller has an error already, so it must not be written now
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
