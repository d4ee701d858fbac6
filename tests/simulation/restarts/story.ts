import {
  type AgentConfig,
  type AnyAgent,
  defineAgent,
  memoryStore,
  type Refs,
  type Thread,
  type ThreadStore,
  type Tools,
} from "heddle";
import { scriptedModel } from "heddle/testing";
import type { Live } from "../../../src/runtime/live/live.ts";
import type { Loop } from "../../../src/runtime/loop.ts";
import { AgentServer } from "../../../src/runtime/server/agent-server.ts";
import type { Command } from "../../../src/stores/command.ts";
import { Random } from "../../../src/testing/random.ts";
import { type Clockwork, clockwork } from "../../runtime/support/clockwork.ts";
import { type Difference, differences } from "./differences.ts";

const THREAD_ID = "thread_r";
const ACTS = 12;
const anything = { type: "object" } as const;

/** What a process that starts after a commit finds, and what the one that committed had in memory. */
interface Moment {
  readonly live: Live;
  readonly thread: Thread;
  readonly commands: readonly Command[];
}

interface Restarts {
  /** The value of the process after each of its commits. */
  readonly lives: readonly Live[];
  /** What a process has otherwise that has read the log after a commit, and has begun nothing. */
  readonly folded: readonly Difference[];
  /** What a process has otherwise that has resumed the open request. */
  readonly resumed: readonly Difference[];
}

export type OpenStore = (clock: Clockwork) => Promise<ThreadStore>;

async function inMemory({ ports }: Clockwork): Promise<ThreadStore> {
  const store = memoryStore({ clock: ports.clock });
  await store.load("warm_up"); // loads what is loaded on demand
  return store;
}

/** Plays a generated story. Then starts a process after each of its commits, and compares the values of the two. */
export async function playWithRestarts(seed: number, open: OpenStore = inMemory): Promise<Restarts> {
  const random = new Random(seed);
  const clock = clockwork();
  const store = await open(clock);
  const moments: Moment[] = [];
  const loops: Loop[] = [];
  const watched = withMoments(store, () => loops[0], moments);
  const agent = agentOf(random, clock);
  const server = await clock.end(start(agent, watched, clock, { opened: (loop) => loops.push(loop) }));
  for (let act = 0; act < ACTS; act++) {
    perform(random, server).catch(() => undefined); // a refusal is an answer too
    await clock.pass(random.pick([0, 5, 30, 200]));
  }
  await clock.pass(5_000);
  await clock.end(server.stop({ graceMs: 0 }));
  const folded: Difference[] = [];
  const resumed: Difference[] = [];
  for (const moment of moments) {
    folded.push(...(await restarted(agent, moment, open, { resumes: false })));
    if (moment.live.agent.state.run !== undefined) {
      resumed.push(...(await restarted(agent, moment, open, { resumes: true })));
    }
  }
  await store.close();
  return { lives: moments.map(({ live }) => live), folded, resumed };
}

interface Way {
  readonly resumes: boolean;
}

function start(
  agent: AnyAgent,
  store: ThreadStore,
  { ports }: Clockwork,
  { opened, resumes = true }: { readonly opened: (loop: Loop) => void; readonly resumes?: boolean },
): Promise<AgentServer> {
  const context = (_threadId: string, { isLent }: Refs) => (isLent === true ? CONTEXT : undefined) as never; // the agent names no type
  const tools = (_threadId: string, { isLent }: Refs) => (isLent === true ? LENT : {});
  const warn = () => undefined;
  return AgentServer.open(
    { agent, store, threadId: THREAD_ID, ports, warn, context, tools },
    // After a notice nothing is begun: the value is what was read.
    { opened, ...(!resumes && { first: () => ({ type: "notice" }) as const }) },
  );
}

