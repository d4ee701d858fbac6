import { nativeSha256 } from "../native/sha256.ts";
import type { ThreadStore } from "../port.ts";
import { readyStore } from "../ready-store.ts";
import { postgresDriver } from "./driver.ts";
import { type PostgresStoreOptions, readOptions } from "./options.ts";

/**
 * A store in a Postgres database, for any number of processes. The first call connects and creates or migrates the
 * tables. When that fails, the call rejects with the reason and the next call retries.
 *
 * @example
 * const store = postgresStore("postgres://heddle:secret@localhost/heddle");
 * await store.append("thread_1", { kind: "note", payload: { text: "kept" } });
 * await store.close();
 */
export function postgresStore(url: string, options: PostgresStoreOptions = {}): ThreadStore {
  const { settings, ports } = readOptions(url, options);
  return readyStore(postgresDriver(settings), { sha256: nativeSha256, ...ports });
}

/** Like `postgresStore`, but resolves after it has connected and migrated. */
export async function openPostgresStore(url: string, options: PostgresStoreOptions = {}): Promise<ThreadStore> {
  const { settings, ports } = readOptions(url, options);
  const driver = postgresDriver(settings);
  await driver.open();
  return readyStore(driver, { sha256: nativeSha256, ...ports });
}
