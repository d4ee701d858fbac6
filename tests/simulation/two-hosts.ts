import { AgentHost, type AnyAgent, type AnyTool, defineAgent, type Entry, memoryStore, type ThreadStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { Random } from "../../src/testing/random.ts";
import { type Clockwork, clockwork } from "../runtime/support/clockwork.ts";

const ACTS = 25;
const ROUNDS = 60;
const THREAD = "thread_t";
const anything = { type: "object" } as const;

const ELSEWHERE = ["busy", "thread_held", "server_stopped"];
const UNDECIDED = ["not_waiting", "thread_held", "server_stopped", "conflict"];

/** Two hosts on one thread, asked and decided through either at any moment. Answers what went wrong although nobody died. */
export async function twoHosts(seed: number): Promise<readonly string[]> {
  const random = new Random(seed);
  const clock = clockwork();
  const bare = memoryStore({ clock: clock.ports.clock });
  await bare.load("warm_up"); // loads what is loaded on demand
  const runs = new Map<string, number>();
  const agent = agentOf(random, clock, runs);
  const common = { agent, store: hearingLate(bare, clock), ports: clock.ports, warn: () => undefined };
  const times = { idleMs: 700, leaseTtlMs: 2_000, claimWaitMs: 4_000 };
  const hosts = ["a", "b"].map((holder) => AgentHost.create({ ...common, ...times, holder })) as [AgentHost, AgentHost];
  const wrong = new Set<string>();
  const refused = (call: Promise<unknown>, codes: readonly string[]): void => {
    call.catch((error: { readonly code?: string }) => {
      if (!codes.includes(String(error.code))) wrong.add(`refused as ${error.code ?? String(error)}`);
    });
  };
  const decide = async (): Promise<void> => {
    const [first, ...others] = openCalls(await logOf(bare));
    if (first === undefined) return;
    const { id, name } = random.pick([first, ...others]);
    const host = random.pick(hosts);
    if (name === "ask") refused(host.answer(THREAD, id, "yes"), UNDECIDED);
    else refused(random.oneIn(4) ? host.deny(THREAD, id) : host.approve(THREAD, id), UNDECIDED);
  };
  for (let act = 0; act < ACTS; act++) {
    const what = random.below(8);
    if (what < 2) refused(random.pick(hosts).ask(THREAD, `Ask ${act}`), ELSEWHERE);
    else if (what < 7) await decide();
    else refused(random.pick(hosts).resume(THREAD), ELSEWHERE);
    if (random.oneIn(3)) await decide();
    await clock.pass(random.pick([0, 5, 60, 300, 1_000, 3_000]));
  }
  for (let round = 0; round < ROUNDS; round++) {
    await clock.pass(1_500);
    await decide();
    if (round % 6 === 5) refused(random.pick(hosts).resume(THREAD), ELSEWHERE);
  }
  await clock.pass(10_000);
  for (const what of wrongIn(await logOf(bare), runs)) wrong.add(what);
  await clock.end(Promise.all(hosts.map((host) => host.stop({ graceMs: 0 }))));
  await bare.close();
  return [...wrong];
}

function* wrongIn(log: readonly Entry[], runs: ReadonlyMap<string, number>): Generator<string> {
  for (const count of runs.values()) if (count > 1) yield `a call ran ${count} times`;
  for (const { payload } of log) {
    const content = String(Reflect.get(payload, "content"));
    if (Reflect.get(payload, "role") === "tool" && content.includes("interrupted")) yield "a call was interrupted";
  }
  for (const id of new Set(log.flatMap(({ refs }) => refs.requestId ?? []))) {
    const ends = log.filter(({ refs, payload }) => refs.requestId === id && "end" in payload).length;
    if (ends !== 1) yield `a request has ${ends} ends`;
  }
}

function agentOf(random: Random, { ports }: Clockwork, runs: Map<string, number>): AnyAgent {
  const tool = (ms: number): AnyTool => ({
    inputSchema: anything,
    execute: async ({ n }: { readonly n: number }) => {
      runs.set(String(n), (runs.get(String(n)) ?? 0) + 1);
      if (ms > 0) await new Promise<void>((resolve) => void ports.after(random.below(ms), resolve));
      return `ran ${n}`;
    },
  });
  let serial = 0;
  const call = () => {
    const n = serial++;
    return { id: `call_${n}`, name: random.pick(["fast", "slow", "pay", "ask"]), arguments: { n } };
  };
  const step = () => (random.oneIn(3) ? "Done." : { calls: random.list(1 + random.below(3), call) });
  const steps = Array.from({ length: 400 }, () => step);
  const pay = { ...tool(3_000), needsApproval: true };
  return defineAgent({
    model: scriptedModel(steps, { order: "any" }),
    maxIterations: 5,
    toolTimeoutMs: 100_000,
    tools: { fast: tool(0), slow: tool(4_000), pay, ask: { inputSchema: anything } },
  }) as AnyAgent; // its types do not matter here
}

/** Those who watch hear a little later, as those of a database do. */
function hearingLate(store: ThreadStore, { ports }: Clockwork): ThreadStore {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (name !== "watch") return typeof method === "function" ? method.bind(target) : method;
      return async function* (...given: Parameters<ThreadStore["watch"]>) {
        for await (const entry of target.watch(...given)) {
          await new Promise<void>((resolve) => void ports.after(50, resolve));
          yield entry;
        }
      };
    },
  });
}

async function logOf(store: ThreadStore): Promise<readonly Entry[]> {
  return (await store.load(THREAD))?.toArray() ?? [];
}

/** Calls that somebody outside may decide on, as far as the log tells. */
function openCalls(log: readonly Entry[]): readonly { readonly id: string; readonly name: string }[] {
  const calls = log.flatMap(
    ({ payload }) => (Reflect.get(payload, "toolCalls") ?? []) as { id: string; name: string }[],
  );
  const done = new Set(
    log.filter(({ payload }) => Reflect.get(payload, "role") === "tool").map(({ refs }) => refs.toolCallId),
  );
  return calls.filter(({ id, name }) => (name === "pay" || name === "ask") && !done.has(id));
}
