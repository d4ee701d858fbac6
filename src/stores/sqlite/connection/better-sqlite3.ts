import { createRequire } from "node:module";
import type BetterSqlite3 from "better-sqlite3";
import type { OpenConnection, SqlValue } from "./connection.ts";

/** The Node-API version that better-sqlite3 13 needs. With an older one (Node 22.13) it crashes the process. */
const LEAST_NAPI = 10;

/** The optional peer dependency, if it is installed and can run. */
export function betterSqlite3(napi = Number(process.versions["napi"])): OpenConnection | undefined {
  const Database = napi < LEAST_NAPI ? undefined : load();
  if (Database === undefined) return undefined;
  return (path) => {
    const database = open(Database, path);
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
function open(Database: typeof BetterSqlite3, path: string): BetterSqlite3.Database {
  try {
    return new Database(path);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw Object.assign(new Error(error.message, { cause: error }), { code: "SQLITE_CANTOPEN" });
  }
}

/** Loads synchronously, because `sqliteStore` is synchronous, and at run time, because the package is optional. */
function load(): typeof BetterSqlite3 | undefined {
  const require = createRequire(import.meta.url);
  try {
    return require("better-sqlite3") as typeof BetterSqlite3; // the package's own types describe what it exports
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
