import { checkName } from "../../thread/options.ts";
import { systemPorts } from "../../thread/ports.ts";
import { defineDatabase, type ThreadDatabase } from "../database.ts";
import { defineStore } from "../define-store.ts";
import { StoreError } from "../errors.ts";
import {
  checkCallback,
  checkOptions,
  invalidOption,
  type OnUpgrade,
  STORE_OPTIONS,
  type StoreOptions,
} from "../options.ts";
import type { ThreadStore } from "../port.ts";
import { findSqlite, type OpenConnection, type SqliteConnection, type SqlValue } from "./connection.ts";
import { sqliteDatabaseDriver, sqliteDriver, type Workers } from "./driver.ts";
import { BUSY_TIMEOUT_MS, isBusy, translateErrors } from "./errors.ts";
import { checkIdentity, migrate } from "./schema/migrate.ts";
import { WorkerConnection } from "./worker-connection.ts";

/**
 * "durable": an acknowledged append survives a power failure. "relaxed": it survives a crash of the process, but a power
 * failure may lose the last appends. "relaxed" is faster on disks with slow sync.
 */
export type SqliteMode = "durable" | "relaxed";

/** The durability and the driver of a SQLite file, and the ports of its stores. */
export interface SqliteDatabaseOptions extends StoreOptions {
  /** Default "durable". */
  readonly mode?: SqliteMode | undefined;
  /** Gets the progress while a file of an earlier version is upgraded, before the call returns. Default: none. */
  readonly onUpgrade?: OnUpgrade | undefined;
  /** Opens the file with another SQLite library. Default: Node's SQLite if it is safe, else better-sqlite3. */
  readonly connect?: OpenConnection | undefined;
}

/** The options of a SQLite file, and the tenant of the one store in it. */
export interface SqliteStoreOptions extends SqliteDatabaseOptions {
  /** Part of every key, so that a store has no access to other tenants. Default "default". */
  readonly tenant?: string | undefined;
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
  const { tenant = "default", ...others } = checkOptions(options, ["tenant", ...DATABASE_OPTIONS]);
  checkName("tenant", tenant);
  const { connection, workers, ports } = openFile(path, others);
  return inOpenFile(connection, () =>
    defineStore(sqliteDriver(connection, tenant, ports.clock ?? systemPorts.clock, workers), ports),
  );
}

/**
 * A SQLite file with the stores of many tenants, for any number of processes on one machine. It is created when it is
 * missing.
 *
 * @example
 * const database = sqliteDatabase("./heddle.db");
 * await database.tenant("acme").append("thread_1", { kind: "note", payload: { text: "kept" } });
 * await database.close();
 */
export function sqliteDatabase(path: string, options: SqliteDatabaseOptions = {}): ThreadDatabase {
  const { connection, workers, ports } = openFile(path, checkOptions(options, DATABASE_OPTIONS));
  return inOpenFile(connection, () =>
    defineDatabase(sqliteDatabaseDriver(connection, ports.clock ?? systemPorts.clock, workers), ports),
  );
}

const DATABASE_OPTIONS = ["mode", "connect", "onUpgrade", ...STORE_OPTIONS] as const;

interface OpenFile {
  readonly connection: SqliteConnection;
  readonly workers: Workers;
  readonly ports: StoreOptions;
}

/** Opens the file and migrates it. */
function openFile(path: string, options: SqliteDatabaseOptions): OpenFile {
  const { mode = "durable", connect = findSqlite(), onUpgrade, ...ports } = options;
  if (mode !== "durable" && mode !== "relaxed") throw invalidOption("mode", '"durable" or "relaxed"');
  checkCallback("onUpgrade", onUpgrade);
  if (typeof path !== "string" || path === "" || path.includes("\0")) throw invalidOption("path", "the path of a file");
  if (path.includes(":memory:"))
    throw invalidOption("path", "the path of a file; for threads in memory use memoryStore()");
  const connection = translateErrors(() => connect(path));
  return inOpenFile(connection, () => {
    prepareDatabase(connection, mode, onUpgrade);
    // A thread opens the file by itself, so it cannot use a connection of the caller.
    const ownsFile = options.connect === undefined && connection.library.startsWith("node:sqlite");
    const newWorker = (): WorkerConnection => new WorkerConnection(path, setUpOf(mode));
    const workers = ownsFile ? { queries: newWorker(), writer: newWorker() } : {};
    return { connection, workers, ports };
  });
}

