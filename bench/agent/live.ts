import { fileURLToPath } from "node:url";
import { runScript } from "../support/child.ts";
import type { Table } from "../support/table.ts";
import { show } from "../support/units.ts";
import type { Bench } from "./bench.ts";

const CHILD = fileURLToPath(new URL("live-child.ts", import.meta.url));

interface Live {
  readonly most: number;
  readonly last: number;
}

/** One thread that stays live while it is asked many times: what it keeps in memory must not grow with its log. */
export async function live({ sizes, scratch, budgets }: Bench): Promise<Table> {
  const requests = sizes.liveRequests;
  console.error(`live: ${show(requests, "count")} requests of one thread...`);
  const { most, last } = await runScript<Live>(CHILD, [scratch.folder("live"), String(requests)], ["--expose-gc"]);
  return {
    id: "live",
    title: `One live thread, asked ${show(requests, "count")} times`,
    columns: [
      { key: "most", label: "heap at most", unit: "bytes" },
      { key: "last", label: "at the end", unit: "bytes" },
    ],
    rows: [{ name: "heddle, SQLite relaxed", values: { most, last } }],
    checks: [budgets.atMost("liveBytes", most, { what: "memory of a live thread after many requests", unit: "bytes" })],
    notes: ["Heap and external bytes in use after a collection, less those after the first request."],
  };
}
