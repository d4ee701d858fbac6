import { fileURLToPath } from "node:url";
import { OTHERS, type PeerName } from "../peers/agent/peers.ts";
import { installTrouble } from "../peers/install.ts";
import { reasonOf, runScript } from "../support/child.ts";
import type { Row, Table } from "../support/table.ts";
import { show } from "../support/units.ts";
import type { Bench } from "./bench.ts";

const CHILD = fileURLToPath(new URL("idle-child.ts", import.meta.url));
const OURS: readonly PeerName[] = ["heddle-releasing", "heddle"];

/** The second way of one project; and one whose 10k requests take a quarter of an hour. */
const LEFT_OUT: readonly PeerName[] = ["ai-sdk-stream", "mastra"];

interface Idle {
  readonly name: string;
  readonly perThread: number;
  /** Share of one core. */
  readonly busy: number;
}

/** Many conversations that were asked once and wait: what each keeps of memory, and all of them of the processor. */
export async function idle({ sizes, scratch, budgets, peers: wanted }: Bench): Promise<Table> {
  const threads = sizes.idleThreads;
  const trouble = wanted ? installTrouble() : "left out; run with --peers";
  const answers = new Map<PeerName, Idle>();
  const rows: Row[] = [];
  for (const peer of [...OURS, ...OTHERS.filter((name) => !LEFT_OUT.includes(name))]) {
    try {
      if (trouble !== undefined && OTHERS.includes(peer)) throw new Error(trouble);
      console.error(`idle: ${show(threads, "count")} conversations of ${peer}...`);
      const args = [peer, scratch.folder(`idle-${peer}`), String(threads)];
      const answer = await runScript<Idle>(CHILD, args, ["--expose-gc"]);
      answers.set(peer, answer);
      const { name, perThread, busy } = answer;
      rows.push({
        name: name === "heddle, SQLite" ? "heddle, SQLite, live servers" : name,
        values: { perThread, busy },
      });
    } catch (error) {
      rows.push({ name: peer, values: {}, unavailable: reasonOf(error) });
    }
  }
  return {
    id: "idle",
    title: `${show(threads, "count")} conversations, each asked once and idle since`,
    columns: [
      { key: "perThread", label: "heap of each", unit: "bytes" },
      { key: "busy", label: "of a core, all", unit: "share" },
    ],
    rows,
    checks: [
      budgets.atMost("idleReleasedBytes", answers.get("heddle-releasing")?.perThread, {
        what: "memory of a thread that was let go",
        unit: "bytes",
      }),
      budgets.atMost("idleLiveBytes", answers.get("heddle")?.perThread, {
        what: "memory of a live server that is idle",
        unit: "bytes",
      }),
    ],
    notes: [
      "Values around zero, also negative ones, are noise of the heap.",
      "Heap and external bytes in use after a collection. A conversation that is only in memory keeps its one turn of history here.",
    ],
  };
}
