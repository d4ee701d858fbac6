import { checkName } from "../../thread/names.ts";
import { systemPorts } from "../../thread/ports.ts";
import { nativeSha256 } from "../native/sha256.ts";
import { checkOptions, invalidOption } from "../options.ts";
import type { ThreadStore } from "../port.ts";
import { STORE_OPTIONS, type StoreOptions } from "../ports.ts";
import { readyStore } from "../ready-store.ts";
import type { OpenConnection, SqliteConnection } from "./connection/connection.ts";
import { checkIdentity, migrate } from "./connection/migrate.ts";
import { findSqlite } from "./connection/open-connection.ts";
import { BUSY_TIMEOUT_MS, type SqliteMode, setPragmas } from "./connection/pragmas.ts";
import { sqliteDriver } from "./driver.ts";
import { guarded } from "./errors.ts";

export interface SqliteStoreOptions extends StoreOptions {
  /** Part of every key, so that a store has no access to other tenants. Default "default". */
  readonly tenant?: string | undefined;
  /** Default "durable". */
  readonly mode?: SqliteMode | undefined;
  /** Opens the file with another SQLite library. Default: Node's SQLite if it is safe, else better-sqlite3. */
  readonly connect?: OpenConnection | undefined;
}

/**
 * A store in one SQLite file, which is created when it is missing. Use one writing process per file, on a local disk.
 *
 * @example
 * const store = sqliteStore("./heddle.db");
 * await store.append("thread_1", { kind: "note", payload: { text: "kept" } });
 * await store.close();
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): ThreadStore {
  const {
    tenant = "default",
    mode = "durable",
    connect = findSqlite(),
    ...ports
  } = checkOptions(options, ["tenant", "mode", "connect", ...STORE_OPTIONS]);
  checkName("tenant", tenant);
  if (mode !== "durable" && mode !== "relaxed") throw invalidOption("mode", '"durable" or "relaxed"');
  if (typeof path !== "string" || path === "" || path.includes("\0")) throw invalidOption("path", "the path of a file");
  if (path.includes(":memory:"))
    throw invalidOption("path", "the path of a file; for threads in memory use memoryStore()");
  const connection = guarded(() => connect(path));
  try {
    guarded(() => prepare(connection, mode));
    return readyStore(
      guarded(() => sqliteDriver(connection, tenant, ports.clock ?? systemPorts.clock)),
      { sha256: nativeSha256, ...ports },
    );
  } catch (error) {
    connection.close();
    throw error;
  }
}

function prepare(connection: SqliteConnection, mode: SqliteMode): void {
  connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`); // another process may be opening the same file
  checkIdentity(connection);
  setPragmas(connection, mode);
  migrate(connection);
}
