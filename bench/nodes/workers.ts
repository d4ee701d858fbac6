import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { AgentHost } from "heddle";
import { Budgets } from "../support/budgets.ts";
import { median, percentile } from "../support/statistics.ts";
import type { Table } from "../support/table.ts";
import { agent, modelCalls, storeOf } from "./agent.ts";

const CHILD = fileURLToPath(new URL("holder-child.ts", import.meta.url));
const LOST = 20;
const ASKS = 300;
const CONCURRENCY = 32;

/** A host that works takes the threads of a killed process, and limits its model calls. */
export async function workers(id: string, title: string, url: string): Promise<Table> {
  const store = storeOf(url);
  const holder = fork(CHILD, [url]);
  await once(holder, "message");
  for (let n = 0; n < LOST; n++) await ask(holder, `lost ${n}`);
  const host = AgentHost.create({ agent: agent(), store, idleMs: 0 });
  host.work({ concurrency: CONCURRENCY });
  const killed = performance.now();
  holder.kill("SIGKILL");
  const taken: number[] = [];
  while (taken.length < LOST) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    while (taken.length < host.size) taken.push(performance.now() - killed);
  }
  for (let n = 0; n < LOST; n++) await host.cancel(`lost ${n}`);
  modelCalls.most = 0;
  const before = performance.now();
  const asks = Array.from({ length: ASKS }, async (_, n) => (await host.ask(`many ${n}`, "slow")).result);
  await Promise.all(asks);
  const ms = performance.now() - before;
  await host.stop({ graceMs: 0 });
  await store.close();
  const p95 = percentile(taken, 0.95);
  const budgets = new Budgets("nodes");
  const { most } = modelCalls;
  return {
    id: `${id}-workers`,
    title: `${title}: a host that works, with concurrency ${CONCURRENCY}`,
    columns: [
      { key: "p50", label: "median", unit: "ms" },
      { key: "p95", label: "p95", unit: "ms" },
      { key: "most", label: "model calls at once", unit: "count" },
    ],
    rows: [
      { name: `${LOST} running threads of a killed process`, values: { p50: median(taken), p95 } },
      { name: `${ASKS} asks at once, until the last answer`, values: { p50: ms, most } },
    ],
    checks: [
      budgets.atMost("takenMilliseconds", p95, { what: `thread of a killed process, ${id}, p95`, unit: "ms" }),
      budgets.atMost("modelCallsAtOnce", most, {
        what: `${ASKS} asks at once, ${id}, model calls at once`,
        unit: "count",
      }),
    ],
    notes: ["The lease of the killed process lasts ten seconds. A model call of the asks takes 20 ms."],
  };
}

async function ask(holder: ChildProcess, threadId: string): Promise<void> {
  holder.send({ threadId, text: "talk" });
  await once(holder, "message");
}
