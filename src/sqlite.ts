import "./thread/node-version.ts";

export type {
  OpenConnection,
  SqliteConnection,
  SqliteStatement,
  SqlValue,
} from "./stores/sqlite/connection/connection.ts";
export type { SqliteMode } from "./stores/sqlite/connection/pragmas.ts";
export { type SqliteStoreOptions, sqliteStore } from "./stores/sqlite/sqlite-store.ts";
