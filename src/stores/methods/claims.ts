import { isPlainObject } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import { callAborted, checkSignal, MAY_BE_STORED, untilAborted } from "../abort.ts";
import {
  type ClaimRequest,
  decideClaim,
  decideEndLease,
  decideRelease,
  decideRenew,
  decideRenewLease,
  decideStart,
} from "../decide/claim.ts";
import { decideCount } from "../decide/count.ts";
import type { DatabaseDriver, LeaseDecision, LeaseState, StateQuery, StoreDriver } from "../driver.ts";
import { unsupported } from "../errors.ts";
import type { Leases } from "../lease.ts";
import { checkOptions, checkSeq, checkTtl, invalidOption } from "../options.ts";
import type { CallOptions, ClaimOptions, LeaseKey, ThreadStore } from "../port.ts";
import { NOTHING, type StoreContext } from "./context.ts";

/** `claim`, `renew` and `release`: which holder runs a thread. */
export function claimMethods(context: StoreContext): Pick<ThreadStore, "claim" | "renew" | "release"> {
  function checkCall(threadId: string, epoch: number, options: CallOptions): StoreDriver {
    const { driver } = context.forCall(options);
    checkSeq("epoch", epoch);
    checkName("threadId", threadId);
    return driver;
  }

  return {
    async claim(threadId, options) {
      const { signal, ...copy } = checkOptions<ClaimOptions>(options, ["holder", "ttlMs", "lease", "signal"]);
      context.checkOpen();
      checkName("holder", copy.holder);
      const request = claimRequest(copy);
      checkName("threadId", threadId);
      const { driver } = context.withSignal(signal);
      if (request.lease !== undefined && !driver.scheduling) throw unsupported("claims with a lease");
      const wanted = wantedLeases(driver, request.lease);
      return driver.transact(threadId, wanted, (state) => decideClaim(threadId, request, state));
    },

    async renew(threadId, epoch, options = {}) {
      const driver = checkCall(threadId, epoch, options);
      return driver.transact(threadId, wantedLeases(driver), (state) => decideRenew(threadId, epoch, state));
    },

    async release(threadId, epoch, options = {}) {
      const driver = checkCall(threadId, epoch, options);
      await driver.transact(threadId, NOTHING, (state) => decideRelease(threadId, epoch, state));
    },
  };
}

function claimRequest({ holder, ttlMs, lease }: ClaimOptions): ClaimRequest {
  if (lease === undefined) {
    checkTtl(ttlMs);
    return { holder, ttlMs };
  }
  if (ttlMs !== undefined) throw invalidOption("A claim", "one with ttlMs or one with a lease");
  return { holder, lease: checkLease(lease) };
}

/** The key of a lease. A whole lease may be given. */
export function checkLease(lease: LeaseKey): LeaseKey {
  if (!isPlainObject(lease)) throw invalidOption("lease", "what leases.start() returned");
  const { node, incarnation } = lease;
  checkName("lease.node", node);
  if (!(Number.isSafeInteger(incarnation) && incarnation > 0))
    throw invalidOption("lease.incarnation", "a whole number above 0");
  return { node, incarnation };
}

function wantedLeases(driver: StoreDriver, lease?: LeaseKey): StateQuery {
  return driver.scheduling ? { ...NOTHING, leases: lease === undefined ? [] : [lease.node] } : NOTHING;
}

type LeaseDriver = Pick<DatabaseDriver, "lease" | "counter">;

async function abortable<Result>(signal: AbortSignal | undefined, call: () => Promise<Result>): Promise<Result> {
  if (signal === undefined) return call();
  checkSignal(signal);
  return untilAborted(signal, call(), () => callAborted(signal, MAY_BE_STORED));
}

/** The leases of a database. */
export function leasesOf(driver: LeaseDriver, checkOpen: () => void): Leases {
  async function call<Result>(
    node: string,
    { signal }: CallOptions,
    decide: (state: LeaseState) => LeaseDecision<Result>,
  ): Promise<Result> {
    checkOpen();
    return abortable(signal, () => driver.lease(node, decide, signal));
  }

  return {
    hasCounters: driver.counter !== undefined,
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
    async count(options) {
      const { signal, ...given } = checkOptions(options, ["lease", "name", "amount", "limit", "signal"]);
      const { name, amount, limit } = given;
      const lease = checkLease(given.lease);
      checkName("name", name);
      checkSeq("amount", amount ?? Number.NaN);
      checkSeq("limit", limit);
      checkOpen();
      const counter = driver.counter?.bind(driver);
      if (counter === undefined) throw unsupported("leases.count", "counter");
      return abortable(signal, () => counter(name, (state) => decideCount({ ...given, lease }, state), signal));
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
