import "./thread/node-version.ts";

export type {
  OpenConnection,
  SqliteConnection,
  SqliteStatement,
  SqlValue,
} from "./stores/sqlite/connection.ts";
export { type SqliteMode, type SqliteStoreOptions, sqliteStore } from "./stores/sqlite/sqlite-store.ts";
