import type { Settings } from "../options.ts";
import { type Scope, tablesIn } from "../scope.ts";
import { Writer } from "../writing/writer.ts";
import { checkServer } from "./check-server.ts";
import { connector } from "./connector.ts";
import { channelOf, listen } from "./hints.ts";
import { loadLibrary, type Sql } from "./library.ts";
import { migrate } from "./migrate.ts";
import { Sockets } from "./sockets.ts";

/** A database that was connected and migrated. */
export interface Database {
  /** For reads. The writer has its own connection. */
  readonly scope: Scope;
  readonly writer: Writer;
  /** Closes all connections. Pending work fails. */
  readonly end: () => Promise<void>;
}

/** Stops when the signal aborts, because a server may accept a connection and never answer. */
export async function openDatabase(settings: Settings, wake: () => void, signal: AbortSignal): Promise<Database> {
  const library = await loadLibrary();
  const sockets = new Sockets();
  const open = new Set<{ end: (options: { timeout: number }) => Promise<void> }>();
  const end = async () => {
    await Promise.all([...open].map((pool) => pool.end({ timeout: 0 })));
    await sockets.close();
  };
  const connect = connector(library, settings.url, sockets);
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
    if (!isPooler) listen(sql, channel, wake);
    return { scope: { sql, tables: tablesIn(settings.schema, sql), tenant: settings.tenant }, writer, end };
  } catch (error) {
    await end();
    throw error;
  }
}
