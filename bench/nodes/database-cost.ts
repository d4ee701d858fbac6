import { readdirSync, readFileSync } from "node:fs";
import postgres from "postgres";

/** The work of a Postgres server so far. */
interface Cost {
  /** Of all its processes that live. Undefined if it runs on another machine. */
  readonly cpuMs: number | undefined;
  readonly walBytes: number;
  readonly bytes: number;
}

/** Ticks of a Linux kernel are 10 ms. */
const TICK_MS = 10;

/** Reads the cost of a server since its start. */
export class DatabaseCost {
  readonly #sql: postgres.Sql;

  constructor(url: string) {
    this.#sql = postgres(url, { max: 1, onnotice: () => undefined });
  }

  async read(): Promise<Cost> {
    const [row] = await this.#sql`
      select pg_backend_pid() as pid, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal,
        pg_database_size(current_database())::float8 as size`;
    return { cpuMs: cpuOfServer(Number(row?.["pid"])), walBytes: Number(row?.["wal"]), bytes: Number(row?.["size"]) };
  }

  end(): Promise<void> {
    return this.#sql.end();
  }
}

function cpuOfServer(backend: number): number | undefined {
  const [, server] = statOf(backend);
  if (server === undefined) return undefined;
  const ticks = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter(([, parent]) => parent === server)
    .reduce((sum, [own]) => sum + own, 0);
  return ticks * TICK_MS;
}

/** The ticks of a process, and its parent. */
function statOf(pid: number): readonly [ticks: number, parent: number | undefined] {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return [Number(fields[11]) + Number(fields[12]), Number(fields[1])];
  } catch {
    return [0, undefined]; // it has ended, or this is no Linux
  }
}
