import type { ThreadStore } from "heddle";
import { defineStore } from "heddle/store";
import { MemoryTenant, memoryDriver } from "../../../src/stores/memory-store.ts";
import { completePorts, type StorePorts } from "../../../src/stores/options.ts";

/** The oracle of forks: a store that copies the rows of a fork, as 0.1 did. It has no items of forks in its feed. */
export function copyingStore(ports: Partial<StorePorts>): ThreadStore {
  const driver = memoryDriver(new MemoryTenant(), completePorts(ports).clock);
  return defineStore(
    {
      ...driver,
      async fork(from, to, atSeq, start) {
        const rows = await driver.rows(from, { from: 0, to: atSeq, limit: atSeq + 1 });
        return driver.transact(to, { ids: [], lanes: [] }, ({ head }) =>
          head === undefined ? { result: true, ...start, rows } : { result: false },
        );
      },
    },
    ports,
  );
}
