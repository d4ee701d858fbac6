/** How a job ended. `ok: false` is a refusal; a failure of the database is thrown instead. */
export type Outcome<Result> =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly error: unknown };

interface Job {
  readonly work: () => Outcome<unknown>;
  readonly settle: (outcome: Outcome<unknown>) => void;
}

export interface Transactions {
  begin(): void;
  commit(): void;
  rollback(): void;
}

/** After this many transactions a lone writer yields to the event loop. */
const MAX_STREAK = 16;

/**
 * Collects the writes of one event-loop turn into one transaction, so that many agents share one disk sync. When the
 * transaction fails, each job is retried alone, so that no job fails because of another.
 */
export class GroupCommit {
  readonly #transactions: Transactions;
  #queue: Job[] = [];
  #lastWriter = "";
  #streak = 0;

  constructor(transactions: Transactions) {
    this.#transactions = transactions;
  }

  add<Result>(writer: string, work: () => Outcome<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const settle = (outcome: Outcome<unknown>) =>
      outcome.ok ? resolve(outcome.result as Result) : reject(outcome.error); // the outcome of this work
    this.#queue.push({ work, settle });
    this.#streak = writer === this.#lastWriter ? this.#streak + 1 : 0;
    this.#lastWriter = writer;
    if (this.#queue.length === 1) this.#schedule(() => this.flush());
    return promise;
  }

  /** A lone writer does not wait for other writers of this turn. */
  #schedule(flush: () => void): void {
    if (this.#streak % MAX_STREAK === 0) setImmediate(flush);
    else process.nextTick(flush);
  }

  /** Commits all queued jobs now. */
  flush(): void {
    const jobs = this.#queue;
    this.#queue = [];
    if (jobs.length === 0) return;
    const outcomes = this.#commit(jobs);
    for (const [index, job] of jobs.entries()) job.settle(outcomes[index] ?? NO_OUTCOME);
  }

  #commit(jobs: readonly Job[]): readonly Outcome<unknown>[] {
    try {
      this.#transactions.begin();
    } catch (error) {
      return jobs.map(() => ({ ok: false, error })); // no retry per job: each would wait for the same lock
    }
    try {
      const outcomes = jobs.map(({ work }) => work());
      this.#transactions.commit();
      return outcomes;
    } catch (error) {
      this.#transactions.rollback();
      return jobs.length === 1 ? [{ ok: false, error }] : jobs.flatMap((job) => this.#commit([job]));
    }
  }
}

const NO_OUTCOME: Outcome<never> = { ok: false, error: new Error("A job of the group has no outcome.") };
