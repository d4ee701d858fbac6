import type { SqliteConnection } from "./connection.ts";

/** Ends a failed transaction. It may already be rolled back. */
export function rollBack(connection: SqliteConnection): void {
  try {
    connection.exec("ROLLBACK");
  } catch {} // SQLite has already rolled back, for example because the disk is full
}
