import type { Table } from "../support/table.ts";
import type { Bench, Measurement } from "./bench.ts";
import { COLUMNS, compare } from "./compare.ts";

/** One agent, asked again when it has answered; conversations stay short. */
export const oneText: Measurement = (bench) => one(bench, false);
export const oneTool: Measurement = (bench) => one(bench, true);

async function one(bench: Bench, usesTool: boolean): Promise<Table> {
  const { sizes, budgets } = bench;
  const [conversations, turns] = sizes.short;
  const id = usesTool ? "one-tool" : "one-text";
  const ours = ["heddle", "heddle-relaxed", "heddle-memory", "heddle-whole"] as const;
  const job = { conversations, turns, atOnce: false, usesTool };
  const { rows, notes, results, costs } = await compare(bench, id, ours, job);
  const what = `one agent, ${usesTool ? "one tool call" : "text only"}`;
  const { baseline, heddle } = results;
  const { "heddle-memory": inMemory, "heddle-whole": whole, "ai-sdk-stream": streaming, "ai-sdk": generating } = costs;
  return {
    id,
    title: `${what}: ${conversations} conversations of ${turns} turns per round, ${sizes.rounds} rounds`,
    columns: COLUMNS,
    rows,
    checks: [
      budgets.atMost(usesTool ? "oneToolToBaseline" : "oneTextToBaseline", baseline && heddle?.over(baseline), {
        what: `${what}: heddle on SQLite to the baseline`,
        unit: "times",
      }),
      ...(streaming === undefined
        ? []
        : [
            budgets.atMost("memoryToAiSdkStream", inMemory?.over(streaming), {
              what: `${what}: CPU of heddle in memory to AI SDK's stream`,
              unit: "times",
            }),
          ]),
      ...(generating === undefined
        ? []
        : [
            budgets.atMost("memoryToAiSdkGenerate", whole?.over(generating), {
              what: `${what}: CPU of heddle in memory, not streaming, to AI SDK's generate`,
              unit: "times",
            }),
          ]),
    ],
    notes: [
      "The model answers at once. The baseline is one durable insert for each entry that a request of heddle leaves.",
      "Ours to it: how many times as long, or as much of the processor, heddle on SQLite takes as this one.",
      "CPU is that of the process in the whole lap, beginning conversations and collecting garbage included. Heddle streams by default.",
      ...notes,
    ],
  };
}