/** Closes the connection when the work fails. */
function inOpenFile<Result>(connection: SqliteConnection, work: () => Result): Result {
  try {
    return translateErrors(work);
  } catch (error) {
    connection.close();
    throw error;
  }
}

function prepareDatabase(connection: SqliteConnection, mode: SqliteMode, onUpgrade: OnUpgrade | undefined): void {
  connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`); // another process may be opening the same file
  checkIdentity(connection);
  setPragmas(connection, mode);
  migrate(connection, onUpgrade);
  connection.exec("PRAGMA busy_timeout = 0"); // from here on, waiting must not block the event loop
}

/** As many as there may be processes that open a new file at once. */
const MAX_SWITCHES = 50;

const SYNCHRONOUS = { durable: 2, relaxed: 1 } as const; // FULL, NORMAL

/** 16 MB of log between checkpoints. Writes to many threads change the same pages often, so fewer checkpoints are faster. */
const CHECKPOINT_PAGES = 4096;

type Pragma = readonly [name: string, set: string | number, read: SqlValue];

function pragmasFor(mode: SqliteMode): readonly Pragma[] {
  return [
    ["busy_timeout", BUSY_TIMEOUT_MS, BUSY_TIMEOUT_MS],
    ["journal_mode", "wal", "wal"],
    ["synchronous", SYNCHRONOUS[mode], SYNCHRONOUS[mode]],
    ["wal_autocheckpoint", CHECKPOINT_PAGES, CHECKPOINT_PAGES],
    ["fullfsync", 1, 1],
    ["checkpoint_fullfsync", 1, 1],
    ["cell_size_check", 1, 1],
    ["trusted_schema", 0, 0],
    ["secure_delete", 1, 1], // free pages of the file keep nothing of what was deleted
  ];
}

function setUpOf(mode: SqliteMode): string {
  return pragmasFor(mode)
    .map(([name, set]) => `PRAGMA ${name} = ${set};`)
    .join("");
}

/** Sets the pragmas for durability and reads them back, because SQLite ignores unknown pragmas and values. */
function setPragmas(connection: SqliteConnection, mode: SqliteMode): void {
  const wanted = pragmasFor(mode);
  for (const [name, set] of wanted) whenFree(connection, () => connection.exec(`PRAGMA ${name} = ${set}`));
  for (const [name, , read] of wanted) {
    const [value] = connection.prepare(`PRAGMA ${name}`).get() ?? [];
    if (value !== read) throw pragmaRefused(name, read);
  }
}

/**
 * SQLite does not wait where two processes switch a new file to WAL at once: one of them gets "database is locked". This one then
 * waits for the lock by an empty transaction, and tries again.
 */
function whenFree(connection: SqliteConnection, work: () => void): void {
  for (let attempt = 1; ; attempt++) {
    try {
      translateErrors(work);
      return;
    } catch (error) {
      if (!isBusy(error) || attempt === MAX_SWITCHES) throw error;
    }
    connection.exec("BEGIN IMMEDIATE; ROLLBACK");
  }
}

function pragmaRefused(name: string, wanted: SqlValue): StoreError {
  const advice = "Keep the database on a local disk: network file systems do not support WAL mode.";
  return new StoreError({
    code: "store_failed",
    message: `SQLite did not accept PRAGMA ${name} = ${wanted}. ${advice}`,
  });
}
