import type { DatabaseSync } from "node:sqlite";
import type { OpenConnection, SqliteStatement, SqlValue } from "./connection.ts";

/** Older versions of SQLite can corrupt a database in WAL mode. */
const FIRST_GOOD = [3, 51, 3] as const;

/** Node's own SQLite, if its version is safe to use. */
export function nodeSqlite(): OpenConnection | undefined {
  const { sqlite } = process.versions;
  if (sqlite === undefined || !isAtLeast(sqlite, FIRST_GOOD)) return undefined;
  // A flag can disable the module; the types do not say so.
  const builtin = process.getBuiltinModule("node:sqlite") as typeof import("node:sqlite") | undefined;
  if (builtin === undefined) return undefined;
  return (path) => {
    const database = new builtin.DatabaseSync(path);
    return {
      library: `node:sqlite ${sqlite}`,
      exec: (sql) => database.exec(sql),
      prepare: (sql) => prepare(database, sql),
      close: () => database.close(),
    };
  };
}

function prepare(database: DatabaseSync, sql: string): SqliteStatement {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  return {
    run: (...values) => void statement.run(...values),
    // setReturnArrays returns arrays; the types still say objects.
    all: (...values) => statement.all(...values) as unknown as SqlValue[][],
    get: (...values) => statement.get(...values) as SqlValue[] | undefined,
  };
}

function isAtLeast(version: string, minimum: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  const differing = minimum.findIndex((part, index) => parts[index] !== part);
  return differing === -1 || (parts[differing] ?? 0) > (minimum[differing] ?? 0);
}
