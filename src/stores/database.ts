import { checkName } from "../thread/options.ts";
import { defineStore } from "./define-store.ts";
import type { DatabaseDriver, StoreDriver } from "./driver.ts";
import { storeClosed } from "./errors.ts";
import type { Leases } from "./lease.ts";
import { leasesOf } from "./methods/claims.ts";
import { runnableOf } from "./methods/runnable.ts";
import type { StoreOptions } from "./options.ts";
import type { ThreadStore } from "./port.ts";
import type { Runnable } from "./runnable.ts";

/** A database with the stores of many tenants. Processes that share it divide the work by its leases and runnable threads. */
export interface ThreadDatabase {
  /**
   * The store of one tenant. Costs no connection, so it can be made for each request. Its `close` ends its watchers and
   * refuses further calls; the database stays open.
   */
  readonly tenant: (name: string) => ThreadStore;
  /** Which processes are alive. */
  readonly leases: Leases;
  /** Which threads of all tenants have something to do. */
  readonly runnable: Runnable;
  /** Waits for pending appends, ends the watchers of all tenants and closes the file or the connections. Safe to call twice. */
  readonly close: () => Promise<void>;
}

/**
 * Creates a ThreadDatabase from your own driver.
 *
 * @example
 * const database = defineDatabase(myDatabaseDriver(connection));
 */
export function defineDatabase(driver: DatabaseDriver, options: StoreOptions = {}): ThreadDatabase {
  let isClosed = false;

  const checkOpen = (): void => {
    if (isClosed) throw storeClosed();
  };
  const leases = leasesOf(driver, checkOpen);

  return {
    tenant(name) {
      checkName("tenant", name);
      const store = defineStore(
        refuseIf(() => isClosed, driver.tenant(name)),
        options,
      );
      return { ...store, leases };
    },

    leases,

    runnable: runnableOf((query, signal) => driver.take(query, signal), checkOpen),

    async close() {
      if (isClosed) return;
      isClosed = true;
      await driver.close();
    },
  };
}

/** A driver whose methods fail once the database is closed, so that watchers of all tenants end. */
function refuseIf(isClosed: () => boolean, driver: StoreDriver): StoreDriver {
  return new Proxy(driver, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function" || name === "close" || name === "onChange") return member;
      return (...values: readonly unknown[]) =>
        isClosed() ? Promise.reject(storeClosed()) : Reflect.apply(member, target, values);
    },
  });
}
