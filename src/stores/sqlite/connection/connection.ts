/** What SQLite takes and gives. Every integer of ours is a safe one. */
export type SqlValue = string | number | null | Uint8Array;

export interface SqliteStatement {
  run(...values: readonly SqlValue[]): void;
  /** Rows as arrays, in the order of the columns asked for. */
  all(...values: readonly SqlValue[]): readonly (readonly SqlValue[])[];
  get(...values: readonly SqlValue[]): readonly SqlValue[] | undefined;
}

/**
 * The little of a SQLite library that the store needs, all of it synchronous. Errors pass through as the library throws
 * them, with SQLite's result code in `errcode` (a number) or `code` (such as "SQLITE_FULL").
 */
export interface SqliteConnection {
  /** Such as "node:sqlite", for messages. */
  readonly library: string;
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export type OpenConnection = (path: string) => SqliteConnection;
