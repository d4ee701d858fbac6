import { untilAborted } from "../abort.ts";
import { type Bus, LocalBuses } from "../bus.ts";
import { storeClosed } from "../errors.ts";
import { reportUpgrade, type UpgradeProgress, upgradeRuns } from "../options.ts";
import { withDeadline as runWithDeadline, waitAtMost } from "./connection-pool.ts";
import { type Database, openDatabase } from "./database.ts";
import { callTimedOut, isTimeout, storeError } from "./errors.ts";
import { FairQueue } from "./fair-queue.ts";
import { commitJobs, GroupCommit, type Job } from "./group-commit.ts";
import type { Hearing, Notifications } from "./notifications.ts";
import type { PostgresSettings } from "./options.ts";
import type { Scope } from "./tables.ts";
import type { Transaction } from "./writer.ts";

/** How long `close` waits for pending work, and then for the end of connections. */
export const CLOSE_TIMEOUT_MS = 5000;

/** How long `close` waits for the last notification. */
const ANNOUNCE_TIMEOUT_MS = 500;

/** How long an upgrade may give no sign of life before a call fails as with any silent server. */
const UPGRADE_SILENCE_MS = 10_000;

type WakeTenant = (threadIds?: readonly string[], postedIds?: readonly string[]) => void;

/**
 * The connections to one database, for the stores of any number of tenants. A tenant has one transaction at a time, and
 * tenants that wait take turns.
 */
export class SharedDatabase {
  readonly settings: PostgresSettings;
  readonly #resource: LazyResource<Database>;
  readonly #commits = new GroupCommit((tenant, jobs) => this.#commitBatch(tenant, jobs));
  readonly #writes: FairQueue;
  readonly #reads: FairQueue;
  /** The stores of each tenant that have watchers. */
  readonly #wakes = new Map<string, Set<WakeTenant>>();
  readonly #buses = new LocalBuses();
  #notifications: Notifications | undefined;
  /** The upgrade that runs, and when the server last reported it. */
  #upgrade: { readonly progress: UpgradeProgress; readonly seenAt: number } | undefined;
  /** Why there are no notifications, until it was reported. */
  #trouble: string | undefined;
  #isReported = false;

