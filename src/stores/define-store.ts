import type { StoreDriver } from "./driver.ts";
import { StoreHandle } from "./handle.ts";
import type { ThreadStore } from "./port.ts";
import { completePorts, type StoreOptions } from "./ports.ts";

/**
 * Creates a ThreadStore from your own driver. The driver moves rows; shared code, loaded with the first call, does all
 * checks. Test your driver with the contract suite of `heddle/testing`.
 *
 * @example
 * const store = defineStore(myDriver(connection));
 */
export function defineStore(driver: StoreDriver, options: StoreOptions = {}): ThreadStore {
  const ports = completePorts(options);
  return new StoreHandle(ports, async () => new (await import("./machinery.ts")).Machinery(driver, ports));
}
