import { StoreError } from "../../errors.ts";
import type { Sql } from "./library.ts";

/** Transaction ids of 64 bits, which the feed is ordered by, came with Postgres 13. */
const OLDEST = 130_000;

/** Checks what everything else rests on. */
export async function checkServer(sql: Sql): Promise<void> {
  const [found] = await sql<{ readonly version: number; readonly encoding: string }[]>`
    select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`;
  if (found === undefined || found.version < OLDEST) throw unsuitable("is older than version 13");
  if (found.encoding !== "UTF8") throw unsuitable(`keeps this database in ${found.encoding}, not UTF8`);
}

function unsuitable(trouble: string): StoreError {
  return new StoreError({ code: "store_failed", message: `The Postgres server ${trouble}. Use another one.` });
}
