import type { StoreDriver } from "./driver.ts";
import { StoreHandle } from "./handle.ts";
import type { ThreadStore } from "./port.ts";
import { completePorts, type StoreOptions } from "./ports.ts";

/**
 * A ThreadStore on top of a driver of your own: you move rows, this decides. What decides is loaded with the first call.
 * Prove it with the contract suite of `heddle/testing`.
 *
 * @example
 * const store = defineStore(myDriver(connection));
 */
export function defineStore(driver: StoreDriver, options: StoreOptions = {}): ThreadStore {
  const ports = completePorts(options);
  return new StoreHandle(ports, async () => new (await import("./machinery.ts")).Machinery(driver, ports));
}
