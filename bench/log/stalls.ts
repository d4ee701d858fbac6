import { sqliteStore } from "heddle/sqlite";
import type { Row, Table } from "../support/table.ts";
import { showSize } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { messages } from "./message.ts";

/** The longest turn of the event loop during large operations, in CPU time, which other programs do not change. */
export async function stalls({ sizes: { stallEntries }, scratch, budgets }: Bench): Promise<Table> {
  const store = sqliteStore(scratch.file("stalls.db"));
  const list = messages(0, stallEntries);
  await store.append("warm_up", list.slice(0, 1500));
  const measured = [
    await longestTurn("append of all in one batch", () => store.append("thread_1", list)),
    await longestTurn("verify", () => store.verify("thread_1")),
    await longestTurn("search of all threads", () => store.list({ search: "not in any entry" })),
    await longestTurn("delete", () => store.delete("thread_1")),
  ];
  await store.close();
  const longest = Math.max(...measured.map(({ values }) => Number(values["turn"])));
  return {
    id: "stalls",
    title: `The longest turn of the event loop: one thread of ${showSize(stallEntries)} entries in SQLite`,
    columns: [
      { key: "turn", label: "longest turn, CPU", unit: "ms" },
      { key: "ms", label: "all turns", unit: "ms" },
    ],
    rows: measured,
    checks: [
      budgets.atMost("longestTurnMilliseconds", longest, { what: "longest turn of the event loop, CPU", unit: "ms" }),
    ],
  };
}

async function longestTurn(name: string, work: () => Promise<unknown>): Promise<Row> {
  let longest = 0;
  let isDone = false;
  let before = process.threadCpuUsage();
  const turn = (): void => {
    const now = process.threadCpuUsage();
    longest = Math.max(longest, (now.user + now.system - before.user - before.system) / 1000);
    before = now;
    if (!isDone) setTimeout(turn);
  };
  setTimeout(turn);
  const started = performance.now();
  await work();
  const ms = performance.now() - started;
  turn();
  isDone = true;
  return { name, values: { turn: longest, ms } };
}
