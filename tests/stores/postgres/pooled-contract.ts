import type { OpenStoreOptions, ThreadStore } from "heddle";
import { postgresDatabase } from "heddle/postgres";
import { type ContractCase, storeContract } from "heddle/testing";
import { spawnWorker } from "../../support/spawn-worker.ts";
import { schema } from "./open.ts";

/** The contract for stores whose URL leads to a pooler. */
export function pooledContract(url: string): readonly ContractCase[] {
  const spawn = spawnWorker(`${url}#${schema}`);
  return storeContract({
    open: (options) => openInDatabase(url, options),
    openDatabase: (options) => postgresDatabase(url, { schema, warn: () => {}, ...options }),
    spawn,
    timeoutMs: 300_000,
  });
}

/** A store of a database for many tenants. Closing it closes the database, as a process of its own does when it ends. */
function openInDatabase(url: string, { tenant = "default", ...options }: OpenStoreOptions): ThreadStore {
  const database = postgresDatabase(url, { schema, warn: () => {}, ...options });
  const store = database.tenant(tenant);
  const close = () => store.close().then(database.close);
  return { ...store, close };
}
