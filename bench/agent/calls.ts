import { AgentServer, defineAgent, defineTool, memoryStore } from "heddle";
import { oneByOneInCpu } from "../support/cpu.ts";
import type { Lap } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Row, Table } from "../support/table.ts";
import { show } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { askOf, SYSTEM_PROMPT, TOOL } from "./conversation.ts";
import { instantModel } from "./model.ts";

const REQUESTS = 3;
/** Large enough for all results. */
const POLICY = { maxInputTokens: 1_000_000, reserveOutputTokens: 2000 } as const;

/** One answer with many tool calls: does a call of a long answer cost more than one of a short answer. */
export async function calls({ sizes, budgets }: Bench): Promise<Table> {
  const [few, many] = sizes.callsInAnswer;
  const results = await race(
    { few: () => requestsOf(few), many: () => requestsOf(many) },
    { rounds: 2 * sizes.rounds, warmup: 2 },
  );
  const ratio = results.many.medianOver(results.few) * (few / many);
  const row = (count: number, p50: number, toFew: number): Row => {
    return { name: `${show(count, "count")} calls`, values: { p50, perCall: p50 / count, toFew } };
  };
  return {
    id: "calls",
    title: `A request whose first answer has so many tool calls, in memory. CPU, ${2 * sizes.rounds} rounds`,
    columns: [
      { key: "p50", label: "p50", unit: "time" },
      { key: "perCall", label: "of each call", unit: "time" },
      { key: "toFew", label: "to the short answer", unit: "times" },
    ],
    rows: [row(few, results.few.p50, 1), row(many, results.many.p50, ratio)],
    checks: [
      budgets.atMost("callsManyToFew", ratio, {
        what: `CPU of each of ${show(many, "count")} calls of one answer to each of ${show(few, "count")}`,
        unit: "times",
      }),
    ],
  };
}

async function requestsOf(count: number): Promise<Lap> {
  const store = memoryStore();
  const agent = defineAgent({
    model: instantModel(true, { messages: 0 }, count),
    systemPrompt: SYSTEM_PROMPT,
    contextPolicy: POLICY,
    tools: { [TOOL.name]: weather },
  });
  const lap = await oneByOneInCpu(REQUESTS, async (index) => {
    const server = await AgentServer.start({ agent, store, threadId: `thread_${index}` });
    await (await server.ask(askOf(index))).result;
    await server.stop();
  });
  await store.close();
  return lap;
}

const weather = defineTool({
  description: TOOL.description,
  inputSchema: TOOL.inputSchema,
  execute: () => TOOL.output,
});
