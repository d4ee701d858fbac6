import { checkName } from "../../thread/options.ts";
import { StoreError } from "../errors.ts";
import {
  checkCallback,
  checkOptions,
  invalidOption,
  type OnUpgrade,
  STORE_OPTIONS,
  type StoreOptions,
} from "../options.ts";

/**
 * "durable": an acknowledged append survives a crash of the server and a power failure. "relaxed"
 * (synchronous_commit=off): it survives the end of this process, but a crash of the server may lose the appends of the
 * last fraction of a second. The remaining entries are always a complete prefix.
 */
export type PostgresMode = "durable" | "relaxed";

/** The durability, schema, connections and deadlines of a Postgres database, and the ports of its stores. */
export interface PostgresDatabaseOptions extends StoreOptions {
  /** Default "durable". */
  readonly mode?: PostgresMode | undefined;
  /** The Postgres schema for the tables. It is created when it is missing. Default "heddle". */
  readonly schema?: string | undefined;
  /**
   * The server's own URL, when `url` leads to a pooler: notifications come over one connection there. Default: `url`. Without
   * it, watchers behind a pooler look every `pollMs`, and a warning says so.
   */
  readonly listenUrl?: string | undefined;
  /**
   * Gets the progress while a database of an earlier version is upgraded, by this process or another. Default: none. Calls
   * wait for the upgrade as long as for any answer; then they reject with `store_busy`, and the upgrade continues.
   */
  readonly onUpgrade?: OnUpgrade | undefined;
  /** Where warnings go. Default `console.warn`. */
  readonly warn?: ((message: string) => void) | undefined;
  /** At least 3, default 10. A third of them write, one listens, the others read. They are opened when needed. */
  readonly maxConnections?: number | undefined;
  /**
   * How long a call may wait for Postgres, in milliseconds; default 30,000. Then the call rejects with `store_timeout`, and
   * the next call opens a new connection. Raise it if `list({ search })` has to read many threads.
   */
  readonly callTimeoutMs?: number | undefined;
}

/** The options of a Postgres database, and the tenant of the one store in it. */
export interface PostgresStoreOptions extends PostgresDatabaseOptions {
  /** Part of every key, so that a store has no access to other tenants. Default "default". */
  readonly tenant?: string | undefined;
}

/** Options with every default filled in. */
export interface PostgresSettings {
  readonly url: string;
  readonly listenUrl: string | undefined;
  readonly onUpgrade: OnUpgrade | undefined;
  readonly warn: (message: string) => void;
  readonly mode: PostgresMode;
  readonly schema: string;
  /** How many connections write, each for one tenant at a time. */
  readonly writers: number;
  /** How many connections read. One more listens for notifications. */
  readonly readers: number;
  readonly callTimeoutMs: number;
}

const MAX_TIMER_MS = 2 ** 31 - 1;

const DATABASE_OPTIONS = [
  "mode",
  "schema",
  "listenUrl",
  "onUpgrade",
  "warn",
  "maxConnections",
  "callTimeoutMs",
  ...STORE_OPTIONS,
] as const;

interface CheckedOptions {
  readonly settings: PostgresSettings;
  readonly ports: StoreOptions;
}

export function checkPostgresOptions(
  url: string,
  options: PostgresStoreOptions,
): CheckedOptions & { readonly tenant: string } {
  const { tenant = "default", ...database } = checkOptions(options, ["tenant", ...DATABASE_OPTIONS]);
  checkName("tenant", tenant);
  return { tenant, ...checkDatabaseOptions(url, database) };
}

export function checkDatabaseOptions(url: string, options: PostgresDatabaseOptions): CheckedOptions {
  const {
    mode = "durable",
    schema = "heddle",
    listenUrl,
    onUpgrade,
    warn = systemWarn,
    maxConnections = 10,
    callTimeoutMs = 30_000,
    ...ports
  } = checkOptions(options, DATABASE_OPTIONS);
  if (mode !== "durable" && mode !== "relaxed") throw invalidOption("mode", '"durable" or "relaxed"');
  if (!isIdentifier(schema)) throw invalidOption("schema", "1 to 63 lower-case letters, digits and underscores");
  if (!(Number.isSafeInteger(maxConnections) && maxConnections >= 3))
    throw invalidOption("maxConnections", "a whole number from 3");
  if (!(Number.isSafeInteger(callTimeoutMs) && callTimeoutMs > 0 && callTimeoutMs <= MAX_TIMER_MS))
    throw invalidOption("callTimeoutMs", "a whole number from 1 to 2147483647");
  checkCallback("warn", warn);
  checkCallback("onUpgrade", onUpgrade);
  for (const given of listenUrl === undefined ? [url] : [url, listenUrl])
    if (typeof given !== "string" || !/^postgres(ql)?:\/\//.test(given)) throw badUrl();
  const writers = Math.floor(maxConnections / 3);
  const readers = maxConnections - writers - 1;
  const urls = { url: withoutChannelBinding(url), listenUrl: listenUrl && withoutChannelBinding(listenUrl) };
  return { settings: { ...urls, onUpgrade, warn, mode, schema, writers, readers, callTimeoutMs }, ports };
}

function systemWarn(message: string): void {
  // biome-ignore lint/suspicious/noConsole: without the option `warn`, the console is where warnings are read
  console.warn(message);
}

/** Hosted databases add this parameter to their URLs. The library would send it to the server, which rejects it. */
function withoutChannelBinding(url: string): string {
  return url.replace(/([?&])channel_binding=[^&]*&?/, "$1").replace(/[?&]$/, "");
}

/** The message does not quote the URL, because it may contain a password. */
export function badUrl(): StoreError {
  const message = 'The URL of a Postgres store is "postgres://user:password@host:5432/database".';
  return new StoreError({ code: "store_url_invalid", message });
}

/** Accepts only names that need no quotes in SQL. Names that begin with pg_ are reserved by Postgres. */
function isIdentifier(schema: unknown): schema is string {
  return typeof schema === "string" && /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(schema);
}
