import type { Clock } from "../thread/ports.ts";
import { defineDatabase, type ThreadDatabase } from "./database.ts";
import type { DatabaseDriver } from "./driver.ts";
import { takeThreads } from "./memory-runnable.ts";
import { changeCounters, changeLeases, MemoryDatabase, memoryDriver } from "./memory-store.ts";
import { checkOptions, completePorts, STORE_OPTIONS, type StoreOptions } from "./options.ts";

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
  return {
    tenant: (name) => memoryDriver(database.tenant(name), clock),

    lease: changeLeases(database.leases, clock),

    counter: changeCounters(database, clock),

    take: takeThreads(database, clock),

    async close() {},
  };
}
