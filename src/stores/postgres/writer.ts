import { untilAborted } from "../abort.ts";
import { StoreError } from "../errors.ts";
import type { Pool, Query } from "./connection-pool.ts";
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
  /** Those of them with new or changed commands. Default: none. */
  readonly postedIds?: readonly string[];
  /** Called after the commit. */
  readonly finish: () => Result | Promise<Result>;
}

/** A stuck process loses its locks before the waiting processes time out. */
const IDLE_TIMEOUT = "5s";
const LOCK_TIMEOUT = "10s";

const COMMITS = { durable: "on", relaxed: "off" } as const;

interface WriterConnection {
  readonly pool: Pool;
  readonly scope: Omit<Scope, "tenant">;
  /** Aborts when the connection is lost. Then no statement gets an answer any more. */
  readonly lost: AbortSignal;
  isUsable: boolean;
  hasAnswered: boolean;
}

/**
 * Runs transactions one after the other on its own connection, and replaces the connection when it is lost. Each takes two
 * round trips: begin, lock and read; then write and commit. The library's `begin` would need four.
 */
export class Writer {
  readonly #connect: (onClose: () => void) => Pool;
  readonly #settings: PostgresSettings;
  readonly #notifications: Pick<Notifications, "announce">;
  #connection: WriterConnection;
  #last: Promise<unknown> = Promise.resolve();
  #isEnded = false;

  constructor(
    connect: (onClose: () => void) => Pool,
    settings: PostgresSettings,
    notifications: Pick<Notifications, "announce">,
  ) {
    this.#connect = connect;
    this.#settings = settings;
    this.#notifications = notifications;
    this.#connection = this.#open();
  }

  transaction<Seen, Result>(tenant: string, work: Transaction<Seen, Result>): Promise<Result> {
    const done = this.#last.then(() => this.#run(tenant, work));
    this.#last = done.catch(() => {});
    return done;
  }

  /** Connects, for a transaction that comes soon. */
  connect(): void {
    const connection = this.#connection;
    const answered = (): void => {
      connection.hasAnswered = true;
    };
    connection.scope.sql.unsafe("select 1").then(answered, () => undefined); // the transaction gets the error
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    await this.#connection.pool.end();
  }

  /** Runs the transaction once more if the connection was lost before anything was written. */
  async #run<Seen, Result>(tenant: string, work: Transaction<Seen, Result>): Promise<Result> {
    if (!this.#connection.isUsable && !this.#isEnded) this.#connection = this.#open();
    const connection = this.#connection;
    const { lost, hasAnswered } = connection;
    const scope = { ...connection.scope, tenant };
    let isWritten = false;
    try {
      const begun = Promise.all([this.#begin(scope), this.#lock(scope, work.threadIds), work.read(scope)]);
      const [, locked, seen] = await untilAborted(lost, begun);
      connection.hasAnswered = true;
      const fence = this.#fence(scope, locked);
      const { statements, changedIds = [], postedIds = [], finish } = work.write({ ...scope, fence }, seen);
      isWritten = true;
      const written = Promise.all([...statements.map((statement) => statement.execute()), commit(scope)]);
      await untilAborted(lost, written);
      this.#notifications.announce(tenant, changedIds, postedIds);
      return await finish();
    } catch (error) {
      if (!isConnectionLoss(error)) {
        await untilAborted(lost, scope.sql.unsafe("rollback")).catch(() => {}); // a lost connection has rolled back already
        throw error;
      }
      this.#discard(connection);
      if (isWritten || this.#isEnded || !hasAnswered) throw error;
      return this.#run(tenant, work);
    }
  }

  #open(): WriterConnection {
    const lost = new AbortController();
    const pool = this.#connect(() => {
      this.#discard(connection);
      lost.abort(connectionLost());
    });
    const scope = { sql: pool.sql, tables: tablesIn(this.#settings.schema, pool.sql) };
    const connection: WriterConnection = { pool, scope, lost: lost.signal, isUsable: true, hasAnswered: false };
    return connection;
  }

  #discard(connection: WriterConnection): void {
    if (!connection.isUsable) return;
    connection.isUsable = false;
    void connection.pool.end();
  }

  /** The settings are per transaction, because behind a pooler each transaction may use another connection. */
  #begin({ sql }: Scope): PromiseLike<unknown> {
    const commits = COMMITS[this.#settings.mode];
    return sql
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

  #fence({ sql }: Scope, [locked]: readonly LockColumns[]): Query {
    if (locked?.commits !== COMMITS[this.#settings.mode]) throw notDurable();
    return sql`pg_current_xact_id_if_assigned() = ${locked.xid}::xid8`;
  }
}

function commit({ sql }: Scope): PromiseLike<unknown> {
  return sql.unsafe("commit").execute();
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

  /** Opens the first connection before it is needed. */
  connect(): void {
    const writer = this.#open();
    writer.connect();
    this.#idle.push(writer);
  }

  async end(): Promise<void> {
    await Promise.all([...this.#all].map((writer) => writer.end()));
  }

  #open(): Writer {
    const writer = this.#connect();
    this.#all.add(writer);
    return writer;
  }

  async #discard(writer: Writer): Promise<void> {
    this.#all.delete(writer);
    await writer.end();
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
