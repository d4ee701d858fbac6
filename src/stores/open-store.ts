import type * as databaseStoresModule from "./database-stores.ts";
import { StoreError } from "./errors.ts";
import { memoryStore } from "./memory-store.ts";
import type { OnUpgrade, StoreOptions } from "./options.ts";
import type { ThreadStore } from "./port.ts";

/** Options of `openStore`, for every kind of store. */
export interface OpenStoreOptions extends StoreOptions {
  /** Part of every key, so that a store has no access to other tenants. Default "default". */
  readonly tenant?: string | undefined;
  /** Whether a crash may lose the last appends; see the modes of the stores. A memory store ignores it. Default "durable". */
  readonly mode?: "durable" | "relaxed" | undefined;
  /** Gets the progress while a database of an earlier version is upgraded. A memory store ignores it. Default: none. */
  readonly onUpgrade?: OnUpgrade | undefined;
}

/**
 * Opens the store that a URL names. Loads the code of SQLite and Postgres with the first such URL. In a browser only
 * `memory:` works.
 *
 * @example
 * const store = await openStore("sqlite:./heddle.db");
 * const shared = await openStore("postgres://localhost/heddle", { tenant: "acme" });
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<ThreadStore> {
  const scheme = typeof url === "string" ? url.slice(0, Math.max(0, url.indexOf(":"))) : "";
  switch (scheme) {
    case "memory": {
      const { mode: _mode, onUpgrade: _onUpgrade, ...rest } = options;
      return memoryStore(rest);
    }
    case "sqlite":
    case "file": {
      const path = url.slice(scheme.length + 1).replace(/^\/\/(?=\/)/, "");
      if (path === "") throw badUrl();
      return (await databaseStores()).openSqlite(path, options);
    }
    case "postgres":
    case "postgresql": {
      return (await databaseStores()).openPostgres(url, options);
    }
    default:
      throw badUrl(scheme === "" ? url : undefined);
  }
}

/**
 * The only module of ours that is loaded lazily: it needs Node, and `heddle` must also load where there is no Node.
 * Bundlers for browsers replace it with database-stores-browser.ts (`browser` in package.json).
 */
function databaseStores(): Promise<typeof databaseStoresModule> {
  return import("./database-stores.ts");
}

/** The message quotes only a path without a scheme. A URL may contain a password. */
function badUrl(path?: unknown): StoreError {
  const meant = typeof path === "string" && /^[\w./-]+$/.test(path) ? ` For a file, write "sqlite:${path}".` : "";
  const message = `A store URL is "memory:", "sqlite:./heddle.db" or "postgres://user@host/database".${meant}`;
  return new StoreError({ code: "store_url_invalid", message });
}
