import { sqliteStore } from "heddle/sqlite";
import { type Lap, oneByOne, type Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Row, Table } from "../support/table.ts";
import { showSize } from "../support/units.ts";
import { Baseline } from "./baseline.ts";
import type { Bench } from "./bench.ts";
import { THREAD } from "./fixtures.ts";
import { SameTable } from "./same-table.ts";

const LAST = 200;
const SHORT = 1000;

/** Reads the end of a thread, as a context needs it. */
export async function last200({ sizes, fixtures, budgets }: Bench): Promise<Table> {
  const { rounds, loadsPerRound, long } = sizes;
  const least = new Baseline(await fixtures.baseline(long));
  const shortBaseline = new SameTable(await fixtures.heddle(SHORT));
  const longBaseline = new SameTable(await fixtures.heddle(long));
  const shortStore = sqliteStore(await fixtures.heddle(SHORT));
  const longStore = sqliteStore(await fixtures.heddle(long));
  const query = (baseline: SameTable): Promise<Lap> =>
    oneByOne(loadsPerRound, () => mustBe(LAST, baseline.last(LAST).length));
  const load = (store: typeof shortStore): Promise<Lap> =>
    oneByOne(loadsPerRound, async () =>
      mustBe(LAST, (await store.load(THREAD, { last: LAST }))?.toArray({ partial: true }).length),
    );
  const results = await race(
    {
      least: () => oneByOne(loadsPerRound, () => mustBe(LAST, least.last(THREAD, LAST).length)),
      shortBaseline: () => query(shortBaseline),
      longBaseline: () => query(longBaseline),
      short: () => load(shortStore),
      long: () => load(longStore),
    },
    { rounds, warmup: 3 },
  );
  for (const opened of [least, shortBaseline, longBaseline, shortStore, longStore]) await opened.close();

  const row = (name: string, result: Result, baseline: Result, short: Result): Row => ({
    name,
    values: {
      p50: result.p50 * 1000,
      p99: result.p99 * 1000,
      toBaseline: result.medianOver(baseline),
      toShort: result.medianOver(short),
    },
  });
  const { shortBaseline: bareShort, longBaseline: bareLong } = results;
  return {
    id: "last-200",
    title: `Last ${LAST} of ${showSize(SHORT)} and of ${showSize(long)} entries, parsed: open handle, ${rounds} rounds of ${loadsPerRound}`,
    columns: [
      { key: "p50", label: "p50", unit: "us" },
      { key: "p99", label: "p99", unit: "us" },
      { key: "toBaseline", label: "to baseline", unit: "times" },
      { key: "toShort", label: `to ${showSize(SHORT)}`, unit: "times" },
    ],
    rows: [
      row(`the least: payloads alone, of ${showSize(long)}`, results.least, bareLong, bareShort),
      row(`baseline: bare query, of ${showSize(SHORT)}`, bareShort, bareShort, bareShort),
      row(`baseline: bare query, of ${showSize(long)}`, bareLong, bareLong, bareShort),
      row(`heddle/sqlite load, of ${showSize(SHORT)}`, results.short, bareShort, results.short),
      row(`heddle/sqlite load, of ${showSize(long)}`, results.long, bareLong, results.short),
    ],
    checks: [
      budgets.atMost("last200LongToShort", results.long.medianOver(results.short), {
        what: `last ${LAST} of ${showSize(long)} to last ${LAST} of ${showSize(SHORT)}`,
        unit: "times",
      }),
      budgets.atMost("last200ToBareQuery", results.long.medianOver(bareLong), {
        what: `last ${LAST} of ${showSize(long)} to the bare query`,
        unit: "times",
      }),
    ],
    notes: ["heddle checks the hashes of every entry it loads; the baseline parses JSON and checks nothing."],
  };
}

function mustBe(expected: number, actual: number | undefined): void {
  if (actual !== expected) throw new Error(`Expected ${expected} entries and got ${actual}.`);
}
