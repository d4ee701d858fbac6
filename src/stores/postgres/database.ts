import { StoreError, storeClosed } from "../errors.ts";
import { nativeSha256 } from "../native/sha256.ts";
import { loadLibrary, poolFactory, Sockets, type Sql } from "./connection-pool.ts";
import { waitAtMost, withDeadline } from "./deadlines.ts";
import { isTimeout } from "./errors.ts";
import type { PostgresSettings } from "./options.ts";
import { migrate } from "./schema/migrate.ts";
import { type Scope, tablesIn } from "./tables.ts";
import { Writer } from "./writer.ts";

/** A database that was connected and migrated. */
export interface Database {
  /** For reads. The writer has its own connection. */
  readonly scope: Scope;
  readonly writer: Writer;
  /** Closes all connections. Pending work fails. */
  readonly end: () => Promise<void>;
}

/** Stops when the signal aborts, because a server may accept a connection and never answer. */
export async function openDatabase(
  settings: PostgresSettings,
  wake: () => void,
  signal: AbortSignal,
): Promise<Database> {
  const library = await loadLibrary();
  const sockets = new Sockets();
  const open = new Set<{ end: (options: { timeout: number }) => Promise<void> }>();
  const end = async () => {
    await Promise.all([...open].map((pool) => pool.end({ timeout: 0 })));
    await sockets.close();
  };
  const connect = poolFactory(library, settings.url, sockets);
  const pool = (prepare: boolean): Sql => {
    const sql = connect({ max: settings.maxConnections - 2, prepare });
    open.add(sql);
    return sql;
  };
  signal.addEventListener("abort", () => void end(), { once: true });
  try {
    const first = pool(true);
    const { isPooler } = await checkServer(first);
    const sql = isPooler ? pool(false) : first;
    if (isPooler) await first.end({ timeout: 0 });
    await migrate(sql, settings.schema);
    const channel = channelOf(settings);
    const writer = new Writer((onClose) => connect({ max: 1, prepare: !isPooler, onClose }), settings, channel);
    open.add(writer);
    if (!isPooler) listenForChanges(sql, channel, wake);
    return { scope: { sql, tables: tablesIn(settings.schema, sql), tenant: settings.tenant }, writer, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** The feed is ordered by 64-bit transaction ids, which Postgres has since version 13. */
const MIN_SERVER_VERSION = 130_000;

interface ServerKind {
  /**
   * Whether a pooler answers instead of the server. Behind a pooler each transaction may use another server connection, so
   * prepared statements and LISTEN do not work. A pooler is detected by the process id that it reports: it is its own.
   */
  readonly isPooler: boolean;
}

/** Checks the version and encoding of the server. */
async function checkServer(sql: Sql): Promise<ServerKind> {
  const rows = await sql.unsafe<ServerColumns[]>(
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
      pg_backend_pid() as pid`,
  );
  const [found] = rows;
  if (found === undefined || found.version < MIN_SERVER_VERSION) throw unsuitable("is older than version 13");
  if (found.encoding !== "UTF8") throw unsuitable(`uses the encoding ${found.encoding} for this database, not UTF8`);
  return { isPooler: rows.state.pid !== found.pid };
}

interface ServerColumns {
  readonly version: number;
  readonly encoding: string;
  readonly pid: number;
}

function unsuitable(trouble: string): StoreError {
  return new StoreError({ code: "store_failed", message: `The Postgres server ${trouble}. Use another one.` });
}

/** The NOTIFY channel of one tenant. The name needs no quotes in SQL. */
function channelOf({ schema, tenant }: PostgresSettings): string {
  return `heddle_${Buffer.from(nativeSha256(`${schema}/${tenant}`), "base64url")
    .toString("hex")
    .slice(0, 32)}`;
}

/**
 * The library subscribes again after every reconnect and then calls `wake`, because notifications may have been missed.
 * Ignores errors: without LISTEN, for example behind a pooler, watchers poll.
 */
function listenForChanges(sql: Sql, channel: string, wake: () => void): void {
  sql.listen(channel, wake, wake).catch(() => {});
}

/** How long closing a resource may take. */
const CLOSE_TIMEOUT_MS = 5000;

interface LazyResourceOptions<Resource> {
  /** Must stop and clean up when the signal aborts. */
  readonly open: (signal: AbortSignal) => Promise<Resource>;
  readonly end: (resource: Resource) => Promise<void>;
  /** The deadline of each use, in milliseconds. */
  readonly deadlineMs: number;
}

/** One attempt to open the resource, and the pending uses of it. */
interface OpenAttempt<Resource> {
  readonly resource: Promise<Resource>;
  readonly uses: Set<Promise<unknown>>;
  readonly abort: AbortController;
}

/**
 * Opens a resource on first use. A failure rejects the calls that wait for it; the next call retries. After a timeout the
 * next call opens a new resource, because connections to a silent server can stay open for minutes.
 */
export class LazyResource<Resource> {
  readonly #options: LazyResourceOptions<Resource>;
  readonly #attempts = new Set<OpenAttempt<Resource>>();
  #current: OpenAttempt<Resource> | undefined;
  #isClosed = false;

  constructor(options: LazyResourceOptions<Resource>) {
    this.#options = options;
  }

  async use<Result>(work: (resource: Resource) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw storeClosed();
    this.#current ??= this.#open();
    const attempt = this.#current;
    const use = withDeadline(this.#options.deadlineMs, attempt.resource.then(work));
    attempt.uses.add(use);
    try {
      return await use;
    } catch (error) {
      if (isTimeout(error)) this.#replace(attempt);
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
    const attempt = { resource: this.#options.open(abort.signal), uses: new Set<Promise<unknown>>(), abort };
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
