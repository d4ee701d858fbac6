import type { Table } from "../support/table.ts";
import { show, showSize } from "../support/units.ts";
import { type Bench, BUDGET } from "./bench.ts";
import { measureAll, rowOf } from "./peers.ts";

const INCREMENTAL = "heddle, incremental";

/** How long it takes to make a context, however long the conversation has become. */
export async function build({ sizes, peers, budgets }: Bench): Promise<Table[]> {
  const { counts, patienceMs } = sizes;
  const job = { table: "build" as const, counts, budget: BUDGET, patienceMs };
  const { variants, unavailable, notes } = await measureAll(job, peers);
  const incremental = variants.find(({ name }) => name.startsWith(INCREMENTAL))?.numbers?.ms ?? [];
  const rows = variants.map((variant) =>
    rowOf(variant, ({ ms, messages }) => ({
      values: { ...Object.fromEntries(counts.map((count, index) => [keyOf(count), ms[index]])), messages },
      ...(variant.fixed && { remark: "no budget" }),
    })),
  );
  return [
    {
      id: "build",
      title: `A context of ${show(BUDGET, "count")} tokens from a conversation of so many messages, one call`,
      columns: [
        ...counts.map((count) => ({ key: keyOf(count), label: showSize(count), unit: "time" as const })),
        { key: "messages", label: `messages of ${showSize(counts[0] ?? 0)}`, unit: "count" },
      ],
      rows: [...rows, ...unavailable],
      checks: counts.map((count, index) =>
        budgets.atMost("incrementalMilliseconds", incremental[index], {
          what: `incremental, at ${showSize(count)}`,
          unit: "time",
        }),
      ),
      notes: [
        "Median call; of the incremental one, which sometimes moves the window, the mean call of the median lap.",
        `Blank: by its growth so far a call would take more than ${show(patienceMs, "time")}.`,
        ...notes,
      ],
    },
  ];
}

function keyOf(count: number): string {
  return `at_${count}`;
}
