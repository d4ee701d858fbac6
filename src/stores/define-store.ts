import type { StoreDriver } from "./driver.ts";
import { appendMethods } from "./methods/append.ts";
import { claimMethods, leaseMethods } from "./methods/claims.ts";
import { StoreContext } from "./methods/context.ts";
import { followMethods } from "./methods/follow.ts";
import { forkMethods } from "./methods/fork.ts";
import { inboxMethods } from "./methods/inbox.ts";
import { listMethods } from "./methods/list.ts";
import { readMethods } from "./methods/read.ts";
import { ownerMethods, recordMethods } from "./methods/records.ts";
import { runnableMethods } from "./methods/runnable.ts";
import { usageMethods } from "./methods/usage.ts";
import { verifyMethods } from "./methods/verify.ts";
import { waitingMethods } from "./methods/waiting.ts";
import { completePorts, type StoreOptions } from "./options.ts";
import type { ThreadStore } from "./port.ts";

/**
 * Creates a ThreadStore from your own driver. The driver moves rows; the store checks arguments and stored data, and
 * derives the other methods. Test your driver with the contract suite of `heddle/testing`.
 *
 * @example
 * const store = defineStore(myDriver(connection));
 */
export function defineStore(driver: StoreDriver, options: StoreOptions = {}): ThreadStore {
  const context = new StoreContext(driver, completePorts(options));
  return {
    ...appendMethods(context),
    ...readMethods(context),
    ...listMethods(context),
    ...followMethods(context),
    ...forkMethods(context),
    ...ownerMethods(context),
    ...usageMethods(context),
    ...claimMethods(context),
    ...leaseMethods(context),
    ...runnableMethods(context),
    ...inboxMethods(context),
    ...recordMethods(context),
    ...verifyMethods(context),
    ...waitingMethods(context),
    bus: driver.bus,
    maxRowBytes: driver.maxRowBytes,
    close: () => context.close(),
  };
}
