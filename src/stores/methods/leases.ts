import { checkName } from "../../thread/options.ts";
import { decideEndLease, decideRenewLease, decideStart } from "../decide/lease.ts";
import type { DatabaseDriver, LeaseDecision, LeaseState, StoreDriver } from "../driver.ts";
import type { Leases } from "../lease.ts";
import { checkOptions, checkTtl } from "../options.ts";
import type { CallOptions, ThreadStore } from "../port.ts";
import { untilAborted } from "../until-aborted.ts";
import { callAborted, checkSignal, MAY_BE_STORED } from "./abortable-driver.ts";
import { checkLease } from "./claims.ts";
import type { StoreContext } from "./context.ts";

type LeaseDriver = Pick<DatabaseDriver, "lease">;

/** The leases of a database. */
export function leasesOf(driver: LeaseDriver, checkOpen: () => void): Leases {
  async function call<Result>(
    node: string,
    { signal }: CallOptions,
    decide: (state: LeaseState) => LeaseDecision<Result>,
  ): Promise<Result> {
    checkOpen();
    if (signal === undefined) return driver.lease(node, decide);
    checkSignal(signal);
    return untilAborted(signal, driver.lease(node, decide, signal), () => callAborted(signal, MAY_BE_STORED));
  }

  return {
    async start(options) {
      const { node, ttlMs, signal } = checkOptions(options, ["node", "ttlMs", "signal"]);
      checkName("node", node);
      checkTtl(ttlMs);
      return call(node, { signal }, (state) => decideStart(node, ttlMs, state));
    },
    async renew(lease, options = {}) {
      const key = checkLease(lease);
      return call(key.node, checkOptions(options, ["signal"]), (state) => decideRenewLease(key, state));
    },
    async end(lease, options = {}) {
      const key = checkLease(lease);
      return call(key.node, checkOptions(options, ["signal"]), (state) => decideEndLease(key, state));
    },
  };
}

/** The leases of a store, if its driver keeps them. */
export function leaseMethods(context: StoreContext): Pick<ThreadStore, "leases"> {
  const { driver } = context;
  return { leases: keepsLeases(driver) ? leasesOf(driver, () => context.checkOpen()) : undefined };
}

function keepsLeases(driver: StoreDriver): driver is StoreDriver & LeaseDriver {
  return driver.scheduling === true && driver.lease !== undefined;
}
