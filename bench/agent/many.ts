import type { Table } from "../support/table.ts";
import type { Bench, Measurement } from "./bench.ts";
import { COLUMNS, compare } from "./compare.ts";

/** Many agents at once in one process, each asked again when it has answered. */
export const manyText: Measurement = (bench) => many(bench, false);
export const manyTool: Measurement = (bench) => many(bench, true);

async function many(bench: Bench, usesTool: boolean): Promise<Table> {
  const { sizes, budgets } = bench;
  const { agents: conversations, turnsPerAgent: turns, rounds } = sizes;
  const id = usesTool ? "many-tool" : "many-text";
  const job = { conversations, turns, atOnce: true, usesTool };
  const { rows, notes, results } = await compare(bench, id, ["heddle-host", "heddle-memory-host"], job);
  const what = `${conversations} agents at once, ${usesTool ? "one tool call" : "text only"}`;
  const { baseline, "heddle-host": onDisk } = results;
  return {
    id,
    title: `${what}: fresh threads, ${turns} turns each per round, ${rounds} rounds`,
    columns: COLUMNS,
    rows,
    checks: [
      budgets.atMost(usesTool ? "manyToolToBaseline" : "manyTextToBaseline", baseline && onDisk?.over(baseline), {
        what: `${what}: heddle on SQLite to the baseline`,
        unit: "times",
      }),
    ],
    notes: ["p50 and p99 include waiting for one's turn. Starting each thread is a part of its first turn.", ...notes],
  };
}
