import type { Lap } from "../support/lap.ts";
import { median } from "../support/statistics.ts";
import type { Table } from "../support/table.ts";
import type { Bench, Measurement } from "./bench.ts";
import { COLUMNS, compare } from "./compare.ts";

/** One conversation that grows far beyond what the policy lets the model see. */
export const growingText: Measurement = (bench) => growing(bench, false);
export const growingTool: Measurement = (bench) => growing(bench, true);

async function growing(bench: Bench, usesTool: boolean): Promise<Table> {
  const { sizes, budgets } = bench;
  const { longTurns: turns, rounds } = sizes;
  const id = usesTool ? "growing-tool" : "growing-text";
  const job = { conversations: 1, turns, atOnce: false, usesTool };
  const { rows, notes, results } = await compare(bench, id, ["heddle", "heddle-memory"], job);
  const grown = Object.values(results).map(({ laps }) => laps.map(lastToFirst));
  const flat = results.heddle && median(results.heddle.laps.map(lastToFirst));
  const what = usesTool ? "one tool call per turn" : "text only";
  return {
    id,
    title: `One conversation of ${turns} turns, a window of 8,000 tokens, ${what}, ${rounds} rounds`,
    columns: [...COLUMNS, { key: "flat", label: "last 10th to first", unit: "times" }],
    rows: rows.map((row, index) => {
      const ratios = grown[index];
      return ratios === undefined ? row : { ...row, values: { ...row.values, flat: median(ratios) } };
    }),
    checks: [
      budgets.atMost("lastTurnsToFirst", flat, {
        what: `${what}: the last turns to the first of ${turns}`,
        unit: "times",
      }),
    ],
    notes: ["Heddle shows what fits into the window; the others show, and copy, all of it.", ...notes],
  };
}

/** The first turns start a conversation, so they are the second tenth. */
function lastToFirst({ each }: Lap): number {
  const tenth = Math.floor(each.length / 10);
  return median(each.slice(-tenth)) / median(each.slice(tenth, 2 * tenth));
}
