import { loadLibrary, poolFactory, Sockets, type Sql } from "./connection-pool.ts";
import { startListening } from "./listening.ts";
import { Notifications, type Wake } from "./notifications.ts";
import type { PostgresSettings } from "./options.ts";
import { migrate } from "./schema/migrate.ts";
import { checkServer } from "./server-check.ts";
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
    await migrate(sql, settings.schema);
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
