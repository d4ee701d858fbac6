import { setTimeout as sleep } from "node:timers/promises";
import { AgentHost } from "heddle";
import { Budgets } from "../support/budgets.ts";
import type { Table } from "../support/table.ts";
import { agent, storeOf } from "./agent.ts";

/** How many are asked at once until all are live. */
const AT_ONCE = 100;
const WATCHERS = 1_000;
const REST_MS = 20_000;

/** A process with many live threads that wait, and many readers of threads in which nothing happens. */
export async function idle(id: string, title: string, url: string, threads: number): Promise<Table> {
  const store = storeOf(url);
  const host = AgentHost.create({ agent: agent(), store, idleMs: 3_600_000 });
  host.work();
  const names = Array.from({ length: threads }, (_, index) => `idle ${index}`);
  for (let at = 0; at < threads; at += AT_ONCE)
    await Promise.all(names.slice(at, at + AT_ONCE).map(async (name) => (await host.ask(name, "hi")).result));
  const ended = new AbortController();
  const { signal } = ended;
  const watchers = names.slice(0, WATCHERS).map(async (name) => {
    for await (const _entry of store.watch(name, { fromSeq: 1_000, signal }));
  });
  await sleep(REST_MS); // the garbage of the asks is collected meanwhile
  const live = host.size;
  const cpu = process.cpuUsage();
  await sleep(REST_MS);
  const { user, system } = process.cpuUsage(cpu);
  const share = (user + system) / 1000 / REST_MS;
  ended.abort();
  await Promise.all(watchers);
  await host.stop({ graceMs: 0 });
  await store.close();
  const what = `${live} idle live threads and ${watchers.length} watchers, ${id}, of a core`;
  return {
    id: `${id}-idle`,
    title: `${title}: a process at rest for ${REST_MS / 1000} s`,
    columns: [{ key: "share", label: "of a core", unit: "share" }],
    rows: [{ name: `${live} live threads, ${watchers.length} watchers`, values: { share } }],
    checks: [new Budgets("nodes").atMost("idleShare", share, { what, unit: "share" })],
    notes: ["CPU time of the process only; that of Postgres is not in it."],
  };
}
