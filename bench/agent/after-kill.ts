import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sqliteStore } from "heddle/sqlite";
import { runScript } from "../support/child.ts";
import type { Lap, Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Row, Table } from "../support/table.ts";
import { show, showSize } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { ANSWER, askOf } from "./conversation.ts";

const CHILD = fileURLToPath(new URL("after-kill-child.ts", import.meta.url));
const BATCH = 1000;

/** Whether the process has run the code before (warm) or has just started (fresh). */
type Life = "fresh" | "warm";

/** A process is killed during a tool: the time until the next process calls the model. */
export async function afterKill({ sizes, scratch, budgets }: Bench): Promise<Table> {
  const { entries, kills: rounds } = sizes;
  const [few, many, most] = entries;
  for (const count of entries) await makeThread(scratch.file(`kill-${count}.db`), count);
  const lives = entries.flatMap((count) =>
    (["warm", "fresh"] as const).map(
      (life) => [nameOf(count, life), () => killAndGoOn(scratch.file(`kill-${count}.db`), life)] as const,
    ),
  );
  const results: Readonly<Record<string, Result>> = await race(Object.fromEntries(lives), { rounds });
  const of = (count: number, life: Life): Result | undefined => results[nameOf(count, life)];
  const over = (count: number, than: number, life: Life): number | undefined => {
    const [result, other] = [of(count, life), of(than, life)];
    return other && result?.over(other);
  };
  return {
    id: "after-kill",
    title: `Killed in a tool, until the next process calls the model: ${rounds} kills of a thread of so many entries`,
    columns: [
      { key: "warm", label: "p50", unit: "ms" },
      { key: "warmWorst", label: "worst", unit: "ms" },
      { key: "warmToFew", label: `to ${showSize(few)}`, unit: "times" },
      { key: "fresh", label: "with loading", unit: "ms" },
      { key: "freshToFew", label: `to ${showSize(few)}`, unit: "times" },
    ],
    rows: entries.map((count): Row => {
      const warm = of(count, "warm");
      return {
        name: `${show(count, "count")} entries`,
        values: {
          warm: warm?.p50,
          warmWorst: warm?.p99,
          warmToFew: over(count, few, "warm"),
          fresh: of(count, "fresh")?.p50,
          freshToFew: over(count, few, "fresh"),
        },
      };
    }),
    checks: [
      budgets.atMost("afterKillLongToShort", over(most, few, "fresh"), {
        what: `time to go on after a kill, with loading, flat from ${showSize(few)} to ${showSize(most)} entries`,
        unit: "times",
      }),
      budgets.atMost("afterKillLongToMiddle", over(most, many, "warm"), {
        what: `time to go on after a kill, flat from ${showSize(many)} to ${showSize(most)} entries`,
        unit: "times",
      }),
    ],
    notes: [
      "The time from AgentServer.start to the model call, in another process that has opened the file. The thread is claimed, its end is read, and the interrupted call is closed.",
      `A thread of ${few} entries has less to show than a window holds; from ${show(many, "count")} on, what is read and shown is as much.`,
      "With loading: the process has not run an agent yet, so the code is loaded in that time, too.",
    ],
  };
}

function nameOf(count: number, life: Life): string {
  return `${life} ${count}`;
}

async function killAndGoOn(path: string, life: Life): Promise<Lap> {
  const death = await promisify(execFile)(process.execPath, [CHILD, "die", path, "thread_kill"]).catch(
    (error: { signal?: string; stderr?: string }) => error,
  );
  if (!("signal" in death) || death.signal !== "SIGKILL") throw new Error(`It was not killed: ${death.stderr}`);
  const { ms } = await runScript<{ ms: number }>(CHILD, [life, path, "thread_kill"]);
  return { operations: 1, ms, each: [ms] };
}

/** A conversation of the past, as an agent writes it. */
async function makeThread(path: string, count: number): Promise<void> {
  console.error(`after-kill: making a thread of ${show(count, "count")} entries...`);
  const store = sqliteStore(path);
  for (let from = 0; from < count; from += BATCH) {
    const size = Math.min(BATCH, count - from);
    await store.append(
      "thread_kill",
      Array.from({ length: size }, (_, offset) => entryOf(from + offset)),
    );
  }
  await store.close();
}

function entryOf(index: number) {
  const turn = index >> 1;
  const isAsk = index % 2 === 0;
  const ids = { requestId: `req_${turn}`, runId: `run_${turn}` };
  return {
    kind: "ai_message",
    payload: {
      contextRef: "default",
      role: isAsk ? "user" : "assistant",
      content: isAsk ? askOf(turn) : ANSWER,
      ...(!isAsk && { end: { status: "completed", terminationReason: "final_answer" } }),
      ...ids,
    },
    refs: ids,
  };
}
