import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../errors.ts";
import type { OnUpgrade } from "../options.ts";
import { loadLibrary, type Pool, poolFactory, type Sql } from "./connection-pool.ts";
import { storeError } from "./errors.ts";
import { type Hearing, Notifications } from "./notifications.ts";
import type { PostgresSettings } from "./options.ts";
import { Readers } from "./readers.ts";
import { migrate } from "./schema/migrate.ts";
import { Writer, Writers } from "./writer.ts";

/** A database that was connected and migrated. */
export interface Database {
  readonly readers: Readers;
  readonly writers: Writers;
  readonly notifications: Notifications;
  /** Closes all connections. Pending work fails. */
  readonly end: () => Promise<void>;
}

/** Stops when the signal aborts, because a server may accept a connection and never answer. */
export async function openDatabase(
  settings: PostgresSettings,
  hearing: Hearing,
  report: (trouble: string) => void,
  onUpgrade: OnUpgrade,
  signal: AbortSignal,
): Promise<Database> {
  const library = await loadLibrary();
  const open = new Set<Pick<Pool, "end">>();
  const closed = new AbortController();
  const end = async () => {
    closed.abort();
    await Promise.all([...open].map((connections) => connections.end()));
  };
  const added = <Connections extends Pick<Pool, "end">>(connections: Connections): Connections => {
    open.add(connections);
    return connections;
  };
  const connect = poolFactory(library, settings.url);
  const listener = (url: string): Pool => added(poolFactory(library, url)({ max: 1 }));
  const openReaders = (prepare: boolean): Readers =>
    added(new Readers((onClose) => connect({ max: settings.readers, prepare, onClose }), settings));
  signal.addEventListener("abort", () => void end(), { once: true });
  try {
    const first = openReaders(true);
    const { isPooler } = await first.read(({ sql }) => checkServer(sql));
    const readers = isPooler ? openReaders(false) : first;
    if (isPooler) await first.end();
    const prepare = !isPooler;
    const notifications = new Notifications((work) => readers.read(work), settings.schema, hearing);
    const connectWriter = (onClose: () => void): Pool => connect({ max: 1, prepare, onClose });
    const writers = added(new Writers(() => new Writer(connectWriter, settings, notifications)));
    writers.connect();
    await migrate(readers.sql, settings.schema, {
      connect: () => added(connect({ max: 1, prepare })).sql,
      onUpgrade,
    });
    const { url, listenUrl } = settings;
    void startListening({
      readers,
      isPooler,
      connect: () => listener(listenUrl ?? url),
      hasOwnUrl: listenUrl !== undefined,
      listen: (sql) => notifications.listen(sql),
      report,
      closed: closed.signal,
    });
    return { readers, writers, notifications, end };
  } catch (error) {
    await end();
    throw error;
  }
}

interface Listening {
  readonly readers: Readers;
  readonly isPooler: boolean;
  /** Opens a connection that can listen. */
  readonly connect: () => Pool;
  /** Whether the option `listenUrl` is given. */
  readonly hasOwnUrl: boolean;
  /** Subscribes on the connections that it gets. */
  readonly listen: (sql: Sql) => void;
  /** Gets the reason why there are no notifications. */
  readonly report: (trouble: string) => void;
  /** Aborts when the database is closed. */
  readonly closed: AbortSignal;
}

const RETRY_MS = 5000;

/** The first queries of a process need no other connection beside them. Until then the store polls, and its bus sends nothing. */
const LISTEN_AFTER_MS = 200;

/**
 * Listens where notifications can arrive. Through a pooler LISTEN succeeds and delivers nothing, so it must be detected. A
 * pooler sends a process id of its own when a client logs in, because no server is assigned to the client yet. A NOTIFY
 * to itself would prove nothing: it arrives when the client is by chance on the server that listens.
 */
async function startListening(listening: Listening): Promise<void> {
  const { readers, isPooler, connect, hasOwnUrl, listen, report, closed } = listening;
  await sleep(LISTEN_AFTER_MS, undefined, { ref: false, signal: closed }).catch(() => {});
  if (closed.aborted) return;
  if (!hasOwnUrl) {
    if (isPooler)
      report(
        "a pooler in transaction mode delivers no notifications. Set the option listenUrl to the server's own URL",
      );
    else listen(connect().sql);
    return;
  }
  while (!closed.aborted) {
    try {
      const trouble = await troubleWith(connect, readers);
      if (trouble !== undefined) return report(trouble);
      return listen(connect().sql);
    } catch (error) {
      if (closed.aborted) return;
      report(`listenUrl does not work yet: ${storeError(error).message}`);
    }
    await sleep(RETRY_MS, undefined, { ref: false, signal: closed }).catch(() => {});
  }
}

async function troubleWith(connect: () => Pool, readers: Readers): Promise<string | undefined> {
  const probe = connect();
  try {
    const { isPooler, pid } = await checkServer(probe.sql);
    if (isPooler) return "the option listenUrl leads to a pooler. Set it to the server's own URL";
    const [found] = await readers.read(
      ({ sql }) => sql`select from pg_stat_activity where pid = ${pid} and datname = current_database()`,
    );
    return found === undefined
      ? "the option listenUrl leads to another database. Set it to the one of the URL"
      : undefined;
  } finally {
    await probe.end();
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
