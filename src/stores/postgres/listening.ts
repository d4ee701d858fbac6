import { setTimeout as sleep } from "node:timers/promises";
import type { Sql } from "./connection-pool.ts";
import { storeError } from "./errors.ts";
import { checkServer } from "./server-check.ts";

interface Listening {
  /** The connections of the store. */
  readonly main: Sql;
  readonly isPooler: boolean;
  /** Opens a connection to `listenUrl`; undefined when that option is not given. */
  readonly connect: (() => Sql) | undefined;
  /** Subscribes on the connections that it gets. */
  readonly listen: (sql: Sql) => void;
  /** Gets the reason why there are no notifications. */
  readonly report: (trouble: string) => void;
  /** Aborts when the database is closed. */
  readonly closed: AbortSignal;
}

const RETRY_MS = 5000;

/**
 * Listens where notifications can arrive. Through a pooler LISTEN succeeds and delivers nothing, so it must be detected. A
 * pooler sends a process id of its own when a client logs in, because no server is assigned to the client yet. A NOTIFY
 * to itself would prove nothing: it arrives when the client is by chance on the server that listens.
 */
export async function startListening({ main, isPooler, connect, listen, report, closed }: Listening): Promise<void> {
  if (connect === undefined) {
    if (isPooler)
      report(
        "a pooler in transaction mode delivers no notifications. Set the option listenUrl to the server's own URL",
      );
    else listen(main);
    return;
  }
  while (!closed.aborted) {
    try {
      const trouble = await troubleWith(connect, main);
      if (trouble !== undefined) return report(trouble);
      return listen(connect());
    } catch (error) {
      if (closed.aborted) return;
      report(`listenUrl does not work yet: ${storeError(error).message}`);
    }
    await sleep(RETRY_MS, undefined, { ref: false, signal: closed }).catch(() => {});
  }
}

async function troubleWith(connect: () => Sql, main: Sql): Promise<string | undefined> {
  const probe = connect();
  try {
    const { isPooler, pid } = await checkServer(probe);
    if (isPooler) return "the option listenUrl leads to a pooler. Set it to the server's own URL";
    const [found] = await main`select from pg_stat_activity where pid = ${pid} and datname = current_database()`;
    return found === undefined
      ? "the option listenUrl leads to another database. Set it to the one of the URL"
      : undefined;
  } finally {
    await probe.end({ timeout: 0 });
  }
}
