import { StoreError } from "../../errors.ts";
import type { SqliteConnection, SqlValue } from "./connection.ts";

/**
 * "durable": an acknowledged append survives a power failure. "relaxed": it survives a crash of the process, but a power
 * failure may lose the last appends. "relaxed" is faster on disks with slow sync.
 */
export type SqliteMode = "durable" | "relaxed";

const SYNCHRONOUS = { durable: 2, relaxed: 1 } as const; // FULL, NORMAL

export const BUSY_TIMEOUT_MS = 5000;

/** 16 MB of log between checkpoints. Writes to many threads change the same pages often, so fewer checkpoints are faster. */
const CHECKPOINT_PAGES = 4096;

/** Sets the pragmas for durability and reads them back, because SQLite ignores unknown pragmas and values. */
export function setPragmas(connection: SqliteConnection, mode: SqliteMode): void {
  const wanted: readonly (readonly [name: string, set: string | number, read: SqlValue])[] = [
    ["busy_timeout", BUSY_TIMEOUT_MS, BUSY_TIMEOUT_MS],
    ["journal_mode", "wal", "wal"],
    ["synchronous", SYNCHRONOUS[mode], SYNCHRONOUS[mode]],
    ["wal_autocheckpoint", CHECKPOINT_PAGES, CHECKPOINT_PAGES],
    ["fullfsync", 1, 1],
    ["checkpoint_fullfsync", 1, 1],
    ["cell_size_check", 1, 1],
    ["trusted_schema", 0, 0],
  ];
  for (const [name, set] of wanted) connection.exec(`PRAGMA ${name} = ${set}`);
  for (const [name, , read] of wanted) {
    const [value] = connection.prepare(`PRAGMA ${name}`).get() ?? [];
    if (value !== read) throw notSet(name, read);
  }
}

function notSet(name: string, wanted: SqlValue): StoreError {
  const advice = "Keep the database on a local disk: network file systems do not support WAL mode.";
  return new StoreError({
    code: "store_failed",
    message: `SQLite did not accept PRAGMA ${name} = ${wanted}. ${advice}`,
  });
}
