import type { Settings } from "../options.ts";
import { type Scope, tablesIn } from "../scope.ts";
import { Writer } from "../writing/writer.ts";
import { checkServer } from "./check-server.ts";
import { connector } from "./connector.ts";
import { channelOf, listen } from "./hints.ts";
import { loadLibrary } from "./library.ts";
import { migrate } from "./migrate.ts";
import { Sockets } from "./sockets.ts";

/** An open database: connected once, with its schema in place. */
export interface Database {
  /** For reading; the writer brings its own connection. */
  readonly scope: Scope;
  readonly writer: Writer;
  /** Lets go of all connections; what is still under way fails. */
  readonly end: () => Promise<void>;
}

export async function openDatabase(settings: Settings, wake: () => void): Promise<Database> {
  const sockets = new Sockets();
  const connect = connector(await loadLibrary(), settings.url, sockets);
  const channel = channelOf(settings);
  const sql = connect(settings.maxConnections - 2);
  const writer = new Writer((onClose) => connect(1, onClose), settings, channel);
  const end = async () => {
    await Promise.all([sql.end({ timeout: 0 }), writer.end()]);
    await sockets.close();
  };
  try {
    await checkServer(sql);
    await migrate(sql, settings.schema);
    listen(sql, channel, wake);
    return { scope: { sql, tables: tablesIn(settings.schema, sql), tenant: settings.tenant }, writer, end };
  } catch (error) {
    await end();
    throw error;
  }
}
