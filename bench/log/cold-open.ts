import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Lap, Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Row, Table } from "../support/table.ts";
import { showSize } from "../support/units.ts";
import type { Bench } from "./bench.ts";

const SHORT = 1000;
const CHILD = fileURLToPath(new URL("cold-open-child.ts", import.meta.url));

/** A process that starts on an old thread: opens the file and loads the last entry. */
export async function coldOpen({ sizes, fixtures, budgets }: Bench): Promise<Table> {
  const { opens, long } = sizes;
  const short = await fixtures.heddle(SHORT);
  const longPath = await fixtures.heddle(long);
  const bare = await fixtures.baseline(long);
  const results = await race(
    {
      baseline: () => openInFreshProcess("baseline", bare),
      short: () => openInFreshProcess("heddle", short),
      long: () => openInFreshProcess("heddle", longPath),
    },
    { rounds: opens },
  );

  const row = (name: string, result: Result): Row => ({
    name,
    values: { p50: result.p50, p99: result.p99, more: result.p50 - results.short.p50 },
  });
  return {
    id: "cold-open",
    title: `Cold open: open the file and load the last entry, each of ${opens} times in a fresh process`,
    columns: [
      { key: "p50", label: "p50", unit: "ms" },
      { key: "p99", label: "worst", unit: "ms" },
      { key: "more", label: `more than ${showSize(SHORT)}`, unit: "ms" },
    ],
    rows: [
      row(`baseline: bare query, ${showSize(long)} entries`, results.baseline),
      row(`heddle/sqlite, ${showSize(SHORT)} entries`, results.short),
      row(`heddle/sqlite, ${showSize(long)} entries`, results.long),
    ],
    checks: [
      budgets.atMost("coldOpenExtraMilliseconds", results.long.p50 - results.short.p50, {
        what: `cold open of ${showSize(long)} entries, more than of ${showSize(SHORT)}`,
        unit: "ms",
      }),
    ],
    notes: [
      "Without the start of Node and the import of heddle. The file is in the system's cache, not in the process's.",
    ],
  };
}

async function openInFreshProcess(which: "heddle" | "baseline", path: string): Promise<Lap> {
  const { stdout } = await promisify(execFile)(process.execPath, [CHILD, which, path]);
  const ms = Number(stdout);
  if (!(ms > 0)) throw new Error(`The process that opens ${which} answered ${JSON.stringify(stdout)}.`);
  return { operations: 1, ms, each: [ms] };
}
