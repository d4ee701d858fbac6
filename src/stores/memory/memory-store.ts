import { checkName } from "../../thread/names.ts";
import { StoreHandle } from "../handle.ts";
import { checkOptions } from "../options.ts";
import type { ThreadStore } from "../port.ts";
import { completePorts, STORE_OPTIONS, type StoreOptions } from "../ports.ts";
import { MemoryDatabase } from "./database.ts";

export interface MemoryStoreOptions extends StoreOptions {
  /** Part of every key, so that a store has no access to other tenants. Default "default". */
  readonly tenant?: string | undefined;
  /** A database to share between several stores, for example of several tenants. Default: a new one. */
  readonly database?: MemoryDatabase | undefined;
}

/**
 * A store in memory, empty when the process starts. Otherwise it behaves as the other stores do, so use it in tests.
 *
 * @example
 * const store = memoryStore();
 * await store.append("thread_1", { kind: "note" });
 */
export function memoryStore(options: MemoryStoreOptions = {}): ThreadStore {
  const {
    tenant: name = "default",
    database = new MemoryDatabase(),
    ...others
  } = checkOptions(options, ["tenant", "database", ...STORE_OPTIONS]);
  checkName("tenant", name);
  const ports = completePorts(others);
  const tenant = database.tenant(name);
  return new StoreHandle(ports, async () => (await import("./memory-machinery.ts")).memoryMachinery(tenant, ports));
}
