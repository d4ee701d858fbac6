import type { ThreadStore } from "./port.ts";
import type { PostgresStoreOptions } from "./postgres/options.ts";
import type { SqliteStoreOptions } from "./sqlite/sqlite-store.ts";

// Bundlers for browsers take database-stores-browser.ts instead (`browser` in package.json): SQLite and Postgres need Node.

export async function openSqlite(path: string, options: SqliteStoreOptions): Promise<ThreadStore> {
  return (await import("./sqlite/sqlite-store.ts")).sqliteStore(path, options);
}

export async function openPostgres(url: string, options: PostgresStoreOptions): Promise<ThreadStore> {
  return (await import("./postgres/postgres-store.ts")).openPostgresStore(url, options);
}
