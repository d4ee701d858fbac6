import { StoreError } from "../../errors.ts";
import type { Sql } from "./library.ts";

/** The feed is ordered by 64-bit transaction ids, which Postgres has since version 13. */
const OLDEST = 130_000;

export interface Server {
  /**
   * Whether a pooler answers instead of the server. Behind a pooler each transaction may use another server connection, so
   * prepared statements and LISTEN do not work. A pooler is detected by the process id that it reports: it is its own.
   */
  readonly isPooler: boolean;
}

/** Checks the version and encoding of the server. */
export async function checkServer(sql: Sql): Promise<Server> {
  const rows = await sql.unsafe<Facts[]>(
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
      pg_backend_pid() as pid`,
  );
  const [found] = rows;
  if (found === undefined || found.version < OLDEST) throw unsuitable("is older than version 13");
  if (found.encoding !== "UTF8") throw unsuitable(`uses the encoding ${found.encoding} for this database, not UTF8`);
  return { isPooler: rows.state.pid !== found.pid };
}

interface Facts {
  readonly version: number;
  readonly encoding: string;
  readonly pid: number;
}

function unsuitable(trouble: string): StoreError {
  return new StoreError({ code: "store_failed", message: `The Postgres server ${trouble}. Use another one.` });
}
