import type { ThreadStore } from "../../stores/port.ts";
import type { FaultOptions } from "../fault-store/fault-options.ts";
import { Random } from "../random.ts";
import { Acknowledged } from "./acknowledged.ts";
import type { MakeAgent } from "./agent.ts";
import { ScriptedCalls } from "./calls.ts";
import { Journal } from "./journal.ts";
import { Laws } from "./laws.ts";
import { WorldLog } from "./log.ts";
import { GeneratedModel } from "./model.ts";
import { SimulatedProcess } from "./process.ts";
import { FollowedRequests } from "./requests.ts";
import type { VirtualTime } from "./time.ts";
import { ToolRuns } from "./tool-runs.ts";
import { generatedTools, TOOL_NAMES } from "./tools.ts";
import { Turns } from "./turns.ts";

export const THREAD = "thread_world";

/** Independent random streams, so that more draws from one do not change the others. */
const STREAMS = { user: 1, model: 2, tools: 3, salts: 4, jitter: 5, agent: 6 } as const;

/** The state of one simulation: time, store, processes and observations. */
export class SimulatedWorld {
  readonly journal: Journal;
  readonly log: WorldLog;
  readonly acknowledged: Acknowledged;
  readonly requests: FollowedRequests;
  readonly toolRuns: ToolRuns;
  readonly laws: Laws;
  readonly time: VirtualTime;
  readonly turns = new Turns();
  readonly store: ThreadStore;
  /** The processes that may still be running, newest last. */
  readonly processes: SimulatedProcess[] = [];
  /** The process that the user calls. */
  current: SimulatedProcess | undefined;
  readonly counts = { processes: 0, kills: 0, writes: 0, faults: 0 };
  /** Whether faults are off. */
  isCalm = false;
  readonly #calls = new ScriptedCalls(TOOL_NAMES);
  readonly #model: Random;
  readonly #tools: Random;
  readonly #jitter: Random;
  readonly #make: MakeAgent;
  readonly #faults: WorldParts["faults"];

  constructor({ seed, time, store, make, faults }: WorldParts) {
    this.store = store;
    this.time = time;
    this.journal = new Journal(seed, time);
    this.log = new WorldLog(store, THREAD);
    this.acknowledged = new Acknowledged(this.journal);
    this.requests = new FollowedRequests(this.journal, this.acknowledged);
    this.toolRuns = new ToolRuns(this.journal);
    this.laws = new Laws(this.journal, this.log);
    this.#model = stream(seed, "model");
    this.#tools = stream(seed, "tools");
    this.#jitter = stream(seed, "jitter");
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
    for (const { store } of this.processes) store.heal();
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

export interface WorldParts {
  readonly seed: number;
  readonly time: VirtualTime;
  readonly store: ThreadStore;
  readonly make: MakeAgent;
  /** The faults of each process, by its number. */
  readonly faults: (process: number) => Pick<FaultOptions, "plan" | "seed" | "every" | "readsEvery"> | undefined;
}

export function stream(seed: number, name: keyof typeof STREAMS): Random {
  return new Random(Math.imul(seed ^ 0x9e3779b9, 2 * STREAMS[name] + 1));
}
