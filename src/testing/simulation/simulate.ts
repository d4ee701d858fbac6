import { openCalls } from "../../agent/react/state.ts";
import { rebuildCall } from "../../runtime/calls/rebuild-call.ts";
import { memoryStore } from "../../stores/memory-store.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { Random } from "../random.ts";
import { type AgentFactory, CLIENT_TOOLS, generatedAgent } from "./generated-agent.ts";
import { SimulatedUser } from "./simulated-user.ts";
import { randomStream, type SimulationParts, SimulationState, THREAD_ID } from "./simulation-state.ts";
import { checkCommands, PendingCalls } from "./user-calls.ts";
import { VirtualTime } from "./virtual-time.ts";

/** The seed and length of a simulation, how often faults occur, and the agent. */
export interface SimulationOptions {
  /** The seed, a whole number. The same seed gives the same simulation, byte for byte. */
  readonly seed: number;
  /** The number of user actions. Default 30. */
  readonly steps?: number | undefined;
  /** About one write in this many fails; `false` means none. Default 12. */
  readonly faultsEvery?: number | false | undefined;
  /** About one read in this many fails; `false` means none. Default 40. */
  readonly readFaultsEvery?: number | false | undefined;
  /** Creates your own agent from the simulation's model and tools. Default: a generated agent, which depends on the seed. */
  readonly agent?: AgentFactory | undefined;
}

/** The result of a simulation. */
export interface Simulation {
  readonly seed: number;
  /** The log as JSON lines. */
  readonly log: string;
  readonly entries: number;
  /** How many requests ended in each way, as their callers saw it. */
  readonly requests: { readonly completed: number; readonly failed: number; readonly cancelled: number };
  readonly processes: number;
  readonly kills: number;
  readonly writes: number;
  readonly faults: number;
  /** The number of tool runs. */
  readonly toolRuns: number;
  /** How many model calls were rebuilt from the log and compared. */
  readonly rebuiltCalls: number;
  /** How often a restored agent was compared with a live one. */
  readonly comparedAgents: number;
}

/**
 * Runs an agent in a simulation: a random model, random tools, a store with faults, a random user, and processes that crash
 * and compete for the thread. Time, ids and randomness come from the seed. After every step the laws of `ARCHITECTURE.md`
 * are checked; the first broken law is thrown as a `LawViolation`.
 *
 * @example
 * const { entries, requests } = await simulate({ seed: 7 });
 * const again = await simulate({ seed: 7 }); // the same log, byte for byte
 */
export async function simulate({
  seed,
  steps = 30,
  faultsEvery = 12,
  readFaultsEvery = 40,
  agent,
}: SimulationOptions): Promise<Simulation> {
  const readsEvery = readFaultsEvery === false ? undefined : readFaultsEvery;
  const faults = (process: number) => ({ seed: seed * 31 + process, every: Number(faultsEvery), readsEvery });
  const simulation = await createSimulation({
    seed,
    make: agent ?? generatedAgent(randomStream(seed, "agent")),
    faults: faultsEvery === false ? () => undefined : faults,
  });
  try {
    return await runSteps(simulation, seed, steps);
  } finally {
    await simulation.close();
  }
}

async function runSteps(simulation: SimulationState, seed: number, steps: number): Promise<Simulation> {
  const random = randomStream(seed, "user");
  const pendingCalls = new PendingCalls(simulation);
  const user = new SimulatedUser(simulation, random, pendingCalls);
  for (let step = 1; step <= steps; step++) {
    simulation.journal.step = step;
    user.act();
    await simulation.settle();
    for (let moments = random.below(6); moments > 0; moments--) await simulation.next();
  }
  await finishRequests(simulation, user, pendingCalls);
  await checkCommands(simulation);
  const rebuiltCalls = await rebuildCalls(simulation, random);
  const report = simulation.log.thread.rev === 0 ? undefined : await simulation.store.verify(THREAD_ID);
  if (report?.ok === false) simulation.journal.reportViolation("the log is whole", JSON.stringify(report.bad));
  simulation.journal.check();
  for (const process of [...simulation.processes]) simulation.forget(process);
  const entries = simulation.log.thread.toArray();
  return {
    seed,
    log: entries.map((entry) => JSON.stringify(entry)).join("\n"),
    entries: entries.length,
    requests: { ...simulation.requests.counts },
    ...simulation.counts,
    toolRuns: simulation.toolRuns.count,
    rebuiltCalls,
    comparedAgents: simulation.laws.compared,
  };
}

