import { checkName } from "../../thread/names.ts";
import { StoreHandle } from "../handle.ts";
import { checkOptions } from "../options.ts";
import type { ThreadStore } from "../port.ts";
import { completePorts, STORE_OPTIONS, type StoreOptions } from "../ports.ts";
import { MemoryDatabase } from "./database.ts";

export interface MemoryStoreOptions extends StoreOptions {
  readonly tenant?: string | undefined;
  /** Share one database between stores, for example of several tenants. */
  readonly database?: MemoryDatabase | undefined;
}

/**
 * A store that forgets when the process ends. It keeps every other promise, so tests written on it hold on the others.
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
