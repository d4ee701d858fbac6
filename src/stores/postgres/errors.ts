import { HeddleError } from "../../thread/errors.ts";
import { StoreError, StoreFullError, storeClosed } from "../errors.ts";

interface ErrorKind {
  readonly code: string;
  readonly retryable: boolean;
  readonly message: string;
}

const UNREACHABLE: ErrorKind = {
  code: "store_unreachable",
  retryable: true,
  message:
    "The connection to Postgres failed or was lost. Check that the server runs; an append that carries entry ids is safe to repeat.",
};
const NO_DATABASE: ErrorKind = {
  code: "store_unreachable",
  retryable: false,
  message: "The server has no database of that name. Create it (createdb), or correct the URL.",
};
const AUTH_FAILED: ErrorKind = {
  code: "store_auth_failed",
  retryable: false,
  message: "Postgres refused the login. Check user and password in the URL, and the server's pg_hba.conf.",
};
/** A failover may pass through a standby, so this is an outage as any other. */
const READ_ONLY: ErrorKind = {
  ...UNREACHABLE,
  message: "This server is read-only, perhaps a standby during a failover. Try again, or connect to the primary.",
};
const BUSY: ErrorKind = {
  code: "store_busy",
  retryable: true,
  message:
    "Postgres is too busy: too many connections, a lock that another session held too long, or a statement over the statement_timeout of the role. Try again.",
};

/** SQLSTATE 08P01, a protocol violation. Poolers use it when they have no server connection. */
const POOLER: ErrorKind = {
  code: "store_unreachable",
  retryable: true,
  message:
    "The pooler in front of Postgres has no server for this connection, or refused a parameter of the URL. Check its log; an append that carries entry ids is safe to repeat.",
};
const NEEDS_UNPREPARED: ErrorKind = {
  code: "store_failed",
  retryable: false,
  message: "A pooler between this store and Postgres loses prepared statements. Add ?prepare=false to the URL.",
};

/** By SQLSTATE. */
const STATES: { readonly [state: string]: ErrorKind } = {
  "28P01": AUTH_FAILED,
  "28000": AUTH_FAILED,
  "3D000": NO_DATABASE,
  "25006": READ_ONLY,
  "53200": BUSY, // also when the table of locks is full
  "53300": BUSY,
  "55P03": BUSY,
  "57014": BUSY,
  "40001": BUSY,
  "40P01": BUSY,
  "08P01": POOLER,
  "26000": NEEDS_UNPREPARED,
  "42P05": NEEDS_UNPREPARED,
  "25P03": UNREACHABLE,
  "57P01": UNREACHABLE,
  "57P02": UNREACHABLE,
  "57P03": UNREACHABLE,
};

/** By the library's own error codes. */
const CONNECTION: { readonly [code: string]: ErrorKind } = {
  CONNECT_TIMEOUT: UNREACHABLE,
  CONNECTION_CLOSED: UNREACHABLE,
  CONNECTION_DESTROYED: UNREACHABLE,
  SASL_SIGNATURE_MISMATCH: AUTH_FAILED,
};

/** Converts an error of a Postgres call to a HeddleError. Returns a HeddleError unchanged. */
export function storeError(error: unknown): HeddleError {
  if (HeddleError.isInstance(error)) return error;
  const code = textOf(error, "code");
  if (code === "CONNECTION_ENDED") return storeClosed();
  if (code === "53100" || code === "ENOSPC") return new StoreFullError(bare(error, code));
  return new StoreError({ ...kindOf(error, code), cause: bare(error, code) });
}

/** The connection was lost, so the outcome of pending work is unknown. */
export function connectionLost(): StoreError {
  return new StoreError(UNREACHABLE);
}

/** The server may still complete the call. */
export function callTimedOut(ms: number, isPrepared = false): StoreError {
  const message =
    `Postgres did not answer within ${ms} ms (option callTimeoutMs). Check that server, pooler and network respond; ` +
    `an append that carries entry ids is safe to repeat.${isPrepared ? " With prepare=true, the pooler must support prepared statements." : ""}`;
  return new StoreError({ code: TIMEOUT, retryable: true, message });
}

const TIMEOUT = "store_timeout";

export function isTimeout(error: unknown): boolean {
  return StoreError.isInstance(error) && error.code === TIMEOUT;
}

export function isConnectionLoss(error: unknown): boolean {
  const { code, retryable } = storeError(error);
  return code === UNREACHABLE.code && retryable;
}

function kindOf(error: unknown, code: string): ErrorKind {
  const known = STATES[code] ?? CONNECTION[code];
  if (known !== undefined) return known;
  // A transaction that is to write does not begin on a standby. The text may be in another language, so the place counts.
  if (code === "0A000" && /^call_bool_check/.test(textOf(error, "routine"))) return READ_ONLY;
  if (code === "42501") return denied(error);
  const isSocketError = textOf(error, "syscall") !== "" || /^E[A-Z]+$/.test(code);
  if (isSocketError || /^08/.test(code)) return UNREACHABLE;
  const name = code === "" ? "no code" : code;
  return { code: "store_failed", retryable: false, message: `Unexpected Postgres error: ${name}. See \`cause\`.` };
}

/** The role lacks a right. The text may be in another language; then it names no table. */
function denied(error: unknown): ErrorKind {
  const [, what] = /^permission denied for (\w+ \w+)$/.exec(textOf(error, "message")) ?? [];
  const message = `Postgres denied permission to the role of this store${what === undefined ? "" : `: ${what}`}. Grant it the right to read and write all tables of the schema.`;
  return { code: "store_read_only", retryable: false, message };
}

/** Keeps only name, code and severity. The original error holds the statement, its values and the server's address. */
function bare(error: unknown, code: string): Error {
  const parts = [textOf(error, "name") || "Error", code, textOf(error, "severity")];
  return new Error(parts.filter((part) => part !== "").join(" "));
}

function textOf(error: unknown, key: string): string {
  const value: unknown = typeof error === "object" && error !== null ? Reflect.get(error, key) : undefined;
  return typeof value === "string" ? value : "";
}
