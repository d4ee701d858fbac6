import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as endOfTurn, setTimeout as sleep } from "node:timers/promises";
import type postgres from "postgres";
import { untilAborted } from "../abort.ts";
import { StoreError } from "../errors.ts";
import { callTimedOut } from "./errors.ts";
import { badUrl } from "./options.ts";

/** A connection pool that returns 64-bit integers as numbers. All our integers are safe integers. */
export type Sql = postgres.Sql<{ bigint: number }>;

/** A statement, or a fragment of one. It starts when it is executed or awaited. */
export type Query = postgres.PendingQuery<postgres.Row[]>;

type PostgresLibrary = typeof postgres;

/** Loads the package on first use, because it is an optional peer: `heddle/postgres` can be imported without it. */
export async function loadLibrary(): Promise<PostgresLibrary> {
  try {
    return (await import("postgres")).default;
  } catch (cause) {
    const message = "The Postgres store needs the package postgres. Install it: npm i postgres";
    throw new StoreError({ code: "store_driver_missing", message, cause });
  }
}

const MAX_BACKOFF_SECONDS = 1;

function backoffSeconds(retries: number): number {
  return (0.5 + Math.random() / 2) * Math.min(3 ** retries / 100, MAX_BACKOFF_SECONDS);
}

/** The object ids of types. They are the same on every server. */
const BIGINT = 20;
const BIGINT_ARRAY = 1016;
const TEXT_ARRAY = 1009;

interface PoolOptions {
  /** The largest number of connections. */
  readonly max: number;
  /** Whether to use prepared statements. The URL parameter `prepare` takes precedence. Default true. */
  readonly prepare?: boolean;
  readonly onClose?: () => void;
}

/** Connections that open with the first query. */
export interface Pool {
  readonly sql: Sql;
  /** Closes the connections. Pending queries fail. */
  readonly end: () => Promise<void>;
}

/**
 * Creates connection pools. A pool reconnects after a lost connection, but its next queries may fail or wait forever: the
 * library keeps the error and the unsent bytes of the connection before. After `onClose`, use a new pool.
 */
export type PoolFactory = (options: PoolOptions) => Pool;

export function poolFactory(library: PostgresLibrary, url: string): PoolFactory {
  return ({ max, prepare = true, onClose = () => {} }) => {
    const sockets = new SocketSet();
    try {
      const sql: Sql = library(url, {
        max,
        ...(!/[?&]prepare=/.test(url) && { prepare }),
        onclose: onClose,
        onnotice: () => {},
        backoff: backoffSeconds,
        connection: { application_name: "heddle" },
        // Off: it would load the server's types at each connect, and a lost connection would be an unhandled rejection.
        fetch_types: false,
        types: {
          bigint: { to: BIGINT, from: [BIGINT], serialize: String, parse: Number },
          bigints: { to: BIGINT_ARRAY, from: [], serialize: arrayLiteral, parse: String },
          texts: { to: TEXT_ARRAY, from: [], serialize: arrayLiteral, parse: String },
        },
        // The library's types lack `socket`. With several hosts the library itself tries one after the other.
        ...(!namesSeveralHosts(url) && {
          socket: (address: Parameters<SocketSet["connect"]>[0]) => sockets.connect(address),
        }),
      });
      return {
        sql,
        async end() {
          await sql.end({ timeout: 0 });
          await sockets.close();
        },
      };
    } catch {
      throw badUrl(); // the library's message quotes the URL
    }
  };
}

/** Postgres writes arrays as `{"a","b",null}`. Only parameters are arrays here; no query returns one. */
function arrayLiteral(values: readonly (string | number | null | undefined)[]): string {
  const items = values.map((value) => (value == null ? "null" : `"${String(value).replace(/["\\]/g, "\\$&")}"`));
  return `{${items.join()}}`;
}

function namesSeveralHosts(url: string): boolean {
  return /^\w+:\/\/[^/?]*,/.test(url);
}

const CLOSE_GRACE_MS = 500;

/** The library's address options. They are lists, because a URL may name several hosts. */
interface Address {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

/**
 * Tracks the sockets of a pool, so that all are closed with it. The library reconnects also after its end, and without a wait
 * when the server closes a connection before it has sent anything. Both would be loops without end.
 */
class SocketSet {
  readonly #open = new Set<Socket>();
  #closed = false;
  /** How many sockets in a row the server has closed before it sent a byte. */
  #silent = 0;

  /** Resolves to a socket that is still connecting. The library handles its errors, and ends its queries when this rejects. */
  async connect({ host: [host = "localhost"], port: [port = 5432], path }: Address): Promise<Socket> {
    if (this.#silent > 0) await sleep(1000 * backoffSeconds(this.#silent), undefined, { ref: false });
    if (this.#closed) throw new Error("This pool was closed.");
    const socket = path ? connect(path) : connect({ host, port, noDelay: true });
    this.#open.add(socket);
    socket.once("close", (hadError) => {
      this.#open.delete(socket);
      this.#silent = hadError || socket.bytesRead > 0 ? 0 : this.#silent + 1;
    });
    return Object.assign(socket, { host, port }); // the library checks the certificate against this host
  }

  /** Gives open connections a short time to close normally, then destroys all sockets. */
  async close(): Promise<void> {
    this.#closed = true;
    const talking = [...this.#open].filter(({ connecting }) => !connecting);
    await waitAtMost(CLOSE_GRACE_MS, Promise.allSettled(talking.map((socket) => once(socket, "close"))));
    for (const socket of this.#open) socket.destroy();
  }
}

/**
 * Runs one call with a deadline. When it passes, the call rejects with `store_timeout`, or the error of `reasonOf`, and the signal that `work` gets
 * aborts with the same error. Does not wait until the work has stopped.
 */
export async function withDeadline<Result>(
  ms: number,
  work: (signal: AbortSignal) => Promise<Result>,
  reasonOf: () => unknown = () => callTimedOut(ms),
): Promise<Result> {
  const call = new AbortController();
  const timer = setTimeout(() => call.abort(reasonOf()), ms);
  try {
    return await untilAborted(call.signal, work(call.signal));
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for the work, at most `ms`. The timer does not keep the process alive. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work, sleep(ms, undefined, { ref: false, signal: over.signal })]).finally(() => over.abort());
}

/** Waits for `count` turns of the event loop. */
export async function waitForTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await endOfTurn();
}
