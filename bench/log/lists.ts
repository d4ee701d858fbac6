import type { ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import type { ListOptions } from "heddle/store";
import { median } from "../support/statistics.ts";
import type { Table } from "../support/table.ts";
import { showSize } from "../support/units.ts";
import type { Bench } from "./bench.ts";

const THREADS_PER_OWNER = 100;
const THREADS_PER_PROJECT = 1000;
/** Appends that wait for one commit. */
const AT_ONCE = 1000;
const MINUTE = 60_000;

/** One page of a list in a SQLite file with many threads. */
export async function lists({ sizes, scratch, budgets }: Bench): Promise<Table> {
  const { threads, loadsPerRound, rounds } = sizes;
  let now = Date.UTC(2026, 0);
  const store = sqliteStore(scratch.file("lists.db"), { mode: "relaxed", clock: () => (now += MINUTE) });
  await fill(store, threads);
  const pages: Readonly<Record<string, (n: number) => ListOptions>> = {
    "of all threads": () => ({}),
    "by owner": (n) => ({ owner: `owner_${n % (threads / THREADS_PER_OWNER)}` }),
    "by metadata": (n) => ({ metadata: { project: n % (threads / THREADS_PER_PROJECT) } }),
  };
  const rows: { readonly name: string; readonly cpu: number }[] = [];
  for (const [name, optionsOf] of Object.entries(pages)) {
    const cpu: number[] = [];
    for (let round = -2; round < rounds; round++) {
      const before = process.cpuUsage();
      for (let load = 0; load < loadsPerRound; load++) {
        const page = await store.list(optionsOf((round + 2) * loadsPerRound + load));
        if (page.threads.length !== 50) throw new Error(`A page ${name} has ${page.threads.length} threads.`);
      }
      const { user, system } = process.cpuUsage(before);
      if (round >= 0) cpu.push((user + system) / 1000 / loadsPerRound);
    }
    rows.push({ name, cpu: median(cpu) });
  }
  await store.close();
  const slowest = Math.max(...rows.map(({ cpu }) => cpu));
  return {
    id: "lists",
    title: `The newest 50 of ${showSize(threads)} threads in SQLite`,
    columns: [{ key: "cpu", label: "CPU", unit: "ms" }],
    rows: rows.map(({ name, cpu }) => ({ name, values: { cpu } })),
    checks: [
      budgets.atMost("listCpuMilliseconds", slowest, {
        what: `one list of ${showSize(threads)} threads, the slowest of three, CPU`,
        unit: "ms",
      }),
    ],
  };
}

async function fill(store: ThreadStore, threads: number): Promise<void> {
  for (let from = 0; from < threads; from += AT_ONCE) {
    const count = Math.min(AT_ONCE, threads - from);
    await Promise.all(
      Array.from({ length: count }, (_, n) => {
        const thread = from + n;
        const payload = { role: "user", content: `What is the weather in town ${thread}?` };
        const owner = `owner_${thread % (threads / THREADS_PER_OWNER)}`;
        const metadata = { title: `Town ${thread}`, project: thread % (threads / THREADS_PER_PROJECT) };
        return store.append(`thread_${thread}`, { kind: "message", payload }, { owner, metadata });
      }),
    );
  }
}
