import { nativeSha256 } from "../native/sha256.ts";
import type { ThreadStore } from "../port.ts";
import { readyStore } from "../ready-store.ts";
import { postgresDriver } from "./driver.ts";
import { type PostgresStoreOptions, readOptions } from "./options.ts";

/**
 * A store in a Postgres database, for any number of processes. It connects, and makes or migrates its tables, when it
 * is first used; until that succeeds every call rejects with what went wrong, and the next one tries again.
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

/** The same, connected and migrated before it resolves. */
export async function openPostgresStore(url: string, options: PostgresStoreOptions = {}): Promise<ThreadStore> {
  const { settings, ports } = readOptions(url, options);
  const driver = postgresDriver(settings);
  await driver.open();
  return readyStore(driver, { sha256: nativeSha256, ...ports });
}
