import type { ThreadStore } from "../../stores/port.ts";
import type { FaultOptions } from "../fault-store/fault.ts";
import { Random } from "../random.ts";
import { FollowedRequests } from "./followed-requests.ts";
import { type AgentFactory, generatedTools, TOOL_NAMES } from "./generated-agent.ts";
import { GeneratedCalls, GeneratedModel } from "./generated-model.ts";
import { Journal } from "./journal.ts";
import { Laws, ToolRuns } from "./laws.ts";
import { SimulatedProcess } from "./simulated-process.ts";
import { AcknowledgedWrites, SimulationLog } from "./simulation-log.ts";
import { Turns, type VirtualTime } from "./virtual-time.ts";

export const THREAD_ID = "thread_world";

/** The numbers of independent random streams. More draws from one stream do not change the others. */
const STREAMS = { user: 1, model: 2, tools: 3, salts: 4, jitter: 5, agent: 6 } as const;

/** The state of one simulation: time, store, processes and records. */
export class SimulationState {
  readonly journal: Journal;
  readonly log: SimulationLog;
  readonly acknowledged: AcknowledgedWrites;
  readonly requests: FollowedRequests;
  readonly toolRuns: ToolRuns;
  readonly laws: Laws;
  readonly time: VirtualTime;
  readonly turns = new Turns();
  readonly store: ThreadStore;
  /** The ids of the commands that were accepted and had to wait. */
  readonly commands = new Set<string>();
  /** The processes that may still be running, newest last. */
  readonly processes: SimulatedProcess[] = [];
  /** The process that the user calls. */
  current: SimulatedProcess | undefined;
  readonly counts = { processes: 0, kills: 0, writes: 0, faults: 0 };
  /** Whether faults are switched off. */
  isCalm = false;
  readonly #calls = new GeneratedCalls(TOOL_NAMES);
  readonly #model: Random;
  readonly #tools: Random;
  readonly #jitter: Random;
  readonly #make: AgentFactory;
  readonly #faults: SimulationParts["faults"];

  constructor({ seed, time, store, make, faults }: SimulationParts) {
    this.store = store;
    this.time = time;
    this.journal = new Journal(seed, time);
    this.log = new SimulationLog(store, THREAD_ID);
    this.acknowledged = new AcknowledgedWrites(this.journal);
    this.requests = new FollowedRequests(this.journal, this.acknowledged);
    this.toolRuns = new ToolRuns(this.journal);
    this.laws = new Laws(this.journal, this.log);
    this.#model = randomStream(seed, "model");
    this.#tools = randomStream(seed, "tools");
    this.#jitter = randomStream(seed, "jitter");
    this.#make = make;
    this.#faults = faults;
  }

  process(): SimulatedProcess {
    const { time, store } = this;
    const number = ++this.counts.processes;
    const made = new SimulatedProcess({
      name: `p${number}`,
      time,
      store,
      faults: this.isCalm ? undefined : this.#faults(number),
      chance: () => this.#jitter.below(1_000) / 1_000,
      agent: (process) => this.#agentOf(process),
    });
    this.processes.push(made);
    return made;
  }

  /** Runs all pending work that needs no timer, then checks the laws. */
  async settle(): Promise<void> {
    await this.turns.settle();
    const fresh = await this.log.grow();
    for (const { seq, kind, refs } of fresh)
      this.journal.note(`#${seq} ${kind} ${refs.requestId ?? ""} ${refs.toolCallId ?? ""}`);
    const { request } = this.current?.server ?? {};
    if (request !== undefined && this.current !== undefined) this.requests.follow(request, this.current);
    this.acknowledged.check(this.log);
    this.toolRuns.check(this.log);
    this.laws.check(fresh, this.processes);
    this.journal.check();
  }

  /** Advances to the next timer. */
  async next(): Promise<void> {
    this.time.next();
    await this.settle();
  }

  kill(process: SimulatedProcess): void {
    this.counts.kills += 1;
    this.journal.note(`${process.name} is killed`);
    process.kill();
    this.forget(process);
  }

  forget(process: SimulatedProcess): void {
    const { writes } = process.store;
    this.counts.writes += writes.length;
    this.counts.faults += writes.filter(({ fault }) => fault !== undefined).length;
    this.processes.splice(this.processes.indexOf(process), 1);
    if (this.current === process) this.current = undefined;
  }

  calm(): void {
    this.isCalm = true;
    for (const { store } of this.processes) store.stopFaults();
  }

  async close(): Promise<void> {
    for (const process of [...this.processes]) {
      process.kill();
      this.forget(process);
    }
    await this.turns.settle();
    await this.store.close();
    this.turns.close();
  }

  #agentOf(process: SimulatedProcess) {
    const { after } = process.ports;
    const model = new GeneratedModel(this.#model, this.#calls, after, () => this.isCalm);
    const tools = generatedTools({
      random: this.#tools,
      after,
      isAlive: () => process.isAlive,
      ran: (tool, serial) => this.toolRuns.ran(tool, serial),
    });
    return this.#make({ model, tools, ports: process.ports });
  }
}

export interface SimulationParts {
  readonly seed: number;
  readonly time: VirtualTime;
  readonly store: ThreadStore;
  readonly make: AgentFactory;
  /** Returns the faults of a process, by its number. */
  readonly faults: (process: number) => Pick<FaultOptions, "plan" | "seed" | "every" | "readsEvery"> | undefined;
}

export function randomStream(seed: number, name: keyof typeof STREAMS): Random {
  return new Random(Math.imul(seed ^ 0x9e3779b9, 2 * STREAMS[name] + 1));
}
