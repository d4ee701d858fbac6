import { checkName } from "../../thread/options.ts";
import { callAborted, checkSignal, MAY_BE_STORED, untilAborted } from "../abort.ts";
import type { DatabaseDriver, TakeQuery } from "../driver.ts";
import { LeaseEndedError } from "../errors.ts";
import { checkOptions, invalidOption } from "../options.ts";
import type { CallOptions, ThreadStore } from "../port.ts";
import type { Runnable, TakenThread, TakeOptions } from "../runnable.ts";
import { checkLease } from "./claims.ts";
import type { StoreContext } from "./context.ts";

/** The runnable threads of a driver. Tenants take turns from call to call. */
export function runnableOf(take: DatabaseDriver["take"], checkOpen: () => void): Runnable {
  let afterTenant = "";
  return {
    async take(options) {
      const { signal, ...query } = takeQuery(options, afterTenant);
      checkOpen();
      if (signal !== undefined) checkSignal(signal);
      const call = take(query, signal);
      const taken = await (signal === undefined
        ? call
        : untilAborted(signal, call, () => callAborted(signal, MAY_BE_STORED)));
      if (taken === undefined) throw new LeaseEndedError(query.lease);
      afterTenant = lastTurn(taken, afterTenant);
      return taken;
    },
  };
}

/** The runnable threads of a store, if its driver keeps them. */
export function runnableMethods(context: StoreContext): Pick<ThreadStore, "runnable"> {
  const { driver } = context;
  const take = driver.scheduling === true ? driver.take?.bind(driver) : undefined;
  return { runnable: take && runnableOf(take, () => context.checkOpen()) };
}

function takeQuery(options: TakeOptions, afterTenant: string): TakeQuery & CallOptions {
  const names = ["lease", "holder", "agents", "unnamed", "limit", "perTenant", "signal"] as const;
  const { agents, limit = 1, perTenant = Number.MAX_SAFE_INTEGER, signal, ...rest } = checkOptions(options, names);
  const lease = checkLease(rest.lease);
  const { holder = lease.node, unnamed = agents === undefined } = rest;
  checkName("holder", holder);
  if (!(agents === undefined || Array.isArray(agents))) throw invalidOption("agents", "a list of names");
  for (const agent of agents ?? []) checkName("agents", agent);
  if (typeof unnamed !== "boolean") throw invalidOption("unnamed", "true or false");
  if (!(Number.isSafeInteger(limit) && limit >= 1 && limit <= 1000)) throw invalidOption("limit", "from 1 to 1,000");
  if (!(Number.isSafeInteger(perTenant) && perTenant >= 1)) throw invalidOption("perTenant", "a whole number above 0");
  return { tenant: undefined, lease, holder, agents, unnamed, limit, perTenant, afterTenant, signal };
}

/** The tenant that had the last turn. The next call begins with the one after it. */
function lastTurn(taken: readonly TakenThread[], before: string): string {
  const tenants = taken.map(({ tenant }) => tenant).sort();
  return tenants.findLast((tenant) => tenant <= before) ?? tenants.at(-1) ?? before;
}
