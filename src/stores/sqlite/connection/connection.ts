/** A value of a SQLite column or parameter. All our integers are safe integers. */
export type SqlValue = string | number | null | Uint8Array;

export interface SqliteStatement {
  run(...values: readonly SqlValue[]): void;
  /** Returns rows as arrays, in the order of the selected columns. */
  all(...values: readonly SqlValue[]): readonly (readonly SqlValue[])[];
  get(...values: readonly SqlValue[]): readonly SqlValue[] | undefined;
}

/**
 * The synchronous part of a SQLite library that the store needs. Errors must carry SQLite's result code in `errcode` (a
 * number) or in `code` (such as "SQLITE_FULL").
 */
export interface SqliteConnection {
  /** The name for messages, such as "node:sqlite". */
  readonly library: string;
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export type OpenConnection = (path: string) => SqliteConnection;
