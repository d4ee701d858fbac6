import { statSync } from "node:fs";
import { createRequire } from "node:module";
import type { DatabaseSync } from "node:sqlite";
import type BetterSqlite3 from "better-sqlite3";
import { StoreError } from "../errors.ts";

/** A value of a SQLite column or parameter. All our integers are safe integers. */
export type SqlValue = string | number | null | Uint8Array;

/** A prepared statement of a SqliteConnection. */
export interface SqliteStatement {
  run(...values: readonly SqlValue[]): void;
  /** Returns rows as arrays, in the order of the selected columns. */
  all(...values: readonly SqlValue[]): readonly (readonly SqlValue[])[];
  get(...values: readonly SqlValue[]): readonly SqlValue[] | undefined;
}

/**
 * The synchronous part of a SQLite library that the store needs. Errors must carry SQLite's result code in `errcode` (a
 * number) or in `code` (such as "SQLITE_FULL").
 */
export interface SqliteConnection {
  /** The name for messages, such as "node:sqlite". */
  readonly library: string;
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
  /** For a database inside another system, such as a Durable Object. Default: a file, used by the statements of SQLite. */
  readonly embedded?: EmbeddedDatabase | undefined;
}

/** A database that knows no BEGIN, has no pragmas and belongs to one process. */
export interface EmbeddedDatabase {
  /** Runs the work as a transaction, and takes everything back when it throws. */
  transaction<Result>(work: () => Result): Result;
  /** Another value after each commit over another connection, as PRAGMA data_version has it. */
  version(): SqlValue | undefined;
}

/** Opens the file at a path. Pass your own as the option `connect` to use another SQLite library. */
export type OpenConnection = (path: string) => SqliteConnection;

/** Uses Node's SQLite if it is safe, else the optional peer dependency. */
export function findSqlite(): OpenConnection {
  const open = nodeSqlite() ?? betterSqlite3();
  if (open !== undefined) return open;
  const message =
    `Node ${process.versions.node} has no SQLite 3.51.3 or later; older versions can corrupt a file in WAL mode. ` +
    "Use Node 24.15 or later; or, on Node 22.14 or later, run: npm install better-sqlite3@13";
  throw new StoreError({ code: "store_driver_missing", message });
}

/** Older versions of SQLite can corrupt a database in WAL mode. */
const MIN_SQLITE_VERSION = [3, 51, 3] as const;

/** Node's own SQLite, if its version is safe to use. */
export function nodeSqlite(): OpenConnection | undefined {
  const { sqlite } = process.versions;
  if (sqlite === undefined || !isAtLeast(sqlite, MIN_SQLITE_VERSION)) return undefined;
  // A flag can disable the module; the types do not say so.
  const builtin = process.getBuiltinModule("node:sqlite") as typeof import("node:sqlite") | undefined;
  if (builtin === undefined) return undefined;
  return (path) => {
    const database = new builtin.DatabaseSync(path);
    return {
      library: `node:sqlite ${sqlite}`,
      exec: (sql) => database.exec(sql),
      prepare: (sql) => prepareStatement(database, sql),
      close: () => database.close(),
    };
  };
}

function prepareStatement(database: DatabaseSync, sql: string): SqliteStatement {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  const get = statement.get.bind(statement) as SqliteStatement["get"]; // setReturnArrays returns arrays; the types say objects
  // Bound functions pass the values without another array. Unlike `run`, `get` makes no result object for a write.
  return { run: get, get, all: statement.all.bind(statement) as unknown as SqliteStatement["all"] };
}

function isAtLeast(version: string, minimum: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  const differing = minimum.findIndex((part, index) => parts[index] !== part);
  return differing === -1 || (parts[differing] ?? 0) > (minimum[differing] ?? 0);
}

/** The Node-API version that better-sqlite3 13 needs. With an older one (Node 22.13) it crashes the process. */
const MIN_NODE_API_VERSION = 10;

/** The optional peer dependency, if it is installed and can run. */
export function betterSqlite3(napi = Number(process.versions["napi"])): OpenConnection | undefined {
  const Database = napi < MIN_NODE_API_VERSION ? undefined : loadPackage();
  if (Database === undefined) return undefined;
  return (path) => {
    const database = openFile(Database, path);
    return {
      library: "better-sqlite3",
      exec: (sql) => void database.exec(sql),
      prepare: (sql) => {
        const statement = database.prepare<SqlValue[], SqlValue[]>(sql);
        if (statement.reader) statement.raw(true);
        return {
          run: (...values) => void statement.run(...values),
          all: (...values) => statement.all(...values),
          get: (...values) => statement.get(...values),
        };
      },
      close: () => void database.close(),
    };
  };
}

/** For a missing folder the library throws a TypeError without an SQLite code, so this adds SQLITE_CANTOPEN. */
function openFile(Database: typeof BetterSqlite3, path: string): BetterSqlite3.Database {
  try {
    return new Database(path);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw Object.assign(new Error(error.message, { cause: error }), { code: "SQLITE_CANTOPEN" });
  }
}

/** Loads synchronously, because `sqliteStore` is synchronous, and at run time, because the package is optional. */
function loadPackage(): typeof BetterSqlite3 | undefined {
  const require = createRequire(import.meta.url);
  try {
    return require("better-sqlite3") as typeof BetterSqlite3; // the package's own types describe what it exports
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/** Ends a failed transaction. It may already be rolled back. */
export function rollback(connection: SqliteConnection): void {
  try {
    connection.exec("ROLLBACK");
  } catch {} // SQLite has already rolled back, for example because the disk is full
}

/** Reads a value that changes with each commit over another connection. */
export function dataVersion(connection: SqliteConnection): () => SqlValue | undefined {
  const { embedded } = connection;
  if (embedded !== undefined) return () => embedded.version();
  const statement = connection.prepare("PRAGMA data_version");
  return () => statement.get()?.[0];
}

/** The path of the file. "" when there is none. */
export function pathOf(connection: SqliteConnection): string {
  const [path] = connection.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() ?? [];
  return String(path ?? "");
}

/**
 * Says whether another file, or none, is at the path of the open file: what is written then is gone when the file is closed.
 * Undefined where that cannot be known: in memory, or on a file system without inodes.
 */
export function missingFile(connection: SqliteConnection): (() => string | undefined) | undefined {
  const path = connection.embedded === undefined ? pathOf(connection) : "";
  const inodeOf = (): bigint | undefined => statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
  const inode = path === "" ? undefined : inodeOf();
  if (!inode) return undefined;
  return () => {
    try {
      return inodeOf() === inode ? undefined : `the database file ${path} was deleted or replaced while it was open`;
    } catch {
      return undefined; // the folder cannot be read
    }
  };
}
