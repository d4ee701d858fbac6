import { setImmediate as turn } from "node:timers/promises";
import { sqliteStore } from "heddle/sqlite";
import { atOnce, oneByOne, type Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Row, Table } from "../support/table.ts";
import { Baseline } from "./baseline.ts";
import type { Bench } from "./bench.ts";
import { messageOf, payloadOf } from "./message.ts";

export const AGENTS = 256;

/** Many agents in one process, each with a thread of its own, each waiting until its entry is durable. */
export async function agents({ sizes, scratch, budgets }: Bench): Promise<Table> {
  const { rounds, appendsPerAgent } = sizes;
  const baseline = new Baseline(scratch.file("agents-baseline.db"));
  const store = sqliteStore(scratch.file("agents-heddle.db"));
  let seq = 0;
  let appended = 0;
  const results = await race(
    {
      one: () => oneByOne(AGENTS, () => store.append("thread_alone", messageOf(appended++))),
      baseline: () =>
        atOnce(AGENTS, appendsPerAgent, async (agent) => {
          await turn();
          baseline.insert(`thread_${agent}`, seq, payloadOf(seq++));
        }),
      many: () => atOnce(AGENTS, appendsPerAgent, (agent) => store.append(`thread_${agent}`, messageOf(appended++))),
    },
    { rounds: Math.max(3, rounds >> 1) },
  );
  baseline.close();
  await store.close();

  const row = (name: string, result: Result): Row => ({
    name,
    values: {
      p50: result.p50,
      p99: result.p99,
      rate: result.perSecond,
      toOne: 1 / result.over(results.one),
      toBaseline: 1 / result.over(results.baseline),
    },
  });
  return {
    id: "agents",
    title: `Appends from ${AGENTS} agents at once: a thread each, ${appendsPerAgent} appends each per round`,
    columns: [
      { key: "p50", label: "p50", unit: "ms" },
      { key: "p99", label: "p99", unit: "ms" },
      { key: "rate", label: "appends", unit: "per second" },
      { key: "toOne", label: "to one agent", unit: "times" },
      { key: "toBaseline", label: "to baseline", unit: "times" },
    ],
    rows: [
      row("heddle/sqlite, one agent", results.one),
      row(`baseline: ${AGENTS} agents, a transaction each`, results.baseline),
      row(`heddle/sqlite, ${AGENTS} agents`, results.many),
    ],
    checks: [
      budgets.atLeast("agents256ToOneAgent", 1 / results.many.over(results.one), {
        what: `rate of ${AGENTS} agents to that of one`,
        unit: "times",
      }),
    ],
    notes: ["Ratios are of rates: more is better. p50 and p99 include waiting for one's turn."],
  };
}
