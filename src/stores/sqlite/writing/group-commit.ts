/** How one job ended: a refusal is an answer too, a failure of the database is thrown. */
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

/** A writer that is alone may not keep the event loop from its other work for longer than this many transactions. */
const TURN = 16;

/**
 * Gathers the writes of one event-loop turn into one transaction, so that many agents share one sync of the disk. When
 * the transaction as a whole fails, every job is done again by itself, so that none pays for a neighbour.
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
      outcome.ok ? resolve(outcome.result as Result) : reject(outcome.error); // of this very work
    this.#queue.push({ work, settle });
    this.#streak = writer === this.#lastWriter ? this.#streak + 1 : 0;
    this.#lastWriter = writer;
    if (this.#queue.length === 1) this.#schedule(() => this.flush());
    return promise;
  }

  /** A lone writer need not wait for the company of this turn. */
  #schedule(flush: () => void): void {
    if (this.#streak % TURN === 0) setImmediate(flush);
    else process.nextTick(flush);
  }

  /** Commits what is queued, now. */
  flush(): void {
    const jobs = this.#queue;
    this.#queue = [];
    if (jobs.length === 0) return;
    const outcomes = this.#commit(jobs);
    for (const [index, job] of jobs.entries()) job.settle(outcomes[index] ?? MISSING);
  }

  #commit(jobs: readonly Job[]): readonly Outcome<unknown>[] {
    try {
      this.#transactions.begin();
    } catch (error) {
      return jobs.map(() => ({ ok: false, error })); // nobody gets in: trying one by one would only wait again
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

const MISSING: Outcome<never> = { ok: false, error: new Error("A job of the group has no outcome.") };
