import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../errors.ts";
import type { OnUpgrade } from "../upgrade.ts";
import { loadLibrary, poolFactory, Sockets, type Sql } from "./connection-pool.ts";
import { storeError } from "./errors.ts";
import { Notifications, type Wake } from "./notifications.ts";
import type { PostgresSettings } from "./options.ts";
import { migrate } from "./schema/migrate.ts";
import { type Scope, tablesIn } from "./tables.ts";
import { Writer, Writers } from "./writer.ts";

/** A database that was connected and migrated. */
export interface Database {
  /** For reads. Writers have connections of their own. */
  readonly scope: Omit<Scope, "tenant">;
  readonly writers: Writers;
  readonly notifications: Notifications;
  /** Closes all connections. Pending work fails. */
  readonly end: () => Promise<void>;
}

/** Stops when the signal aborts, because a server may accept a connection and never answer. */
export async function openDatabase(
  settings: PostgresSettings,
  wake: Wake,
  report: (trouble: string) => void,
  onUpgrade: OnUpgrade,
  signal: AbortSignal,
): Promise<Database> {
  const library = await loadLibrary();
  const sockets = new Sockets();
  const open = new Set<{ end: (options: { timeout: number }) => Promise<void> }>();
  const closed = new AbortController();
  const end = async () => {
    closed.abort();
    await Promise.all([...open].map((pool) => pool.end({ timeout: 0 })));
    await sockets.close();
  };
  const connect = poolFactory(library, settings.url, sockets);
  const pool = (prepare: boolean): Sql => {
    const sql = connect({ max: settings.readers, prepare });
    open.add(sql);
    return sql;
  };
  const connectTo = (url: string) => (): Sql => {
    const sql = poolFactory(library, url, sockets)({ max: 1 });
    open.add(sql);
    return sql;
  };
  signal.addEventListener("abort", () => void end(), { once: true });
  try {
    const first = pool(true);
    const { isPooler } = await checkServer(first);
    const sql = isPooler ? pool(false) : first;
    if (isPooler) await first.end({ timeout: 0 });
    await migrate(sql, settings.schema, { connect: () => pool(!isPooler), onUpgrade });
    const notifications = new Notifications(sql, settings.schema, wake);
    const connectWriter = (onClose: () => void): Sql => connect({ max: 1, prepare: !isPooler, onClose });
    const writers = new Writers(() => new Writer(connectWriter, settings, notifications));
    open.add(writers);
    void startListening({
      main: sql,
      isPooler,
      connect: settings.listenUrl === undefined ? undefined : connectTo(settings.listenUrl),
      listen: (listener) => notifications.listen(listener),
      report,
      closed: closed.signal,
    });
    return { scope: { sql, tables: tablesIn(settings.schema, sql) }, writers, notifications, end };
  } catch (error) {
    await end();
    throw error;
  }
}

interface Listening {
  /** The connections of the store. */
  readonly main: Sql;
  readonly isPooler: boolean;
  /** Opens a connection to `listenUrl`; undefined when that option is not given. */
  readonly connect: (() => Sql) | undefined;
  /** Subscribes on the connections that it gets. */
  readonly listen: (sql: Sql) => void;
  /** Gets the reason why there are no notifications. */
  readonly report: (trouble: string) => void;
  /** Aborts when the database is closed. */
  readonly closed: AbortSignal;
}

const RETRY_MS = 5000;

/**
 * Listens where notifications can arrive. Through a pooler LISTEN succeeds and delivers nothing, so it must be detected. A
 * pooler sends a process id of its own when a client logs in, because no server is assigned to the client yet. A NOTIFY
 * to itself would prove nothing: it arrives when the client is by chance on the server that listens.
 */
async function startListening({ main, isPooler, connect, listen, report, closed }: Listening): Promise<void> {
  if (connect === undefined) {
    if (isPooler)
      report(
        "a pooler in transaction mode delivers no notifications. Set the option listenUrl to the server's own URL",
      );
    else listen(main);
    return;
  }
  while (!closed.aborted) {
    try {
      const trouble = await troubleWith(connect, main);
      if (trouble !== undefined) return report(trouble);
      return listen(connect());
    } catch (error) {
      if (closed.aborted) return;
      report(`listenUrl does not work yet: ${storeError(error).message}`);
    }
    await sleep(RETRY_MS, undefined, { ref: false, signal: closed }).catch(() => {});
  }
}

async function troubleWith(connect: () => Sql, main: Sql): Promise<string | undefined> {
  const probe = connect();
  try {
    const { isPooler, pid } = await checkServer(probe);
    if (isPooler) return "the option listenUrl leads to a pooler. Set it to the server's own URL";
    const [found] = await main`select from pg_stat_activity where pid = ${pid} and datname = current_database()`;
    return found === undefined
      ? "the option listenUrl leads to another database. Set it to the one of the URL"
      : undefined;
  } finally {
    await probe.end({ timeout: 0 });
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
  /** The process id of the server connection. */
  readonly pid: number;
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
  return { isPooler: rows.state.pid !== found.pid, pid: found.pid };
}

interface ServerColumns {
  readonly version: number;
  readonly encoding: string;
  readonly pid: number;
}

function unsuitable(trouble: string): StoreError {
  return new StoreError({ code: "store_failed", message: `The Postgres server ${trouble}. Use another one.` });
}
