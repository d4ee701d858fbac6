import "./thread/node-version.ts";

export type {
  OpenConnection,
  SqliteConnection,
  SqliteStatement,
  SqlValue,
} from "./stores/sqlite/connection.ts";
export {
  type SqliteDatabaseOptions,
  type SqliteMode,
  type SqliteStoreOptions,
  sqliteDatabase,
  sqliteStore,
} from "./stores/sqlite/sqlite-store.ts";