const MAX_STEPS = 4_000;
const ROUNDS = 40;

/** Stops all faults and answers all waiting calls, so that every request ends. */
async function finishRequests(
  simulation: SimulationState,
  user: SimulatedUser,
  pendingCalls: PendingCalls,
): Promise<void> {
  simulation.journal.step += 1;
  simulation.journal.note("from here on nothing goes wrong");
  simulation.calm();
  for (let round = 0; round < ROUNDS; round++) {
    await untilQuiet(simulation, user, pendingCalls);
    const { current } = simulation;
    if (simulation.log.state.run === undefined || current?.server === undefined) return;
    user.decide(current, current.server);
  }
  simulation.journal.reportViolation(
    "every request ends or waits when nothing goes wrong",
    "it is still open after so many answers",
  );
  simulation.journal.check();
}

async function untilQuiet(simulation: SimulationState, user: SimulatedUser, pendingCalls: PendingCalls): Promise<void> {
  for (let moment = 0; moment < MAX_STEPS; moment++) {
    if (simulation.current === undefined || !simulation.current.isAlive) user.start();
    await simulation.settle();
    const { run } = simulation.log.state;
    const isAnswered = run === undefined ? pendingCalls.waiting.length === 0 : pendingCalls.waiting.every(isForLater);
    if (isQuiet(simulation) && isAnswered && !(run === undefined && user.operations.isSettling)) return;
    await simulation.next();
    // Only the next request or the next process retries a failed write, so the process is killed.
    if (
      moment === MAX_STEPS / 2 &&
      simulation.current !== undefined &&
      simulation.current.server?.request === undefined
    ) {
      simulation.kill(simulation.current);
    }
  }
  const { run } = simulation.log.state;
  const what = `open: ${run?.requestId ?? "none"}; pending calls: ${pendingCalls.waiting.join(", ") || "none"}`;
  simulation.journal.reportViolation("every request ends or waits when nothing goes wrong", what);
  simulation.journal.check();
}

/** Whether a command of the simulated user stays pending while a request waits for an approval. Asks and steers do. */
function isForLater(what: string): boolean {
  return what === "ask" || what.startsWith("steer");
}

function isQuiet({ log: { state }, current }: SimulationState): boolean {
  if (current?.server === undefined) return false;
  const { run } = state;
  if (run === undefined) return current.server.request === undefined;
  const open = openCalls(run);
  const isForOthers = open.every(
    ({ status, call }) => status === "approval_requested" || (status === "open" && CLIENT_TOOLS.has(call.name)),
  );
  return open.length > 0 && isForOthers && current.server.request?.state === "waiting";
}

/** Rebuilds some of the recorded calls from the log and the blobs. */
async function rebuildCalls({ log, store, journal }: SimulationState, random: Random): Promise<number> {
  let proven = 0;
  for (const { payload, refs, kind } of log.thread.toArray()) {
    const { callId } = refs;
    if (kind === "summary" || callId === undefined || !isPlainObject((payload as JsonObject)["call"])) continue; // every entry payload is a JSON object
    if (!random.oneIn(3)) continue;
    try {
      await rebuildCall(store, THREAD_ID, callId);
      proven += 1;
    } catch (error) {
      journal.reportViolation("a past call is rebuilt and proven", `${callId}: ${String(error)}`, error);
    }
  }
  return proven;
}

/** Creates a simulation with an empty store. Time, ids and salts come from the seed. */
export async function createSimulation(parts: Omit<SimulationParts, "time" | "store">): Promise<SimulationState> {
  const time = new VirtualTime();
  const salts = randomStream(parts.seed, "salts");
  let made = 0;
  const store = memoryStore({
    clock: () => time.now,
    random: (size) => Uint8Array.from({ length: size }, () => salts.below(256)),
    ids: (prefix) => `${prefix}_store_${made++}`,
    pollMs: 2 ** 31 - 1, // polling is not needed, because writes wake the watchers
  });
  return new SimulationState({ ...parts, time, store });
}
