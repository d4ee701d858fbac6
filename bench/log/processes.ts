import { fileURLToPath } from "node:url";
import { sqliteStore } from "heddle/sqlite";
import { runScript } from "../support/child.ts";
import { median } from "../support/statistics.ts";
import type { Row, Table } from "../support/table.ts";
import type { Bench } from "./bench.ts";
import { messageOf } from "./message.ts";

const CHILD = fileURLToPath(new URL("processes-child.ts", import.meta.url));
const PROCESSES = 4;

/** The measurements of one process. */
export interface Appended {
  /** Of all its appends, in milliseconds. */
  readonly ms: number;
  readonly cpuMs: number;
  readonly slowestMs: number;
  readonly errors: number;
}

/** The same number of single appends to one file of SQLite, by one process and by several at once. */
export async function processes({ sizes, scratch, budgets }: Bench): Promise<Table> {
  const { appendsPerRound, rounds } = sizes;
  const path = scratch.file("processes.db");
  const store = sqliteStore(path);
  await store.append("thread", messageOf(0));
  await store.close();
  const run = (count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, n) =>
        runScript<Appended>(CHILD, [path, `thread_${n}`, String((appendsPerRound * PROCESSES) / count)]),
      ),
    );
  const found: Record<"one" | "several", Appended[][]> = { one: [], several: [] };
  for (let round = 0; round < Math.max(3, rounds >> 2); round++) {
    found.one.push(await run(1));
    found.several.push(await run(PROCESSES));
  }
  const cpu = (laps: readonly Appended[][]) => median(laps.map((lap) => sum(lap, "cpuMs")));
  const ratio = cpu(found.several) / cpu(found.one);
  const errors = [...found.one, ...found.several].reduce((total, lap) => total + sum(lap, "errors"), 0);
  const row = (name: string, laps: readonly Appended[][]): Row => ({
    name,
    values: {
      rate: (appendsPerRound * PROCESSES * 1000) / median(laps.map((lap) => Math.max(...lap.map(({ ms }) => ms)))),
      slowest: median(laps.map((lap) => Math.max(...lap.map(({ slowestMs }) => slowestMs)))),
      cpu: (cpu(laps) * 1000) / (appendsPerRound * PROCESSES),
    },
  });
  return {
    id: "processes",
    title: `${appendsPerRound * PROCESSES} single appends to one file of SQLite`,
    columns: [
      { key: "rate", label: "appends", unit: "per second" },
      { key: "slowest", label: "slowest", unit: "ms" },
      { key: "cpu", label: "CPU of an append", unit: "us" },
    ],
    rows: [row("by one process", found.one), row(`by ${PROCESSES} processes at once`, found.several)],
    checks: [
      budgets.atMost("processes4Errors", errors, { what: `failed appends of ${PROCESSES} processes`, unit: "count" }),
      budgets.atMost("processes4ToOneCpu", ratio, {
        what: `CPU of the appends of ${PROCESSES} processes to those of one`,
        unit: "times",
      }),
    ],
  };
}

function sum(lap: readonly Appended[], key: keyof Appended): number {
  return lap.reduce((total, appended) => total + appended[key], 0);
}
