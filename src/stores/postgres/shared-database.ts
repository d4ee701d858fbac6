import { type Database, openDatabase } from "./database.ts";
import { waitAtMost, waitForTurns, withDeadline } from "./deadlines.ts";
import { isConnectionLoss, storeError } from "./errors.ts";
import { FairQueue } from "./fair-queue.ts";
import { commitJobs, GroupCommit, type Job } from "./group-commit.ts";
import { LazyResource } from "./lazy-resource.ts";
import type { PostgresSettings } from "./options.ts";
import type { Scope } from "./tables.ts";
import { noticeOf, type Transaction } from "./writer.ts";

/** How long `close` waits for pending work. */
export const CLOSE_TIMEOUT_MS = 5000;

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
  /** The watchers of each tenant, by its notice. */
  readonly #wakes = new Map<string, Set<() => void>>();

  constructor(settings: PostgresSettings, { isShared }: { readonly isShared: boolean }) {
    const { writers, readers } = settings;
    this.settings = settings;
    this.#resource = new LazyResource({
      open: (signal) => openDatabase(settings, (notice) => this.#wake(notice), signal),
      end: ({ end }) => end(),
    });
    this.#writes = new FairQueue({ width: writers, perTenant: 1 });
    // With several tenants, reads do not queue up on one connection, and one tenant never has all connections.
    const unlimited = { width: Number.POSITIVE_INFINITY, perTenant: Number.POSITIVE_INFINITY };
    this.#reads = new FairQueue(isShared ? { width: readers, perTenant: Math.max(1, readers - 1) } : unlimited);
  }

  /** Connects and migrates. The first call of any other method does this too. */
  async open(): Promise<void> {
    await withDeadline(this.settings.callTimeoutMs, (signal) => this.#use(signal, async () => {}));
  }

  /** A read that has begun keeps its connection until it ends, also when its caller has stopped waiting. */
  read<Result>(tenant: string, work: (scope: Scope) => Promise<Result>, caller?: AbortSignal): Promise<Result> {
    return withDeadline(this.settings.callTimeoutMs, (signal) =>
      this.#reads.run(tenant, async () => {
        signal.throwIfAborted();
        caller?.throwIfAborted();
        return this.#use(signal, ({ scope }) => work({ ...scope, tenant }));
      }),
    );
  }

  /** Adds the job to the next batch of the tenant. */
  commit(tenant: string, job: Job): void {
    this.#commits.add(tenant, job);
  }

  /** Writes nothing when the caller has stopped waiting before the write step. */
  write<Seen, Result>(tenant: string, work: Transaction<Seen, Result>, caller?: AbortSignal): Promise<Result> {
    return withDeadline(this.settings.callTimeoutMs, (signal) => {
      const checkCaller = (): void => {
        signal.throwIfAborted();
        caller?.throwIfAborted();
      };
      const write: typeof work.write = (scope, seen) => {
        checkCaller();
        return work.write(scope, seen);
      };
      return this.#writes.run(tenant, async () => {
        checkCaller();
        return this.#transact(tenant, { ...work, write });
      });
    });
  }

  /** Calls `wake` after another process may have written entries of the tenant. */
  onChange(tenant: string, wake: () => void): () => void {
    const notice = noticeOf(tenant);
    const wakes = this.#wakes.get(notice) ?? new Set();
    this.#wakes.set(notice, wakes);
    wakes.add(wake);
    return () => {
      wakes.delete(wake);
      if (wakes.size === 0 && this.#wakes.get(notice) === wakes) this.#wakes.delete(notice);
    };
  }

  async close(): Promise<void> {
    await waitAtMost(CLOSE_TIMEOUT_MS, this.#commits.idle());
    await this.#resource.close(CLOSE_TIMEOUT_MS);
    this.#wake(); // watchers look, and end because the database is closed
  }

  #wake(notice?: string): void {
    const wakes = notice === undefined ? [...this.#wakes.values()] : [this.#wakes.get(notice) ?? []];
    for (const wake of wakes.flatMap((set) => [...set])) wake();
  }

  #commitBatch(tenant: string, jobs: readonly Job[]): Promise<void> {
    return this.#writes.run(tenant, () => commitJobs((work) => this.#transact(tenant, work), jobs));
  }

  /** The deadline belongs to the transaction, not to its callers, because a connection is free only after it. */
  #transact<Seen, Result>(tenant: string, work: Transaction<Seen, Result>): Promise<Result> {
    return withDeadline(this.settings.callTimeoutMs, (signal) =>
      this.#use(signal, ({ writers }) => writers.transaction(tenant, work, signal)),
    );
  }

  async #use<Result>(signal: AbortSignal, work: (database: Database) => Promise<Result>): Promise<Result> {
    try {
      return await this.#resource.use(signal, work);
    } catch (error) {
      // Between the error and the close of a socket the library still sends on it, and would wait forever.
      if (isConnectionLoss(error)) await waitForTurns(2);
      throw storeError(error);
    }
  }
}