  constructor(settings: PostgresSettings, { isShared }: { readonly isShared: boolean }) {
    const { writers, readers } = settings;
    this.settings = settings;
    this.#resource = new LazyResource({
      open: async (signal) => {
        const hearing: Hearing = {
          wake: this.#wake.bind(this),
          message: (tenant, message) => this.#buses.of(tenant).publish(message),
        };
        const report = (trouble: string): void => this.#reportPolling(trouble);
        const onUpgrade = (progress: UpgradeProgress): void => this.#reportUpgrade(progress);
        try {
          const database = await openDatabase(settings, hearing, report, onUpgrade, signal);
          this.#notifications = database.notifications;
          return database;
        } finally {
          this.#upgrade = undefined;
        }
      },
      end: ({ end }) => end(),
    });
    this.#writes = new FairQueue({ width: writers, perTenant: 1 });
    // With several tenants, reads do not queue up on one connection, and one tenant never has all connections.
    const unlimited = { width: Number.POSITIVE_INFINITY, perTenant: Number.POSITIVE_INFINITY };
    this.#reads = new FairQueue(isShared ? { width: readers, perTenant: Math.max(1, readers - 1) } : unlimited);
  }

  /** Connects and migrates. The first call of any other method does this too. Waits for an upgrade as long as it takes. */
  async open(): Promise<void> {
    for (;;) {
      try {
        return await this.withDeadline((signal) => this.#use(signal, async () => {}));
      } catch (error) {
        if (this.#runningUpgrade() === undefined) throw error;
      }
    }
  }

  /** A read that has begun keeps its place until the server has answered, also when its caller has stopped waiting. */
  read<Result>(
    tenant: string,
    work: (scope: Scope, notifications: Notifications) => Promise<Result>,
    caller?: AbortSignal,
  ): Promise<Result> {
    return this.withDeadline((signal) =>
      this.#reads.run(tenant, () => {
        let query: Promise<unknown> = Promise.resolve();
        const begin = async ({ readers, notifications }: Database): Promise<Result> => {
          const begun = readers.read((scope) => work({ ...scope, tenant }, notifications));
          query = begun;
          return begun;
        };
        const answer = refusal(signal, caller) ?? this.#use(signal, begin);
        return { answer, end: Promise.allSettled([answer]).then(() => query) };
      }),
    );
  }

  /** Adds the job to the next batch of the tenant. */
  commit(tenant: string, job: Job): void {
    this.#commits.add(tenant, job);
  }

  /** Writes nothing when the caller has stopped waiting before the write step. */
  write<Seen, Result>(tenant: string, work: Transaction<Seen, Result>, caller?: AbortSignal): Promise<Result> {
    return this.withDeadline((signal) => {
      const write: typeof work.write = (scope, seen) => {
        signal.throwIfAborted();
        caller?.throwIfAborted();
        return work.write(scope, seen);
      };
      return this.#writes.run(tenant, () => {
        const answer = refusal(signal, caller) ?? this.#transact(tenant, { ...work, write });
        return { answer, end: answer };
      });
    });
  }

  /** Calls `wake` after a commit of entries of the tenant, by this process or another. */
  onChange(tenant: string, wake: WakeTenant): () => void {
    const wakes = this.#wakes.get(tenant) ?? new Set();
    this.#wakes.set(tenant, wakes);
    wakes.add(wake);
    this.#reportPolling(this.#trouble);
    return () => {
      wakes.delete(wake);
      if (wakes.size === 0 && this.#wakes.get(tenant) === wakes) this.#wakes.delete(tenant);
    };
  }

  /** The bus of a tenant, over the notifications of the database. */
  bus(tenant: string): Bus {
    const { publish, subscribe } = this.#buses.of(tenant);
    return {
      subscribe,
      publish: (message) => {
        publish(message);
        this.#notifications?.publish(tenant, message);
      },
    };
  }

  async close(): Promise<void> {
    await waitAtMost(CLOSE_TIMEOUT_MS, this.#commits.idle());
    if (this.#notifications !== undefined) await waitAtMost(ANNOUNCE_TIMEOUT_MS, this.#notifications.flush());
    await this.#resource.close(CLOSE_TIMEOUT_MS);
    this.#wake(); // watchers look, and end because the database is closed
  }

  /** Warns once, and only when something is watched, because nothing else needs notifications. */
  #reportPolling(trouble: string | undefined): void {
    this.#trouble = trouble;
    if (trouble === undefined || this.#isReported || this.#wakes.size === 0) return;
    this.#isReported = true;
    try {
      this.settings.warn(`The Postgres store has no notifications, so watchers look every pollMs: ${trouble}.`);
    } catch {} // a warning that fails ends no watcher
  }

  #wake(tenant?: string, threadIds?: readonly string[], postedIds?: readonly string[]): void {
    const wakes = tenant === undefined ? [...this.#wakes.values()] : [this.#wakes.get(tenant) ?? []];
    for (const wake of wakes.flatMap((set) => [...set])) wake(threadIds, postedIds);
  }

  #commitBatch(tenant: string, jobs: readonly Job[]): Promise<void> {
    return this.#writes.run(tenant, () => {
      const answer = commitJobs((work) => this.#transact(tenant, work), jobs);
      return { answer, end: answer };
    });
  }

  /** The deadline belongs to the transaction, not to its callers, because a connection is free only after it. */
  #transact<Seen, Result>(tenant: string, work: Transaction<Seen, Result>): Promise<Result> {
    return this.withDeadline((signal) => this.#use(signal, ({ writers }) => writers.transaction(tenant, work, signal)));
  }

  #reportUpgrade(progress: UpgradeProgress): void {
    if (progress.done !== this.#upgrade?.progress.done) reportUpgrade(this.settings.onUpgrade, progress);
    this.#upgrade = { progress, seenAt: performance.now() };
  }

  /** A call that cannot wait for an upgrade leaves it running. */
  withDeadline<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const { callTimeoutMs, url } = this.settings;
    return runWithDeadline(callTimeoutMs, work, () => {
      const upgrade = this.#runningUpgrade();
      if (upgrade === undefined) return callTimedOut(callTimeoutMs, url.includes("prepare=true"));
      const { entries, done, steps } = upgrade;
      return upgradeRuns(` (about ${entries} entries, ${Math.round((100 * done) / steps)} % of the steps are done)`);
    });
  }

  #runningUpgrade(): UpgradeProgress | undefined {
    const { progress, seenAt = 0 } = this.#upgrade ?? {};
    return performance.now() - seenAt > UPGRADE_SILENCE_MS ? undefined : progress;
  }

  async #use<Result>(signal: AbortSignal, work: (database: Database) => Promise<Result>): Promise<Result> {
    try {
      return await this.#resource.use(signal, work);
    } catch (error) {
      throw storeError(error);
    }
  }
}

