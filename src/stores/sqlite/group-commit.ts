import { HeddleError } from "../../thread/errors.ts";
import { BUSY_TIMEOUT_MS, isBusy } from "./errors.ts";
import type { Turns } from "./turns.ts";

/** How a job ended. `ok: false` is a refusal; a failure of the database is thrown instead. */
export type Outcome<Result> =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly error: unknown };

/** A HeddleError is a refusal and settles only this job. Any other error is a bug and fails the transaction. */
export function attempt<Result>(decide: () => Result): Outcome<Result> {
  try {
    return { ok: true, result: decide() };
  } catch (error) {
    if (HeddleError.isInstance(error)) return { ok: false, error };
    throw error;
  }
}

interface Job {
  readonly work: () => Outcome<unknown>;
  readonly settle: (outcome: Outcome<unknown>) => void;
  /** When it began to wait. */
  readonly since: number;
  /** Whether a transaction with others has failed, so that it is retried in one of its own. */
  readonly isAlone: boolean;
}

/**
 * Runs the work in a transaction, and takes everything back when it throws. Throws `store_busy` at once, before the work, when
 * another process writes.
 */
export type Transaction = <Result>(work: () => Result) => Result;

/** After this many transactions a lone writer yields to the event loop. */
const MAX_STREAK = 16;

const NOW = Promise.resolve();

/**
 * Collects the writes of one event-loop turn into one transaction, so that many agents share one disk sync. When the
 * transaction fails, each job is retried alone, so that no job fails because of another. While another process writes,
 * the jobs wait and the event loop is free.
 */
export class GroupCommit {
  readonly #transaction: Transaction;
  readonly #turns: Turns;
  readonly #drained: (() => void)[] = [];
  #queue: Job[] = [];
  #lastWriter = "";
  #streak = 0;
  #holds = 0;
  #isClosed = false;
  readonly #tracked = new Set<Promise<unknown>>();
  readonly #onTurn = (): void => this.#flush();

  constructor(transaction: Transaction, turns: Turns) {
    this.#transaction = transaction;
    this.#turns = turns;
  }

  add<Result>(writer: string, work: () => Outcome<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const settle = (outcome: Outcome<unknown>) =>
      outcome.ok ? resolve(outcome.result as Result) : reject(outcome.error); // the outcome of this work
    this.#queue.push({ work, settle, since: performance.now(), isAlone: false });
    this.#streak = writer === this.#lastWriter ? this.#streak + 1 : 0;
    this.#lastWriter = writer;
    if (this.#queue.length === 1) this.#schedule();
    return promise;
  }

  /** While this work writes over another connection, the jobs wait. */
  async hold(work: () => Promise<unknown>): Promise<void> {
    this.#holds++;
    try {
      await work();
    } finally {
      this.#holds--;
      this.#flush();
    }
  }

  /** `drain` waits for this work too. */
  track<Result>(work: Promise<Result>): Promise<Result> {
    this.#tracked.add(work);
    return work.finally(() => this.#tracked.delete(work));
  }

  /** Resolves when all queued jobs and all tracked work have ended. */
  async drain(): Promise<void> {
    do {
      this.#flush();
      if (this.#queue.length > 0) await new Promise<void>((resolve) => this.#drained.push(resolve));
      await Promise.resolve(); // a job that has just ended may begin tracked work
      await Promise.allSettled(this.#tracked);
    } while (this.#queue.length > 0 || this.#tracked.size > 0);
  }

  /** Whether the connection is closed, or will be soon. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.drain();
    this.#turns.close();
  }

  /** A lone writer does not wait for other writers of this turn. A promise costs less than `process.nextTick`. */
  #schedule(): void {
    const ms = this.#turns.first();
    if (ms > 0) setTimeout(this.#onTurn, ms);
    else if (this.#streak % MAX_STREAK === 0) setImmediate(this.#onTurn);
    else void NOW.then(this.#onTurn);
  }

  /** Commits all queued jobs. When another process writes, tries later. */
  #flush(): void {
    if (this.#holds > 0) return;
    while (this.#queue.length > 0) {
      const batch = this.#nextBatch();
      const waitedMs = performance.now() - (batch[0]?.since ?? 0);
      const ms = this.#turns.beforeTry(waitedMs);
      if (ms > 0) {
        setTimeout(() => this.#flush(), ms);
        return;
      }
      const begun = this.#commit(batch, waitedMs);
      if (!begun.ok && isBusy(begun.error)) {
        if (this.#retryLater(begun.error)) return;
        break;
      }
      this.#turns.end();
      if (!begun.ok) this.#endFirst(batch.length, () => begun); // no retry per job: each would fail in the same way
    }
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  /** All jobs, or the first one if it must be alone. */
  #nextBatch(): readonly Job[] {
    if (this.#queue.length === 1) return [...this.#queue];
    const alone = this.#queue.findIndex(({ isAlone }) => isAlone);
    return this.#queue.slice(0, alone === 0 ? 1 : alone === -1 ? undefined : alone);
  }

  /** Ends the jobs that have waited too long. False when no job is left to wait. */
  #retryLater(error: unknown): boolean {
    const now = performance.now();
    const inTime = this.#queue.findIndex(({ since }) => now - since <= BUSY_TIMEOUT_MS);
    if (inTime !== 0) this.#turns.end();
    this.#endFirst(inTime === -1 ? this.#queue.length : inTime, () => ({ ok: false, error }));
    const [oldest] = this.#queue;
    if (oldest === undefined) return false;
    setTimeout(() => this.#flush(), this.#turns.afterTry(now - oldest.since));
    return true;
  }

  /** Returns whether the transaction has begun. */
  #commit(batch: readonly Job[], waitedMs: number): Outcome<void> {
    let hasBegun = false;
    try {
      const outcomes = this.#transaction(() => {
        hasBegun = true;
        this.#turns.begin(waitedMs);
        return batch.map(({ work }) => work());
      });
      this.#endFirst(batch.length, (index) => outcomes[index] ?? NO_OUTCOME);
    } catch (error) {
      if (!hasBegun) return { ok: false, error };
      if (batch.length === 1) this.#endFirst(1, () => ({ ok: false, error }));
      else this.#queue = this.#queue.map((job, index) => (index < batch.length ? { ...job, isAlone: true } : job));
    }
    return { ok: true, result: undefined };
  }

  #endFirst(count: number, outcome: (index: number) => Outcome<unknown>): void {
    const ended = this.#queue.splice(0, count);
    for (let index = 0; index < ended.length; index++) ended[index]?.settle(outcome(index));
  }
}

const NO_OUTCOME: Outcome<never> = { ok: false, error: new Error("A job of the group has no outcome.") };
