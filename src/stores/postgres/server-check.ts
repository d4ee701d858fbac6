import { StoreError } from "../errors.ts";
import type { Sql } from "./connection-pool.ts";

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
export async function checkServer(sql: Sql): Promise<ServerKind> {
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
