import { untilAborted } from "../abort.ts";
import { type Pool, type Sql, waitAtMost } from "./connection-pool.ts";
import { connectionLost, isConnectionLoss } from "./errors.ts";
import type { PostgresSettings } from "./options.ts";
import { type Scope, tablesIn } from "./tables.ts";

type ReaderScope = Omit<Scope, "tenant">;

interface ReaderPool {
  readonly pool: Pool;
  readonly scope: ReaderScope;
  /** The reads that wait for it. */
  readonly waiting: Set<Promise<unknown>>;
  /** Aborts when one of its connections was closed. */
  readonly closed: AbortSignal;
  hasAnswered: boolean;
}

/**
 * The connections for reads. A pool that lost a connection gets no more reads, because the library would fail the next one with
 * the error of the last, or let it wait forever.
 */
export class Readers {
  readonly #connect: (onClose: () => void) => Pool;
  readonly #settings: PostgresSettings;
  readonly #open = new Set<ReaderPool>();
  #current: ReaderPool;
  #isEnded = false;

  constructor(connect: (onClose: () => void) => Pool, settings: PostgresSettings) {
    this.#connect = connect;
    this.#settings = settings;
    this.#current = this.#openPool();
  }

  get sql(): Sql {
    return this.#current.pool.sql;
  }

  /** If a connection is lost meanwhile, begins the read once more on new ones. Errors of a pool that never answered are true. */
  async read<Result>(work: (scope: ReaderScope) => PromiseLike<Result>): Promise<Result> {
    const pool = this.#current;
    const { hasAnswered, closed } = pool;
    const answer = this.#run(pool, work);
    if (!hasAnswered) return waitIn(pool, answer);
    try {
      return await waitIn(pool, untilAborted(closed, answer));
    } catch (error) {
      if (!isConnectionLoss(error) || this.#isEnded) throw error;
    }
    this.#replace(pool);
    const next = this.#current;
    return waitIn(next, this.#run(next, work));
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    await Promise.all([...this.#open].map(({ pool }) => pool.end()));
  }

  async #run<Result>(pool: ReaderPool, work: (scope: ReaderScope) => PromiseLike<Result>): Promise<Result> {
    const result = await work(pool.scope);
    pool.hasAnswered = true;
    return result;
  }

  #openPool(): ReaderPool {
    const closed = new AbortController();
    const pool = this.#connect(() => {
      this.#replace(opened);
      closed.abort(connectionLost());
    });
    const scope = { sql: pool.sql, tables: tablesIn(this.#settings.schema, pool.sql) };
    const opened: ReaderPool = { pool, scope, waiting: new Set(), closed: closed.signal, hasAnswered: false };
    this.#open.add(opened);
    return opened;
  }

  #replace(lost: ReaderPool): void {
    if (this.#current !== lost || this.#isEnded) return;
    this.#current = this.#openPool();
    void this.#endUnused(lost);
  }

  async #endUnused(lost: ReaderPool): Promise<void> {
    await waitAtMost(this.#settings.callTimeoutMs, Promise.allSettled(lost.waiting));
    await lost.pool.end();
    this.#open.delete(lost);
  }
}

async function waitIn<Result>({ waiting }: ReaderPool, answer: Promise<Result>): Promise<Result> {
  waiting.add(answer);
  try {
    return await answer;
  } finally {
    waiting.delete(answer);
  }
}
