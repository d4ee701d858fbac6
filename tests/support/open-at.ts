import type { ThreadDatabase } from "../../src/stores/database.ts";
import type { OpenStoreOptions } from "../../src/stores/open-store.ts";
import type { StoreOptions } from "../../src/stores/options.ts";
import type { ThreadStore } from "../../src/stores/port.ts";
import { postgresDatabase } from "../../src/stores/postgres/postgres-store.ts";
import { betterSqlite3, type OpenConnection } from "../../src/stores/sqlite/connection.ts";
import { sqliteDatabase, sqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";

/**
 * As `openStore`, but on the sources and for child processes too; "better-sqlite3:" names the other library, and what
 * follows a "#" in the URL of a Postgres store its schema.
 */
export async function openAt(url: string, options: OpenStoreOptions = {}): Promise<ThreadStore> {
  const [scheme = ""] = url.split(":", 1);
  const path = url.slice(scheme.length + 1);
  switch (scheme) {
    case "sqlite":
      return sqliteStore(path, options);
    case "better-sqlite3":
      return sqliteStore(path, { ...options, connect: installedBetterSqlite3() });
    default: {
      const { openPostgresStore } = await import("../../src/stores/postgres/postgres-store.ts");
      const [server = "", schema] = url.split("#");
      return openPostgresStore(server, { ...options, schema });
    }
  }
}

/** The same for all tenants. */
export function openDatabaseAt(url: string, options: StoreOptions = {}): ThreadDatabase {
  const [scheme = ""] = url.split(":", 1);
  const path = url.slice(scheme.length + 1);
  switch (scheme) {
    case "sqlite":
      return sqliteDatabase(path, options);
    case "better-sqlite3":
      return sqliteDatabase(path, { ...options, connect: installedBetterSqlite3() });
    default: {
      const [server = "", schema] = url.split("#");
      return postgresDatabase(server, { ...options, schema });
    }
  }
}

export function installedBetterSqlite3(): OpenConnection {
  const connect = betterSqlite3();
  if (connect === undefined) throw new Error("better-sqlite3 is a development dependency: run npm ci");
  return connect;
}
