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
