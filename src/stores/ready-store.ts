import type { StoreDriver } from "./driver.ts";
import { StoreHandle } from "./handle.ts";
import { Machinery } from "./machinery.ts";
import type { ThreadStore } from "./port.ts";
import { completePorts, type StoreOptions } from "./ports.ts";

/** As `defineStore`, for adapters behind doors of their own: the machinery comes with them, and nothing waits for it. */
export function readyStore(driver: StoreDriver, options: StoreOptions): ThreadStore {
  const ports = completePorts(options);
  return new StoreHandle(ports, new Machinery(driver, ports));
}
