import { StoreError } from "../errors.ts";
import { untilAborted } from "../until-aborted.ts";
import type { Query, Sql } from "./connection-pool.ts";
import { waitForTurns } from "./deadlines.ts";
import { connectionLost, isConnectionLoss } from "./errors.ts";
import type { Notifications } from "./notifications.ts";
import type { PostgresSettings } from "./options.ts";
import { type FencedScope, type Scope, tablesIn } from "./tables.ts";

/** One transaction: a read step, then a synchronous step that returns the writes. */
export interface Transaction<Seen, Result> {
  /** Locked for the whole transaction, so that no other writer changes these threads. They need not exist. */
  readonly threadIds: readonly string[];
  readonly read: (scope: Scope) => Promise<Seen>;
  readonly write: (scope: FencedScope, seen: Seen) => TransactionWrites<Result>;
}

interface TransactionWrites<Result> {
  /** Each statement must check the fence of the scope. */
  readonly statements: readonly Query[];
  /** The threads with new rows. They are announced after the commit. Default: none. */
  readonly changedIds?: readonly string[];
  /** Called after the commit. */
  readonly finish: () => Result | Promise<Result>;
}

/** A stuck process loses its locks before the waiting processes time out. */
const IDLE_TIMEOUT = "5s";
const LOCK_TIMEOUT = "10s";

const COMMITS = { durable: "on", relaxed: "off" } as const;

/**
 * Runs transactions one after the other on its own connection. Each takes two round trips: begin, lock and read; then
 * write and commit. The library's `begin` would need four.
 */
export class Writer {
  readonly #scope: Omit<Scope, "tenant">;
  readonly #settings: PostgresSettings;
  readonly #notifications: Pick<Notifications, "announce">;
  #losses = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    connect: (onClose: () => void) => Sql,
    settings: PostgresSettings,
    notifications: Pick<Notifications, "announce">,
  ) {
    const sql = connect(() => {
      this.#losses++;
    });
    this.#scope = { sql, tables: tablesIn(settings.schema, sql) };
    this.#settings = settings;
    this.#notifications = notifications;
  }

  transaction<Seen, Result>(tenant: string, work: Transaction<Seen, Result>): Promise<Result> {
    const done = this.#last.then(() => this.#run({ ...this.#scope, tenant }, work));
    this.#last = done.catch(() => {});
    return done;
  }

  async end(options: { readonly timeout: number }): Promise<void> {
    await this.#scope.sql.end(options);
  }

  async #run<Seen, Result>(scope: Scope, { threadIds, read, write }: Transaction<Seen, Result>): Promise<Result> {
    const losses = this.#losses;
    try {
      const [, locked, seen] = await Promise.all([this.#begin(), this.#lock(scope, threadIds), read(scope)]);
      const fence = this.#fence(locked);
      const { statements, changedIds = [], finish } = write({ ...scope, fence }, seen);
      await Promise.all([...statements.map((statement) => statement.execute()), this.#commit()]);
      // The library reconnects by itself. A commit on the new connection succeeds but commits nothing.
      if (losses !== this.#losses) throw connectionLost();
      this.#notifications.announce(scope.tenant, changedIds);
      return await finish();
    } catch (error) {
      await this.#abandon(error);
      throw error;
    }
  }

  /** The settings are per transaction, because behind a pooler each transaction may use another connection. */
  #begin(): PromiseLike<unknown> {
    const commits = COMMITS[this.#settings.mode];
    return this.#scope.sql
      .unsafe(
        `begin isolation level read committed read write;
        set local synchronous_commit to ${commits};
        set local lock_timeout to '${LOCK_TIMEOUT}';
        set local idle_in_transaction_session_timeout to '${IDLE_TIMEOUT}'`,
      )
      .execute();
  }

  /** Advisory locks work for threads that do not exist yet. Locking in key order prevents deadlocks. */
  #lock({ sql, tenant }: Scope, threadIds: readonly string[]): PromiseLike<readonly LockColumns[]> {
    const { schema } = this.#settings;
    const names = threadIds.map((id) => `${schema}/${tenant}/${id}`); // none of the parts contains a slash
    return sql<LockColumns[]>`
      select count(pg_advisory_xact_lock(key)) as locks, pg_current_xact_id()::text as xid,
        current_setting('synchronous_commit') as commits
      from (
        select distinct hashtextextended(name, 0) as key from unnest(${names}::text[]) as name order by key
      ) as ordered`.execute();
  }

  #fence([locked]: readonly LockColumns[]): Query {
    if (locked?.commits !== COMMITS[this.#settings.mode]) throw notDurable();
    return this.#scope.sql`pg_current_xact_id_if_assigned() = ${locked.xid}::xid8`;
  }

  #commit(): PromiseLike<unknown> {
    return this.#scope.sql.unsafe("commit").execute();
  }

  async #abandon(error: unknown): Promise<void> {
    // Between the error and the close of a socket the library still sends on it, and would wait forever.
    if (isConnectionLoss(error)) await waitForTurns(2);
    else await this.#scope.sql.unsafe("rollback").catch(() => {}); // a lost connection has rolled back already
  }
}

/** The connections that write. Each runs the transactions of one tenant at a time; they are opened when needed. */
export class Writers {
  readonly #connect: () => Writer;
  readonly #idle: Writer[] = [];
  readonly #all = new Set<Writer>();

  constructor(connect: () => Writer) {
    this.#connect = connect;
  }

  /** When the signal aborts, the connection may hang, so it is closed and never used again. */
  async transaction<Seen, Result>(
    tenant: string,
    work: Transaction<Seen, Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const writer = this.#idle.pop() ?? this.#open();
    try {
      return await untilAborted(signal, writer.transaction(tenant, work));
    } finally {
      if (signal.aborted) await this.#discard(writer);
      else this.#idle.push(writer);
    }
  }

  async end(options: { readonly timeout: number }): Promise<void> {
    await Promise.all([...this.#all].map((writer) => writer.end(options)));
  }

  #open(): Writer {
    const writer = this.#connect();
    this.#all.add(writer);
    return writer;
  }

  async #discard(writer: Writer): Promise<void> {
    this.#all.delete(writer);
    await writer.end({ timeout: 0 });
  }
}

interface LockColumns {
  readonly xid: string;
  readonly commits: string;
}

function notDurable(): StoreError {
  const message =
    "Postgres did not accept SET LOCAL synchronous_commit. Connect to the server itself, or choose another pooler.";
  return new StoreError({ code: "store_failed", message });
}
