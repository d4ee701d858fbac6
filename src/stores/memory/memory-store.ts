import { checkName } from "../../thread/names.ts";
import { systemPorts } from "../../thread/ports.ts";
import { defineStore } from "../define-store.ts";
import type { ThreadStore } from "../port.ts";
import type { StoreOptions } from "../ports.ts";
import { MemoryDatabase } from "./database.ts";
import { memoryDriver } from "./driver.ts";

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
  const { tenant = "default", database = new MemoryDatabase(), ...ports } = options;
  checkName("tenant", tenant);
  return defineStore(memoryDriver(database.tenant(tenant), ports.clock ?? systemPorts.clock), ports);
}
