import { StoreError } from "./errors.ts";
import { memoryStore } from "./memory/memory-store.ts";
import type { ThreadStore } from "./port.ts";
import type { StoreOptions } from "./ports.ts";

export interface OpenStoreOptions extends StoreOptions {
  /** Part of every key: a store cannot name what belongs to another tenant. Default "default". */
  readonly tenant?: string | undefined;
  /** What a crash may take back; see the modes of the stores. A store in memory has none. Default "durable". */
  readonly mode?: "durable" | "relaxed" | undefined;
}

/** Names kept out of import() so that a bundler for browsers does not follow them to Node's modules. */
const ADAPTERS = {
  sqlite: "heddle/sqlite",
  postgres: "heddle/postgres",
} as const;

/**
 * Opens the store a URL names. Drivers are loaded when they are asked for; in a bundled server import `sqliteStore` or
 * `postgresStore` instead.
 *
 * @example
 * const store = await openStore("sqlite:./heddle.db");
 * const shared = await openStore("postgres://localhost/heddle", { tenant: "acme" });
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<ThreadStore> {
  const scheme = typeof url === "string" ? url.slice(0, Math.max(0, url.indexOf(":"))) : "";
  switch (scheme) {
    case "memory": {
      const { mode: _, ...rest } = options;
      return memoryStore(rest);
    }
    case "sqlite":
    case "file": {
      const path = url.slice(scheme.length + 1).replace(/^\/\/(?=\/)/, "");
      if (path === "") throw badUrl();
      const { sqliteStore }: typeof import("./sqlite/sqlite-store.ts") = await import(ADAPTERS.sqlite);
      return sqliteStore(path, options);
    }
    case "postgres":
    case "postgresql": {
      const { openPostgresStore }: typeof import("./postgres/postgres-store.ts") = await import(ADAPTERS.postgres);
      return openPostgresStore(url, options);
    }
    default:
      throw badUrl();
  }
}

/** Says nothing of what was given: it may hold a password. */
function badUrl(): StoreError {
  const message = 'A store URL is "memory:", "sqlite:./heddle.db" or "postgres://user@host/database".';
  return new StoreError({ code: "store_url_invalid", message });
}
