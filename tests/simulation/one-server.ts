import {
  type AgentEvent,
  AgentServer,
  type AnyTool,
  defineAgent,
  type Entry,
  memoryStore,
  type RequestError,
} from "heddle";
import { scriptedModel } from "heddle/testing";
import { readRequestEnd } from "../../src/agent/react/state.ts";
import { Random } from "../../src/testing/random.ts";
import type { JsonObject } from "../../src/thread/json.ts";
import { type Clockwork, clockwork } from "../runtime/support/clockwork.ts";

const ACTS = 14;
const anything = { type: "object" } as const;

/** What somebody was told, to be compared with the log once everything is over. */
type Told = (log: readonly Entry[]) => Promise<string | undefined>;

/**
 * One server, to which everybody does everything at any moment, until it is stopped. Answers what was told and is not what the
 * log says.
 */
export async function oneServer(seed: number): Promise<readonly string[]> {
  const random = new Random(seed);
  const clock = clockwork();
  const store = memoryStore({ clock: clock.ports.clock });
  await store.load("warm_up"); // loads what is loaded on demand
  const server = await AgentServer.start({
    agent: agentOf(random),
    store,
    threadId: "thread_t",
    ports: clock.ports,
    warn: () => undefined,
  });
  const told: Told[] = [];
  const calls: Promise<unknown>[] = [];
  for (let act = 0; act < ACTS; act++) {
    calls.push(Promise.resolve(something(random, server, told)).catch(() => undefined)); // refusals are answers, too
    await aMoment(random);
  }
  const graceMs = random.pick([0, 0, 50]);
  await clock.end(server.stop({ graceMs }));
  await clock.end(Promise.all(calls));
  const log = (await store.load("thread_t"))?.toArray() ?? [];
  const wrong = await Promise.all(told.map((compare) => ended(clock, compare(log))));
  await store.close();
  return wrong.filter((what) => what !== undefined);
}

function agentOf(random: Random) {
  let answers = 0;
  const step = () => {
    answers += 1;
    const calls: readonly string[] = random.pick([["now"], ["soon", "now"], ["approve_me"], ["lent"], []]);
    return calls.length === 0 ? `Answer ${answers}.` : { calls: calls.map((name) => ({ name })) };
  };
  const tools = {
    now: tool(() => 1),
    soon: tool(() => aTurn().then(() => 2)),
    approve_me: { ...tool(() => 3), needsApproval: true },
  };
  return defineAgent({
    model: scriptedModel(
      Array.from({ length: 300 }, () => step),
      { order: "any" },
    ),
    tools,
    maxIterations: 4,
    busy: random.pick(["reject", "queue"]),
    streaming: random.oneIn(2),
  });
}

function tool(execute: () => unknown): AnyTool {
  return { inputSchema: anything, execute };
}

type Server = Awaited<ReturnType<typeof AgentServer.start<ReturnType<typeof agentOf>>>>;

function something(random: Random, server: Server, told: Told[]): unknown {
  const act = random.below(12);
  if (act < 4) return ask(random, server, told);
  if (act < 6) return speak(random, server, told);
  if (act < 8) return operate(server, told);
  if (act < 9) return server.cancel();
  if (act < 11) {
    return decideAll(random, server);
  }
  return server.setSystemPrompt(`Prompt ${random.below(10)}.`);
}

async function decideAll(random: Random, server: Server): Promise<void> {
  const calls = await server.waiting();
  await Promise.all(
    calls.map(({ toolCallId }) => (random.oneIn(3) ? server.deny(toolCallId) : server.approve(toolCallId))),
  );
}

async function ask(random: Random, server: Server, told: Told[]): Promise<void> {
  const isLent = random.oneIn(2);
  const abort = new AbortController();
  const asked = server.ask("Go.", { signal: abort.signal, ...(isLent && { tools: { lent: tool(() => "lent") } }) });
  if (random.oneIn(5)) void aMoment(random).then(() => abort.abort());
  const request = await asked;
  const events = (async () => {
    const list: AgentEvent[] = [];
    for await (const event of request.events()) list.push(event);
    return list;
  })();
  told.push(async (log) => {
    const code = await request.result.then(
      () => "request_completed",
      (error: RequestError) => error.code,
    );
    const payloads = log.filter(({ refs }) => refs.requestId === request.id).map(({ payload }) => payload);
    const end = payloads
      .map((payload) => readRequestEnd(payload as JsonObject)?.status)
      .find((status) => status !== undefined);
    const isSame = code === "request_suspended" ? end === undefined : code === `request_${end}`;
    if (!isSame) return `the request is ${code}, in the log ${end}`;
    const list = await events;
    if (list.some(({ seq }, index) => seq !== index + 1)) return `events are ${list.map(({ seq }) => seq)}`;
    const isUnknown = list.some(
      ({ kind, data }) => kind === "tool_completed" && JSON.stringify(data).includes("tool_unknown"),
    );
    return isLent && isUnknown ? "a tool that was lent is unknown" : undefined;
  });
}

function speak(random: Random, server: Server, told: Told[]): void {
  const answer = random.oneIn(2) ? server.steer("More.") : server.followUp("And then?");
  answer.catch(() => undefined); // the store may be away
  told.push(async (log) => {
    const words = await answer.catch(() => undefined);
    if (words === undefined) return undefined;
    const { id } = words;
    const { delivered } = await words.receipt;
    const isThere = log.some(({ refs }) => refs.signalId === id);
    return delivered === isThere ? undefined : `words were delivered: ${delivered}, in the log: ${isThere}`;
  });
}

async function operate(server: Server, told: Told[]): Promise<void> {
  const { opId, settled } = await server.reset();
  told.push(async (log) => {
    const { status } = await settled;
    const isThere = log.some(({ payload }) => Reflect.get(payload, "opId") === opId);
    return (status === "applied") === isThere ? undefined : `an operation is ${status}, in the log: ${isThere}`;
  });
}

/** Nobody who waits for an answer waits for ever. */
function ended(clock: Clockwork, compared: Promise<string | undefined>): Promise<string | undefined> {
  return clock.end(compared).catch((error: unknown) => `nobody was told: ${String(error)}`);
}

function aTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function aMoment(random: Random): Promise<void> {
  if (random.oneIn(2)) for (let ticks = random.below(80); ticks > 0; ticks--) await Promise.resolve();
  else for (let turns = random.below(6); turns > 0; turns--) await aTurn();
}
