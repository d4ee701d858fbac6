import type { SqliteConnection } from "./connection.ts";

/** Ends a transaction that failed, whatever is left of it. */
export function rollBack(connection: SqliteConnection): void {
  try {
    connection.exec("ROLLBACK");
  } catch {} // SQLite has rolled back by itself, as it does when the disk is full
}