/** The error of a call whose caller has stopped waiting before it began. */
function refusal(...signals: readonly (AbortSignal | undefined)[]): Promise<never> | undefined {
  const aborted = signals.find((signal) => signal?.aborted);
  return aborted && Promise.reject(aborted.reason);
}

interface LazyResourceOptions<Resource> {
  /** Must stop and clean up when the signal aborts. */
  readonly open: (signal: AbortSignal) => Promise<Resource>;
  readonly end: (resource: Resource) => Promise<void>;
}

/** One attempt to open the resource, and the pending uses of it. */
interface OpenAttempt<Resource> {
  readonly resource: Promise<Resource>;
  readonly uses: Set<Promise<unknown>>;
  readonly abort: AbortController;
  /** How many uses the server has answered. */
  answers: number;
}

/**
 * Opens a resource on first use. A failure rejects the calls that wait for it; the next call retries. After a timeout the
 * next call opens a new resource, because connections to a silent server can stay open for minutes.
 */
class LazyResource<Resource> {
  readonly #options: LazyResourceOptions<Resource>;
  readonly #attempts = new Set<OpenAttempt<Resource>>();
  #current: OpenAttempt<Resource> | undefined;
  #isClosed = false;

  constructor(options: LazyResourceOptions<Resource>) {
    this.#options = options;
  }

  /** Waits until the signal aborts, at most. The reason of a deadline is `store_timeout`. */
  async use<Result>(signal: AbortSignal, work: (resource: Resource) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw storeClosed();
    this.#current ??= this.#open();
    const attempt = this.#current;
    const { answers } = attempt;
    const use = untilAborted(signal, attempt.resource.then(work));
    attempt.uses.add(use);
    try {
      const result = await use;
      attempt.answers++;
      return result;
    } catch (error) {
      // A server that answered other calls meanwhile is alive, and only this call is slow.
      if (isTimeout(error) && attempt.answers === answers) this.#replace(attempt);
      throw error;
    } finally {
      attempt.uses.delete(use);
    }
  }

  /** Waits for pending uses, at most `patienceMs`, then closes all resources. */
  async close(patienceMs: number): Promise<void> {
    this.#isClosed = true;
    const attempts = [...this.#attempts];
    await waitAtMost(patienceMs, Promise.allSettled(attempts.flatMap(({ uses }) => [...uses])));
    await Promise.all(attempts.map((attempt) => this.#end(attempt)));
  }

  #open(): OpenAttempt<Resource> {
    const abort = new AbortController();
    const attempt = {
      resource: this.#options.open(abort.signal),
      uses: new Set<Promise<unknown>>(),
      abort,
      answers: 0,
    };
    this.#attempts.add(attempt);
    attempt.resource.catch(() => {
      this.#attempts.delete(attempt);
      if (this.#current === attempt) this.#current = undefined;
    });
    return attempt;
  }

  /** Removes a broken resource. It is closed once the calls that still use it have ended, each by its own deadline. */
  #replace(attempt: OpenAttempt<Resource>): void {
    if (this.#current !== attempt) return;
    this.#current = undefined;
    void Promise.allSettled(attempt.uses).then(() => this.#end(attempt));
  }

  async #end(attempt: OpenAttempt<Resource>): Promise<void> {
    attempt.abort.abort();
    const ended = attempt.resource.then(this.#options.end, () => {}); // a resource that never opened needs no end
    await waitAtMost(CLOSE_TIMEOUT_MS, ended);
    this.#attempts.delete(attempt);
  }
}