/** A store that notes, for each append, what it has then and what the process has when it has decided the answer. */
function withMoments(store: ThreadStore, loop: () => Loop | undefined, moments: Moment[]): ThreadStore {
  const append = async (...args: Parameters<ThreadStore["append"]>) => {
    const result = await store.append(...args);
    const thread = await store.load(THREAD_ID);
    const commands = await store.pending(THREAD_ID);
    const lives = loop();
    if (thread === undefined || lives === undefined) throw new Error("An append without a thread or a loop.");
    const hold = lives.live.hold?.id;
    const note = async (): Promise<void> => {
      while (lives.live.hold?.id === hold && hold !== undefined) await Promise.resolve();
      moments.push({ live: lives.live, thread, commands });
    };
    void note();
    return result;
  };
  return new Proxy(store, {
    get: (target, key) => {
      if (key === "append") return append;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function withoutAppends(store: ThreadStore): ThreadStore {
  return new Proxy(store, {
    get: (target, key) => {
      if (key === "append") return () => new Promise(() => undefined);
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function restarted(
  agent: AnyAgent,
  moment: Moment,
  open: OpenStore,
  { resumes }: Way,
): Promise<readonly Difference[]> {
  const own = clockwork();
  const ids: typeof own.ports.ids = (prefix) => own.ports.ids(`${prefix}_later`); // those of the log are taken
  const clock = { ...own, ports: { ...own.ports, ids } };
  const store = await open(clock);
  await store.save(moment.thread);
  for (const { id, type, body } of moment.commands) await store.post(THREAD_ID, { ...body, id, type });
  const loops: Loop[] = [];
  const written = resumes ? store : withoutAppends(store); // an ask that waits would be taken at once
  const server = await clock.end(start(agent, written, clock, { opened: (loop) => loops.push(loop), resumes }));
  const [loop] = loops;
  if (loop === undefined) throw new Error("no loop");
  const found = differences(moment.live, loop.live);
  await clock.end(server.stop({ graceMs: 0 }));
  await store.close();
  return found;
}

const CONTEXT = { user: "ann" };
const LENT: Tools = { lent: { inputSchema: anything, execute: () => "lent" } };

function agentOf(random: Random, { ports }: Clockwork): AnyAgent {
  const later = (ms: number, value: string): Promise<string> =>
    new Promise((resolve) => ports.after(ms, () => resolve(value)));
  let count = 0;
  const step = async () => {
    count += 1;
    await later(random.pick([0, 10, 100]), "");
    const calls = random.pick([
      [],
      [],
      ["look"],
      ["pay", "look"],
      ["send"],
      ["form", "look"],
      ["lent"],
      ["slow", "send"],
    ]);
    if (random.oneIn(8)) return { text: "Once", error: { status: 503 }, after: 1 };
    return { text: `Answer ${count}. ${"Really. ".repeat(10)}`, calls: calls.map((name) => ({ name })) };
  };
  const tools: Tools = {
    look: { inputSchema: anything, repeatable: true, execute: () => "seen" },
    pay: { inputSchema: anything, execute: () => later(20, "paid") },
    slow: { inputSchema: anything, execute: () => later(300, "at last") },
    send: { inputSchema: anything, needsApproval: true, execute: () => "sent" },
    form: { inputSchema: anything },
  };
  const config = {
    model: scriptedModel(
      Array.from({ length: 400 }, () => step as never), // steps may be asynchronous
      { order: "any", after: ports.after },
    ),
    tools,
    maxIterations: 4,
    modelMaxRetries: 2,
    busy: random.pick(["reject", "queue"] as const),
    streaming: random.oneIn(2),
    contextPolicy: random.oneIn(2)
      ? { maxInputTokens: 20_000 }
      : { maxInputTokens: 3_000, keepLastTurns: 1, autoSummarize: true, maxThreadTokens: 200 },
    summarizer: { summarize: () => later(15, "It was so.") },
    ...(random.oneIn(3) && { totalTimeoutMs: 60_000 }),
  };
  return defineAgent(config as unknown as AgentConfig) as AnyAgent; // its types do not matter here
}

async function perform(random: Random, server: AgentServer): Promise<unknown> {
  const act = random.below(16);
  if (act < 5) {
    const isLent = random.oneIn(3);
    const options = {
      ...(isLent ? { tools: LENT, context: CONTEXT } : { tools: {} }),
      refs: { isLent },
      ...(random.oneIn(4) && { contextPolicy: { keepLastTurns: 2 } }),
    };
    const request = await server.ask("Go on.", options as never); // the agent has no type of context
    return request.result;
  }
  if (act < 6) return (await server.steer("More.")).receipt;
  if (act < 7) return (await server.followUp("And then?")).receipt;
  if (act < 8) return (await server.inject("It rains.", { source: "monitor" })).receipt;
  if (act < 9) return server.cancel();
  if (act < 10) return server.finish();
  if (act < 11) return server.reset();
  if (act < 12) return server.summarize();
  if (act < 13) {
    const thread = await server.thread();
    const at = thread.toArray().findLast(({ kind }) => kind === "ai_message")?.id ?? "none";
    return server.branch({ at });
  }
  const waiting = await server.waiting();
  return Promise.all(
    waiting.map(({ toolCallId, kind }) => {
      if (kind === "answer") return server.answer(toolCallId, "An answer.");
      return random.oneIn(3) ? server.deny(toolCallId) : server.approve(toolCallId, { by: "ann" });
    }),
  );
}
