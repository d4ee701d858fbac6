import { checkName } from "../thread/options.ts";
import { callAborted, checkSignal, MAY_BE_STORED, untilAborted } from "./abort.ts";
import { defineStore } from "./define-store.ts";
import type { DatabaseDriver, StoreDriver, TakeQuery } from "./driver.ts";
import { LeaseEndedError, storeClosed } from "./errors.ts";
import type { Leases } from "./lease.ts";
import { checkLease, leasesOf } from "./methods/claims.ts";
import { checkOptions, invalidOption, type StoreOptions } from "./options.ts";
import type { CallOptions, ThreadStore } from "./port.ts";
import type { Runnable, TakenThread, TakeOptions } from "./runnable.ts";

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

  function call<Result>({ signal }: CallOptions, work: () => Promise<Result>): Promise<Result> {
    checkOpen();
    if (signal === undefined) return work();
    checkSignal(signal);
    return untilAborted(signal, work(), () => callAborted(signal, MAY_BE_STORED));
  }

  const checkOpen = (): void => {
    if (isClosed) throw storeClosed();
  };
  const leases = leasesOf(driver, checkOpen);
  let afterTenant = "";

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

    runnable: {
      async take(options) {
        const { signal, ...query } = takeQuery(options, afterTenant);
        const taken = await call({ signal }, () => driver.take(query, signal));
        if (taken === undefined) throw new LeaseEndedError(query.lease);
        afterTenant = lastTurn(taken, afterTenant);
        return taken;
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

function takeQuery(options: TakeOptions, afterTenant: string): TakeQuery & CallOptions {
  const names = ["lease", "holder", "agents", "limit", "perTenant", "signal"] as const;
  const { agents, limit = 1, perTenant = Number.MAX_SAFE_INTEGER, signal, ...rest } = checkOptions(options, names);
  const lease = checkLease(rest.lease);
  const { holder = lease.node } = rest;
  checkName("holder", holder);
  if (!(agents === undefined || Array.isArray(agents))) throw invalidOption("agents", "a list of names");
  for (const agent of agents ?? []) checkName("agents", agent);
  if (!(Number.isSafeInteger(limit) && limit >= 1 && limit <= 1000)) throw invalidOption("limit", "from 1 to 1,000");
  if (!(Number.isSafeInteger(perTenant) && perTenant >= 1)) throw invalidOption("perTenant", "a whole number above 0");
  return { lease, holder, agents, limit, perTenant, afterTenant, signal };
}

/** The tenant that had the last turn. The next call begins with the one after it. */
function lastTurn(taken: readonly TakenThread[], before: string): string {
  const tenants = taken.map(({ tenant }) => tenant).sort();
  return tenants.findLast((tenant) => tenant <= before) ?? tenants.at(-1) ?? before;
}
