import { checkName } from "../thread/names.ts";
import { decideEndLease, decideRenewLease, decideStart } from "./decide/lease.ts";
import { defineStore } from "./define-store.ts";
import type { DatabaseDriver, LeaseDecision, LeaseState, StoreDriver } from "./driver.ts";
import { storeClosed } from "./errors.ts";
import type { Leases } from "./lease.ts";
import { callAborted, checkSignal, MAY_BE_STORED } from "./methods/abortable-driver.ts";
import { checkLease } from "./methods/claims.ts";
import { checkOptions, checkTtl, type StoreOptions } from "./options.ts";
import type { CallOptions, ThreadStore } from "./port.ts";
import { untilAborted } from "./until-aborted.ts";

/** A database with the stores of many tenants, and what the processes that share it need to divide the work. */
export interface ThreadDatabase {
  /**
   * The store of one tenant. Costs no connection, so it can be made for each request. Its `close` ends its watchers and
   * refuses further calls; the database stays open.
   */
  readonly tenant: (name: string) => ThreadStore;
  /** Which processes live. */
  readonly leases: Leases;
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

  function call<Result>({ signal }: CallOptions, work: () => Promise<Result>): Promise<Result> {
    if (isClosed) throw storeClosed();
    if (signal === undefined) return work();
    checkSignal(signal);
    return untilAborted(signal, work(), () => callAborted(signal, MAY_BE_STORED));
  }

  function changeLease<Result>(
    node: string,
    options: CallOptions,
    decide: (state: LeaseState) => LeaseDecision<Result>,
  ): Promise<Result> {
    return call(options, () => driver.lease(node, decide, options.signal));
  }

  return {
    tenant(name) {
      checkName("tenant", name);
      return defineStore(
        refuseIf(() => isClosed, driver.tenant(name)),
        options,
      );
    },

    leases: {
      async start(options) {
        const { node, ttlMs, signal } = checkOptions(options, ["node", "ttlMs", "signal"]);
        checkName("node", node);
        checkTtl(ttlMs);
        return changeLease(node, { signal }, (state) => decideStart(node, ttlMs, state));
      },
      async renew(lease, options = {}) {
        const key = checkLease(lease);
        return changeLease(key.node, checkOptions(options, ["signal"]), (state) => decideRenewLease(key, state));
      },
      async end(lease, options = {}) {
        const key = checkLease(lease);
        return changeLease(key.node, checkOptions(options, ["signal"]), (state) => decideEndLease(key, state));
      },
    },

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
