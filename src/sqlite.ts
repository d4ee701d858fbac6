export type { OpenConnection, SqliteConnection, SqliteStatement, SqlValue } from "./stores/sqlite/connection.ts";
export type { SqliteMode } from "./stores/sqlite/pragmas.ts";
export { type SqliteStoreOptions, sqliteStore } from "./stores/sqlite/sqlite-store.ts";
