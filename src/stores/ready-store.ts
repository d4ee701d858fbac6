import type { StoreDriver } from "./driver.ts";
import { StoreHandle } from "./handle.ts";
import { Machinery } from "./machinery.ts";
import type { ThreadStore } from "./port.ts";
import { completePorts, type StoreOptions } from "./ports.ts";

/** Like `defineStore`, for adapters with their own entry point: the machinery is imported statically, so no call waits for it. */
export function readyStore(driver: StoreDriver, options: StoreOptions): ThreadStore {
  const ports = completePorts(options);
  return new StoreHandle(ports, new Machinery(driver, ports));
}
