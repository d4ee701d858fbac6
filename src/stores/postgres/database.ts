import { StoreError } from "../errors.ts";
import { loadLibrary, poolFactory, Sockets, type Sql } from "./connection-pool.ts";
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
export async function openDatabase(settings: PostgresSettings, wake: Wake, signal: AbortSignal): Promise<Database> {
  const library = await loadLibrary();
  const sockets = new Sockets();
  const open = new Set<{ end: (options: { timeout: number }) => Promise<void> }>();
  const end = async () => {
    await Promise.all([...open].map((pool) => pool.end({ timeout: 0 })));
    await sockets.close();
  };
  const connect = poolFactory(library, settings.url, sockets);
  const pool = (prepare: boolean): Sql => {
    const sql = connect({ max: settings.readers, prepare });
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
    const notifications = new Notifications(sql, settings.schema, wake);
    const connectWriter = (onClose: () => void): Sql => connect({ max: 1, prepare: !isPooler, onClose });
    const writers = new Writers(() => new Writer(connectWriter, settings, notifications));
    open.add(writers);
    if (!isPooler) notifications.listen();
    return { scope: { sql, tables: tablesIn(settings.schema, sql) }, writers, notifications, end };
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
