import { sqliteStore } from "heddle/sqlite";
import { oneByOne, type Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Row, Table } from "../support/table.ts";
import { showSize } from "../support/units.ts";
import { Baseline } from "./baseline.ts";
import type { Bench } from "./bench.ts";
import { THREAD } from "./fixtures.ts";

/** Every entry of a thread read and proven to be what was written. */
export async function verify({ sizes, fixtures }: Bench): Promise<Table> {
  const { verifies, long } = sizes;
  const baseline = new Baseline(await fixtures.baseline(long));
  const store = sqliteStore(await fixtures.heddle(long));
  const results = await race(
    {
      baseline: () => oneByOne(1, () => mustBe(baseline.scan(THREAD) === long)),
      heddle: () =>
        oneByOne(1, async () => {
          const { ok, entries } = await store.verify(THREAD);
          mustBe(ok && entries === long);
        }),
    },
    { rounds: verifies, warmup: 0 },
  );
  baseline.close();
  await store.close();

  const row = (name: string, result: Result): Row => ({
    name,
    values: { ms: result.perOperation, rows: result.perSecond * long, ratio: result.over(results.baseline) },
  });
  return {
    id: "verify",
    title: `Full verify of ${showSize(long)} entries: ${verifies} ${verifies === 1 ? "round" : "rounds"}`,
    columns: [
      { key: "ms", label: "time", unit: "ms" },
      { key: "rows", label: "rows", unit: "per second" },
      { key: "ratio", label: "to baseline", unit: "times" },
    ],
    rows: [
      row("baseline: bare scan that parses each row", results.baseline),
      row("heddle/sqlite verify", results.heddle),
    ],
    notes: [
      "verify makes every row again from its content, two SHA-256 each, and compares all columns; the scan checks nothing.",
    ],
  };
}

function mustBe(expected: boolean): void {
  if (!expected) throw new Error("The fixture is not whole.");
}
