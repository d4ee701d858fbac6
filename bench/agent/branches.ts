import { AgentServer, branch, defineAgent, type EntryInput, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { oneByOneInCpu } from "../support/cpu.ts";
import type { Lap, Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Row, Table } from "../support/table.ts";
import { show } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { ANSWER, askOf, POLICY, SYSTEM_PROMPT } from "./conversation.ts";
import { instantModel } from "./model.ts";

const THREAD = "thread_branch";
const LIVE_TURNS = 20;
const FRESH_TURNS = 10;

/** The turns of a long conversation whose user has undone one turn long ago, beside the same conversation without that. */
export async function branches({ sizes, scratch, budgets }: Bench): Promise<Table> {
  const { branchedTurns: turns, rounds } = sizes;
  const plain = sqliteStore(scratch.file("branch-none.db"), { mode: "relaxed" });
  const branched = sqliteStore(scratch.file("branch-one.db"), { mode: "relaxed" });
  await makeThread(plain, turns, false);
  await makeThread(branched, turns, true);
  const fresh = await race(
    { plain: () => freshTurns(plain), branched: () => freshTurns(branched) },
    { rounds, warmup: 2 },
  );
  const servers = [await serverOf(plain), await serverOf(branched)] as const;
  const live = await race(
    { plain: () => liveTurns(servers[0]), branched: () => liveTurns(servers[1]) },
    { rounds: 4 * rounds, warmup: 4 },
  );
  for (const server of servers) await server.stop();
  for (const store of [plain, branched]) await store.close();
  const row = (name: string, result: Result, base: Result): Row => ({
    name,
    values: { p50: result.p50, p99: result.p99, ratio: result.medianOver(base) },
  });
  return {
    id: "branches",
    title: `A turn after ${show(turns, "count")} turns, with and without a branch in the middle: CPU, ${rounds} rounds`,
    columns: [
      { key: "p50", label: "CPU, p50", unit: "ms" },
      { key: "p99", label: "CPU, p99", unit: "ms" },
      { key: "ratio", label: "to without", unit: "times" },
    ],
    rows: [
      row("live, without a branch", live.plain, live.plain),
      row("live, after a branch", live.branched, live.plain),
      row("started for the turn, without a branch", fresh.plain, fresh.plain),
      row("started for the turn, after a branch", fresh.branched, fresh.plain),
    ],
    checks: [
      budgets.atMost("branchedTurnLive", live.branched.medianOver(live.plain), {
        what: "CPU of a turn of a live thread after a branch to one without",
        unit: "times",
      }),
      budgets.atMost("branchedTurnFresh", fresh.branched.medianOver(fresh.plain), {
        what: "CPU of a turn of a thread that is started for it, after a branch to one without",
        unit: "times",
      }),
    ],
  };
}

function serverOf(store: ThreadStore): Promise<AgentServer> {
  const model = instantModel(false, { messages: 0 });
  const agent = defineAgent({ model, systemPrompt: SYSTEM_PROMPT, contextPolicy: POLICY });
  return AgentServer.start({ agent, store, threadId: THREAD });
}

function liveTurns(server: AgentServer): Promise<Lap> {
  return oneByOneInCpu(LIVE_TURNS, async (index) => (await server.ask(askOf(index))).result);
}

function freshTurns(store: ThreadStore): Promise<Lap> {
  return oneByOneInCpu(FRESH_TURNS, async (index) => {
    const server = await serverOf(store);
    await (await server.ask(askOf(index))).result;
    await server.stop();
  });
}

async function makeThread(store: ThreadStore, turns: number, hasBranch: boolean): Promise<void> {
  const half = Math.floor(turns / 2);
  await store.append(THREAD, Array.from({ length: half }, (_, turn) => turnOf(turn)).flat());
  const thread = await store.load(THREAD, { last: 4, lanes: ["second"] });
  const [undone] = thread?.slice(2 * half - 2, 2 * half - 1) ?? [];
  if (thread === undefined || undone === undefined) throw new Error("The thread was not made.");
  const payload = branch(thread, { before: undone.id, lane: "second" });
  await store.append(THREAD, hasBranch ? { kind: "ai_context_operation", payload } : { kind: "note", payload: {} });
  await store.append(THREAD, Array.from({ length: half }, (_, turn) => turnOf(half + turn)).flat());
}

function turnOf(turn: number): EntryInput[] {
  const ids = { requestId: `req_${turn}`, runId: `run_${turn}` };
  const end = { status: "completed", terminationReason: "final_answer" };
  return [
    { kind: "ai_message", payload: { role: "user", content: askOf(turn), ...ids }, refs: ids },
    { kind: "ai_message", payload: { role: "assistant", content: ANSWER, end, ...ids }, refs: ids },
  ];
}
