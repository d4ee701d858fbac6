import type { Clock } from "../thread/ports.ts";
import { defineDatabase, type ThreadDatabase } from "./database.ts";
import { isSameLease, liveLease } from "./decide/claim.ts";
import type { DatabaseDriver, TakeQuery } from "./driver.ts";
import { changeLeases, MemoryDatabase, memoryDriver } from "./memory-store.ts";
import { checkOptions, completePorts, STORE_OPTIONS, type StoreOptions } from "./options.ts";
import type { ClaimRecord, LeaseRecord, RunnableRow } from "./stored-records.ts";

/** The data of a memory database. */
export interface MemoryDatabaseOptions extends StoreOptions {
  /** The data, to share it with other handles. Default: a new one. */
  readonly database?: MemoryDatabase | undefined;
}

/**
 * A database in memory with the stores of many tenants. Use it in tests of code that runs in several processes.
 *
 * @example
 * const database = memoryDatabase();
 * await database.tenant("acme").append("thread_1", { kind: "note" });
 */
export function memoryDatabase(options: MemoryDatabaseOptions = {}): ThreadDatabase {
  const { database = new MemoryDatabase(), ...others } = checkOptions(options, ["database", ...STORE_OPTIONS]);
  const ports = completePorts(others);
  return defineDatabase(memoryDatabaseDriver(database, ports.clock), ports);
}

/** The reference implementation of a driver for all tenants. */
export function memoryDatabaseDriver(database: MemoryDatabase, clock: Clock): DatabaseDriver {
  const { leases } = database;
  return {
    tenant: (name) => memoryDriver(database.tenant(name), clock),

    lease: changeLeases(leases, clock),

    async take(query) {
      const now = clock();
      const own = liveLease(query.lease, [...leases.values()], now);
      if (own === undefined) return undefined;
      for (const lease of leases.values())
        if (lease.until <= now && !lease.ended) leases.set(lease.node, { ...lease, ended: true });
      return chooseThreads(database, query, now).map(({ tenant, threadId, row }) => {
        const { claims } = database.tenant(tenant);
        const epoch = (claims.get(threadId)?.epoch ?? 0) + 1;
        claims.set(threadId, { holder: query.holder, epoch, until: own.until, ttlMs: own.ttlMs, lease: query.lease });
        return { tenant, threadId, epoch, ...(row.agent !== null && { agent: row.agent }) };
      });
    },

    async close() {},
  };
}

interface DueThread {
  readonly tenant: string;
  readonly threadId: string;
  readonly row: RunnableRow;
  /** Its number among those of the tenant. Numbers begin after the threads that the lease already holds. */
  readonly turn: number;
}

function chooseThreads(database: MemoryDatabase, query: TakeQuery, now: number): readonly DueThread[] {
  const { agents, limit, perTenant, afterTenant } = query;
  const due = [...database.tenants].flatMap(([name, { runnable, claims }]) => {
    const held = [...claims.values()].filter(
      ({ lease, until }) => until > 0 && lease && isSameLease(lease, query.lease),
    );
    const threads = [...runnable].filter(
      ([id, { agent, dueAt }]) =>
        dueAt !== null &&
        dueAt <= now &&
        (agents === undefined || (agent !== null && agents.includes(agent))) &&
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
