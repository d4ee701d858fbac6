import type { Clock } from "../thread/ports.ts";
import { isSameLease, liveLease } from "./decide/claim.ts";
import type { DatabaseDriver, TakeQuery } from "./driver.ts";
import type { ClaimRecord, LeaseRecord, RunnableRow } from "./stored-records.ts";

/** The part of a database in memory that says which threads are due. */
interface RunnableTenants {
  readonly tenants: ReadonlyMap<
    string,
    { readonly runnable: ReadonlyMap<string, RunnableRow>; readonly claims: Map<string, ClaimRecord> }
  >;
  readonly leases: Map<string, LeaseRecord>;
}

/** Gives out the threads of a database in memory that are due. */
export function takeThreads(database: RunnableTenants, clock: Clock): DatabaseDriver["take"] {
  const { leases, tenants } = database;
  return async (query) => {
    const now = clock();
    const own = liveLease(query.lease, [...leases.values()], now);
    if (own === undefined) return undefined;
    for (const lease of leases.values())
      if (lease.until <= now && !lease.ended) leases.set(lease.node, { ...lease, ended: true });
    return chooseThreads(database, query, now).map(({ tenant, threadId, row }) => {
      const claims = tenants.get(tenant)?.claims;
      const epoch = (claims?.get(threadId)?.epoch ?? 0) + 1;
      claims?.set(threadId, { holder: query.holder, epoch, until: own.until, ttlMs: own.ttlMs, lease: query.lease });
      return { tenant, threadId, epoch, ...(row.agent !== null && { agent: row.agent }) };
    });
  };
}

interface DueThread {
  readonly tenant: string;
  readonly threadId: string;
  readonly row: RunnableRow;
  /** Its number among those of the tenant. Numbers begin after the threads that the lease already holds. */
  readonly turn: number;
}

function chooseThreads(database: RunnableTenants, query: TakeQuery, now: number): readonly DueThread[] {
  const { tenant: only, agents, unnamed, limit, perTenant, afterTenant } = query;
  const due = [...database.tenants]
    .filter(([name]) => only === undefined || name === only)
    .flatMap(([name, { runnable, claims }]) => {
      const held = [...claims.values()].filter(
        ({ lease, until }) => until > 0 && lease && isSameLease(lease, query.lease),
      );
      const threads = [...runnable].filter(
        ([id, { agent, dueAt }]) =>
          dueAt !== null &&
          dueAt <= now &&
          (agent === null ? unnamed : (agents?.includes(agent) ?? true)) &&
          !isHeld(claims.get(id), [...database.leases.values()], now),
      );
      return threads
        .sort(([a, x], [b, y]) => y.priority - x.priority || Number(x.dueAt) - Number(y.dueAt) || (a < b ? -1 : 1))
        .map(([threadId, row], place): DueThread => ({ tenant: name, threadId, row, turn: held.length + place + 1 }));
    });
  const isLater = (tenant: string): number => (tenant <= afterTenant ? 1 : 0);
  return due
    .filter(({ turn }) => turn <= perTenant)
    .sort((a, b) => a.turn - b.turn || isLater(a.tenant) - isLater(b.tenant) || (a.tenant < b.tenant ? -1 : 1))
    .slice(0, limit);
}

function isHeld(claim: ClaimRecord | undefined, leases: readonly LeaseRecord[], now: number): boolean {
  if (claim === undefined || claim.until === 0) return false;
  return claim.lease === undefined ? claim.until > now : liveLease(claim.lease, leases, now) !== undefined;
}
