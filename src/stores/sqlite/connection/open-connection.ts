import { StoreError } from "../../errors.ts";
import { betterSqlite3 } from "./better-sqlite3.ts";
import type { OpenConnection } from "./connection.ts";
import { nodeSqlite } from "./node-sqlite.ts";

/** Uses Node's SQLite if it is safe, else the optional peer dependency. */
export function findSqlite(): OpenConnection {
  const open = nodeSqlite() ?? betterSqlite3();
  if (open !== undefined) return open;
  const message =
    `Node ${process.versions.node} has no SQLite 3.51.3 or later; older versions can corrupt a file in WAL mode. ` +
    "Use Node 24.15 or later; or, on Node 22.14 or later, run: npm install better-sqlite3@13";
  throw new StoreError({ code: "store_driver_missing", message });
}
