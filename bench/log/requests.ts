import { sqliteStore } from "heddle/sqlite";
import { median } from "../support/statistics.ts";
import type { Table } from "../support/table.ts";
import { showSize } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { ENTRIES_PER_REQUEST, requestOf, THREAD } from "./fixtures.ts";

const SHORT = 1000;

/** The entries of one request out of the middle of a long thread in SQLite. */
export async function requests({ sizes, fixtures, budgets }: Bench): Promise<Table> {
  const { long, loadsPerRound, rounds } = sizes;
  const counts = [SHORT, long] as const;
  const stores = await Promise.all(counts.map(async (count) => sqliteStore(await fixtures.requests(count))));
  const cpu: [number[], number[]] = [[], []];
  for (let round = -2; round < rounds; round++) {
    for (const [index, store] of stores.entries()) {
      const middle = Math.round((counts[index] ?? 0) / 2) + round * ENTRIES_PER_REQUEST;
      const before = process.cpuUsage();
      for (let load = 0; load < loadsPerRound; load++) {
        const refs = { requestId: requestOf(middle + load * ENTRIES_PER_REQUEST) };
        const found = await Array.fromAsync(store.read(THREAD, { refs }));
        if (found.length !== ENTRIES_PER_REQUEST) throw new Error(`A request has ${found.length} entries.`);
      }
      const { user, system } = process.cpuUsage(before);
      if (round >= 0) cpu[index]?.push((user + system) / 1000 / loadsPerRound);
    }
  }
  for (const store of stores) await store.close();
  const [short, ofLong] = cpu.map(median) as [number, number]; // one for each of the two counts
  return {
    id: "requests",
    title: `The ${ENTRIES_PER_REQUEST} entries of one request in SQLite`,
    columns: [
      { key: "cpu", label: "CPU", unit: "ms" },
      { key: "ratio", label: `to ${showSize(SHORT)}`, unit: "times" },
    ],
    rows: [
      { name: `out of ${showSize(SHORT)}`, values: { cpu: short, ratio: 1 } },
      { name: `out of ${showSize(long)}`, values: { cpu: ofLong, ratio: ofLong / short } },
    ],
    checks: [
      budgets.atMost("requestCpuMilliseconds", ofLong, {
        what: `one request out of ${showSize(long)}, CPU`,
        unit: "ms",
      }),
      budgets.atMost("requestLongToShort", ofLong / short, { what: "one request, CPU, long to short", unit: "times" }),
    ],
  };
}
