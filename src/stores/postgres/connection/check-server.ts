import { StoreError } from "../../errors.ts";
import type { Sql } from "./library.ts";

/** Transaction ids of 64 bits, which the feed is ordered by, came with Postgres 13. */
const OLDEST = 130_000;

export interface Server {
  /**
   * A pooler answers, and each transaction may run on another server: prepared statements and LISTEN need one server for
   * the life of a connection. A pooler gives its clients a process id of its own.
   */
  readonly isPooler: boolean;
}

/** Checks what everything else rests on. */
export async function checkServer(sql: Sql): Promise<Server> {
  const rows = await sql.unsafe<Facts[]>(
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
      pg_backend_pid() as pid`,
  );
  const [found] = rows;
  if (found === undefined || found.version < OLDEST) throw unsuitable("is older than version 13");
  if (found.encoding !== "UTF8") throw unsuitable(`keeps this database in ${found.encoding}, not UTF8`);
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
