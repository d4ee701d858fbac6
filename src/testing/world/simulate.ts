import { openCalls } from "../../agent/react/run.ts";
import { rebuildCall } from "../../runtime/calls/rebuild-call.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { Random } from "../random.ts";
import { generatedAgent, type MakeAgent } from "./agent.ts";
import { createWorld } from "./create-world.ts";
import { Asked } from "./outcome.ts";
import { CLIENT } from "./tools.ts";
import { SimulatedUser } from "./user.ts";
import { type SimulatedWorld, stream, THREAD } from "./world.ts";

export interface SimulationOptions {
  /** A whole number. The same seed gives the same simulation, byte for byte. */
  readonly seed: number;
  /** The number of user actions. Default 30. */
  readonly steps?: number | undefined;
  /** About one write in this many fails; `false` means none. Default 12. */
  readonly faultsEvery?: number | false | undefined;
  /** About one read in this many fails; `false` means none. Default 40. */
  readonly readFaultsEvery?: number | false | undefined;
  /** Creates your own agent from the simulation's model and tools. Default: a generated agent, which depends on the seed. */
  readonly agent?: MakeAgent | undefined;
}

/** The result of a simulation. */
export interface Simulation {
  readonly seed: number;
  /** The log as JSON lines. */
  readonly log: string;
  readonly entries: number;
  /** How the requests ended for their callers. */
  readonly requests: { readonly completed: number; readonly failed: number; readonly cancelled: number };
  readonly processes: number;
  readonly kills: number;
  readonly writes: number;
  readonly faults: number;
  /** The number of tool runs. */
  readonly toolRuns: number;
  /** Model calls that were rebuilt from the log and compared. */
  readonly proven: number;
  /** How often a restored agent was compared with a live one. */
  readonly compared: number;
}

/**
 * Runs an agent in a simulation: a random model, random tools, a store with faults, a random user, and processes that crash
 * and compete for the thread. Time, ids and randomness come from the seed. After every step the laws of `ARCHITECTURE.md`
 * are checked; the first broken law is thrown as a `LawBroken`.
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
  const world = await createWorld({
    seed,
    make: agent ?? generatedAgent(stream(seed, "agent")),
    faults: faultsEvery === false ? () => undefined : faults,
  });
  try {
    return await live(world, seed, steps);
  } finally {
    await world.close();
  }
}

async function live(world: SimulatedWorld, seed: number, steps: number): Promise<Simulation> {
  const random = stream(seed, "user");
  const asked = new Asked(world);
  const user = new SimulatedUser(world, random, asked);
  for (let step = 1; step <= steps; step++) {
    world.journal.step = step;
    user.act();
    await world.settle();
    for (let moments = random.below(6); moments > 0; moments--) await world.next();
  }
  await rest(world, user, asked);
  user.operations.check(world.log);
  const proven = await prove(world, random);
  const report = world.log.thread.rev === 0 ? undefined : await world.store.verify(THREAD);
  if (report?.ok === false) world.journal.broken("the log is whole", JSON.stringify(report.bad));
  world.journal.check();
  for (const process of [...world.processes]) world.forget(process);
  const entries = world.log.thread.toArray();
  return {
    seed,
    log: entries.map((entry) => JSON.stringify(entry)).join("\n"),
    entries: entries.length,
    requests: { ...world.requests.counts },
    ...world.counts,
    toolRuns: world.toolRuns.count,
    proven,
    compared: world.laws.compared,
  };
}

const PATIENCE = 4_000;
const ROUNDS = 40;

/** Stops all faults and answers all pending calls, so that every request ends. */
async function rest(world: SimulatedWorld, user: SimulatedUser, asked: Asked): Promise<void> {
  world.journal.step += 1;
  world.journal.note("from here on nothing goes wrong");
  world.calm();
  for (let round = 0; round < ROUNDS; round++) {
    await quiet(world, user, asked);
    const { current } = world;
    if (world.log.state.run === undefined || current?.server === undefined) return;
    user.decide(current, current.server);
  }
  world.journal.broken("every request ends or waits when nothing goes wrong", "it is still open after so many answers");
  world.journal.check();
}

async function quiet(world: SimulatedWorld, user: SimulatedUser, asked: Asked): Promise<void> {
  for (let moment = 0; moment < PATIENCE; moment++) {
    if (world.current === undefined || !world.current.isAlive) user.start();
    await world.settle();
    const { run } = world.log.state;
    const isAnswered = run === undefined ? asked.waiting.length === 0 : asked.waiting.every(isForLater);
    if (isQuiet(world) && isAnswered && !(run === undefined && user.operations.isSettling)) return;
    await world.next();
    // A failed write is repaired by the next ask or the next process.
    if (moment === PATIENCE / 2 && world.current !== undefined && world.current.server?.request === undefined) {
      world.kill(world.current);
    }
  }
  const { run } = world.log.state;
  const what = `open: ${run?.requestId ?? "none"}; pending calls: ${asked.waiting.join(", ") || "none"}`;
  world.journal.broken("every request ends or waits when nothing goes wrong", what);
  world.journal.check();
}

/** Queued asks and steers wait as long as the request does. */
function isForLater(what: string): boolean {
  return what === "ask" || what.startsWith("steer");
}

function isQuiet({ log: { state }, current }: SimulatedWorld): boolean {
  if (current?.server === undefined) return false;
  const { run } = state;
  if (run === undefined) return current.server.request === undefined;
  const open = openCalls(run);
  const isForOthers = open.every(
    ({ status, call }) => status === "approval_requested" || (status === "open" && CLIENT.has(call.name)),
  );
  return open.length > 0 && isForOthers && current.server.request?.state === "waiting";
}

/** Rebuilds some of the recorded calls from the log and the blobs. */
async function prove({ log, store, journal }: SimulatedWorld, random: Random): Promise<number> {
  let proven = 0;
  for (const { payload, refs, kind } of log.thread.toArray()) {
    const { callId } = refs;
    if (kind === "summary" || callId === undefined || !isPlainObject((payload as JsonObject)["call"])) continue; // payloads are JSON
    if (!random.oneIn(3)) continue;
    try {
      await rebuildCall(store, THREAD, callId);
      proven += 1;
    } catch (error) {
      journal.broken("a past call is rebuilt and proven", `${callId}: ${String(error)}`, error);
    }
  }
  return proven;
}
