import { type Database, openDatabase } from "./database.ts";
import { waitAtMost, waitForTurns, withDeadline } from "./deadlines.ts";
import { isConnectionLoss, storeError } from "./errors.ts";
import { FairQueue } from "./fair-queue.ts";
import { commitJobs, GroupCommit, type Job } from "./group-commit.ts";
import { LazyResource } from "./lazy-resource.ts";
import type { Notifications } from "./notifications.ts";
import type { PostgresSettings } from "./options.ts";
import type { Scope } from "./tables.ts";
import type { Transaction } from "./writer.ts";

/** How long `close` waits for pending work. */
export const CLOSE_TIMEOUT_MS = 5000;

/** How long `close` waits for the last notification. */
const ANNOUNCE_TIMEOUT_MS = 500;

type WakeTenant = (threadIds?: readonly string[]) => void;

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
  #notifications: Notifications | undefined;

  constructor(settings: PostgresSettings, { isShared }: { readonly isShared: boolean }) {
    const { writers, readers } = settings;
    this.settings = settings;
    this.#resource = new LazyResource({
      open: async (signal) => {
        const database = await openDatabase(settings, (tenant, threadIds) => this.#wake(tenant, threadIds), signal);
        this.#notifications = database.notifications;
        return database;
      },
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
  read<Result>(
    tenant: string,
    work: (scope: Scope, notifications: Notifications) => Promise<Result>,
    caller?: AbortSignal,
  ): Promise<Result> {
    return withDeadline(this.settings.callTimeoutMs, (signal) =>
      this.#reads.run(tenant, async () => {
        signal.throwIfAborted();
        caller?.throwIfAborted();
        return this.#use(signal, ({ scope, notifications }) => work({ ...scope, tenant }, notifications));
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

  /** Calls `wake` after a commit of entries of the tenant, by this process or another. */
  onChange(tenant: string, wake: WakeTenant): () => void {
    const wakes = this.#wakes.get(tenant) ?? new Set();
    this.#wakes.set(tenant, wakes);
    wakes.add(wake);
    return () => {
      wakes.delete(wake);
      if (wakes.size === 0 && this.#wakes.get(tenant) === wakes) this.#wakes.delete(tenant);
    };
  }

  async close(): Promise<void> {
    await waitAtMost(CLOSE_TIMEOUT_MS, this.#commits.idle());
    if (this.#notifications !== undefined) await waitAtMost(ANNOUNCE_TIMEOUT_MS, this.#notifications.idle());
    await this.#resource.close(CLOSE_TIMEOUT_MS);
    this.#wake(); // watchers look, and end because the database is closed
  }

  #wake(tenant?: string, threadIds?: readonly string[]): void {
    const wakes = tenant === undefined ? [...this.#wakes.values()] : [this.#wakes.get(tenant) ?? []];
    for (const wake of wakes.flatMap((set) => [...set])) wake(threadIds);
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
