import { AgentServer, defineAgent, memoryStore } from "heddle";
import { uiMessageStreamResponse } from "heddle/ai-sdk";
import { oneByOneInCpu } from "../support/cpu.ts";
import type { Lap, Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import { median } from "../support/statistics.ts";
import type { Row, Table } from "../support/table.ts";
import { show } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { POLICY, SYSTEM_PROMPT } from "./conversation.ts";
import { wordyModel } from "./model.ts";

const MORE = 16;

/** The answer of one request, read as server-sent events by one page and by many at once. */
export async function listeners({ sizes, budgets }: Bench): Promise<Table> {
  const { deltas, rounds } = sizes;
  const results = await race(
    { one: () => readBy(1, deltas), many: () => readBy(1 + MORE, deltas) },
    { rounds: 2 * rounds, warmup: 2 * rounds },
  );
  const microseconds = (result: Result): readonly number[] => result.laps.map(({ ms }) => (ms * 1000) / deltas);
  const one = microseconds(results.one);
  const further = median(microseconds(results.many).map((us, round) => (us - (one[round] ?? Number.NaN)) / MORE));
  const row = (name: string, us: number): Row => ({ name, values: { us } });
  return {
    id: "listeners",
    title: `An answer of ${show(deltas, "count")} deltas, read as UI messages by 1 and by ${1 + MORE}: CPU of each delta`,
    columns: [{ key: "us", label: "CPU", unit: "us" }],
    rows: [row("the request with one listener", median(one)), row("each further listener", further)],
    checks: [
      budgets.atMost("furtherListenerMicroseconds", further, {
        what: "CPU of each further UI listener for each delta",
        unit: "us",
      }),
    ],
  };
}

async function readBy(count: number, deltas: number): Promise<Lap> {
  const store = memoryStore();
  const agent = defineAgent({ model: wordyModel(deltas), systemPrompt: SYSTEM_PROMPT, contextPolicy: POLICY });
  const server = await AgentServer.start({ agent, store });
  const lap = await oneByOneInCpu(1, async () => {
    const request = await server.ask("Go on.");
    await Promise.all(Array.from({ length: count }, () => drain(uiMessageStreamResponse(request))));
    await request.result;
  });
  await server.stop();
  await store.close();
  return lap;
}

async function drain({ body }: Response): Promise<void> {
  await body?.pipeTo(new WritableStream());
}
