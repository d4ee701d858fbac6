import type { ThreadStore } from "./port.ts";
import { openPostgresStore } from "./postgres/postgres-store.ts";
import { type SqliteStoreOptions, sqliteStore } from "./sqlite/sqlite-store.ts";

// Bundlers for browsers take database-stores-browser.ts instead (`browser` in package.json): SQLite and Postgres need Node.

export { openPostgresStore as openPostgres };

export async function openSqlite(path: string, options: SqliteStoreOptions): Promise<ThreadStore> {
  return sqliteStore(path, options);
}
