import { AgentServer, ContextPolicy, defineAgent, type EntryInput, projectFromStore, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { Counting } from "../projection/counting.ts";
import { oneByOneInCpu } from "../support/cpu.ts";
import { race } from "../support/race.ts";
import { median } from "../support/statistics.ts";
import type { Row, Table } from "../support/table.ts";
import { show } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { ANSWER, askOf, SYSTEM_PROMPT } from "./conversation.ts";
import { instantModel } from "./model.ts";

const THREAD = "thread_long_turns";
const TURNS = 8;
const CALLS = 400;
const STARTS = 7;
const BUDGETS = [8000, 20_000, 60_000, 200_000];

interface Measured {
  readonly name: string;
  readonly ratio: number;
  readonly loads: number;
  readonly row: Row;
}

/** The start of a session whose turns have hundreds of calls, beside a plain load of as many entries as it reads. */
export async function longTurns({ sizes: { rounds }, scratch, budgets }: Bench): Promise<Table> {
  const store = sqliteStore(scratch.file("long-turns.db"), { mode: "relaxed" });
  for (let turn = 0; turn < TURNS; turn++) await store.append(THREAD, turnOf(turn));
  const measure = async (name: string, run: (place: ThreadStore) => Promise<unknown>): Promise<Measured> => {
    const counting = new Counting(store);
    await run(counting.store);
    const { loaded, reads } = counting;
    const loads = counting.loads - 1; // the first is the page that every session and projection reads
    const results = await race(
      {
        tail: () => oneByOneInCpu(STARTS, () => store.load(THREAD, { last: loaded })),
        work: () => oneByOneInCpu(STARTS, () => run(store)),
      },
      { rounds, warmup: 1 },
    );
    const ratio = results.work.medianOver(results.tail);
    const values = {
      tail: results.tail.p50,
      p50: results.work.p50,
      ratio,
      loads,
      rows: loaded,
      looks: reads - loads - 1,
    };
    return { name, ratio, loads, row: { name, values } };
  };
  const sessions: Measured[] = [];
  const projections: Measured[] = [];
  for (const budget of BUDGETS) {
    const policy = ContextPolicy.create({ maxInputTokens: budget, reserveOutputTokens: 0 });
    const tokens = `${show(budget, "count")} tokens`;
    sessions.push(await measure(`session, ${tokens}`, (place) => startSession(place, policy)));
    projections.push(
      await measure(`projectFromStore, ${tokens}`, (place) => projectFromStore(place, THREAD, { policy })),
    );
  }
  await store.close();
  const all = [...sessions, ...projections];
  return {
    id: "long-turns",
    title: `A thread of ${TURNS} turns of ${CALLS} calls: the start of a session at rest, and a projection. CPU`,
    columns: [
      { key: "tail", label: "plain load", unit: "ms" },
      { key: "p50", label: "p50", unit: "ms" },
      { key: "ratio", label: "to plain load", unit: "times" },
      { key: "loads", label: "loads after the page", unit: "count" },
      { key: "rows", label: "rows loaded", unit: "count" },
      { key: "looks", label: "short reads", unit: "count" },
    ],
    rows: all.map(({ row }) => row),
    checks: [
      budgets.atMost("longTurnsToTail", median(sessions.map(({ ratio }) => ratio)), {
        what: "CPU of the start of a session of long turns to a plain load of as many entries, median of the budgets",
        unit: "times",
      }),
      budgets.atMost("longTurnsLoads", Math.max(...all.map(({ loads }) => loads)), {
        what: "loads after the first page",
        unit: "count",
      }),
    ],
    notes: [
      "One window alone varies by 0.1x from run to run, so the check takes the median of the four.",
      "A short read returns at most 8 entries. A projection also builds the context; a session does that for its first call.",
    ],
  };
}

async function startSession(store: ThreadStore, contextPolicy: ContextPolicy): Promise<void> {
  const agent = defineAgent({
    model: instantModel(false, { messages: 0 }),
    systemPrompt: SYSTEM_PROMPT,
    contextPolicy,
  });
  const server = await AgentServer.start({ agent, store, threadId: THREAD });
  await server.stop();
}

function turnOf(turn: number): EntryInput[] {
  const ids = { requestId: `req_${turn}`, runId: `run_${turn}` };
  const end = { status: "completed", terminationReason: "final_answer" };
  const message = (payload: EntryInput["payload"], refs: EntryInput["refs"] = {}): EntryInput => ({
    kind: "ai_message",
    payload: { contextRef: "default", ...payload, ...ids },
    refs: { ...ids, ...refs },
  });
  const calls = Array.from({ length: CALLS }, (_, index) => {
    const id = `call_${turn}_${index}`;
    const toolCalls = [{ id, name: "search", arguments: { query: `yarn ${index}` } }];
    return [
      message({ role: "assistant", content: "", toolCalls }, { callId: `model_${id}` }),
      message({ role: "tool", toolCallId: id, name: "search", content: ANSWER.slice(0, 150) }, { toolCallId: id }),
    ];
  });
  const ask = message({ role: "user", content: askOf(turn) });
  return [ask, ...calls.flat(), message({ role: "assistant", content: ANSWER, end }, { callId: `model_${turn}` })];
}
