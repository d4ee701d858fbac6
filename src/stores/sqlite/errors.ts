import { HeddleError } from "../../thread/errors.ts";
import { CorruptionError, StoreError, StoreFullError } from "../errors.ts";

const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const TOOBIG = 18;
const NOTADB = 26;

/** SQLite reports this instead of FULL when there is no space for the shared memory of its log. */
const SHMSIZE = { code: "SQLITE_IOERR_SHMSIZE", errcode: 4874 };

const BY_NAME: { readonly [name: string]: number } = {
  SQLITE_BUSY: BUSY,
  SQLITE_LOCKED: LOCKED,
  SQLITE_READONLY: READONLY,
  SQLITE_IOERR: IOERR,
  SQLITE_CORRUPT: CORRUPT,
  SQLITE_FULL: FULL,
  SQLITE_CANTOPEN: CANTOPEN,
  SQLITE_TOOBIG: TOOBIG,
  SQLITE_NOTADB: NOTADB,
};

/** Runs a SQLite call and converts its errors to HeddleErrors. */
export function translateErrors<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw HeddleError.isInstance(error) ? error : storeError(error);
  }
}

function storeError(cause: unknown): HeddleError {
  switch (resultCode(cause)) {
    case BUSY:
    case LOCKED:
      return storeFailure(
        "store_busy",
        "Another process held the database lock too long. Use one writing process per file, or try again.",
        cause,
        true,
      );
    case READONLY:
      return storeFailure(
        "store_read_only",
        "The database file or its folder cannot be written. Check its permissions.",
        cause,
      );
    case CORRUPT:
      return new CorruptionError({ seq: -1, trouble: "SQLite reports that the file is malformed", cause });
    case FULL:
      return new StoreFullError(cause);
    case CANTOPEN:
      return storeFailure(
        "store_unreachable",
        "The database file cannot be opened. Check that its folder exists and can be written.",
        cause,
      );
    case TOOBIG:
      return storeFailure("too_large", "The entry is larger than SQLite can store.", cause);
    case NOTADB:
      return storeFailure("store_not_heddle", "The file is not a SQLite database. Choose another path.", cause);
    case IOERR:
      return storeFailure(
        "store_failed",
        "The disk reported an error. Check the disk before you continue.",
        cause,
        true,
      );
    default:
      return storeFailure("store_failed", "SQLite refused the operation. See `cause`.", cause);
  }
}

/** SQLite's primary result code, from either library. */
function resultCode(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const errcode = "errcode" in error && typeof error.errcode === "number" ? error.errcode : undefined;
  const name = "code" in error && typeof error.code === "string" ? error.code : "";
  if (errcode === SHMSIZE.errcode || name === SHMSIZE.code) return FULL;
  if (errcode !== undefined) return errcode & 0xff;
  return BY_NAME[name.split("_").slice(0, 2).join("_")];
}

function storeFailure(code: string, message: string, cause: unknown, retryable = false): StoreError {
  return new StoreError({ code, message, cause, retryable });
}

/** How long a call waits for the lock of another process before it fails with `store_busy`. */
export const BUSY_TIMEOUT_MS = 5000;

/** Calls that still pause before their first try after one had to wait, so that other processes get the lock too. */
const CALLS_WITH_PAUSE = 8;

/**
 * The pauses of a connection between tries to get a lock. A call sleeps for half of the time that calls usually wait, and then
 * tries more and more often. So tries cost little CPU time, and of many processes the one that waits longest comes first.
 */
export class BusyPauses {
  /** About how long a call has to wait. */
  #usualWaitMs = 0;
  #callsWithPause = 0;

  /** The pause before the first try of a call. 0 when no other process wrote lately. */
  first(): number {
    return this.#callsWithPause > 0 ? vary(between(1, this.#usualWaitMs / 2, 250)) : 0;
  }

  /** The pause before the next try of a call that has waited so long. It shrinks fast once the usual wait is over. */
  next(waitedMs: number): number {
    this.#callsWithPause = CALLS_WITH_PAUSE;
    const usual = this.#usualWaitMs;
    const age = usual === 0 ? 1 : Math.max(1, waitedMs / usual);
    return vary(between(1, (usual || waitedMs) / 16 / age ** 3, 25));
  }

  /** A call got the lock after this time. */
  end(waitedMs: number): void {
    this.#callsWithPause = Math.max(0, this.#callsWithPause - 1);
    this.#usualWaitMs = this.#callsWithPause === 0 ? 0 : (this.#usualWaitMs + waitedMs) / 2;
  }
}

/** Random, so that processes do not try at the same moments. */
function vary(ms: number): number {
  return ms * (0.75 + Math.random() / 2);
}

export function between(least: number, value: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

export function isBusy(error: unknown): boolean {
  return HeddleError.isInstance(error) && error.code === "store_busy";
}

/** Runs a read. While another process has the file locked, for example to recover it, tries again without blocking. */
export async function retryBusy<Result>(work: () => Result): Promise<Result> {
  const since = performance.now();
  for (;;) {
    try {
      return translateErrors(work);
    } catch (error) {
      if (!isBusy(error) || performance.now() - since > BUSY_TIMEOUT_MS) throw error;
    }
    await pause(1 + Math.random() * 10);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
