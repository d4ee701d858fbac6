import type { AnyAgent } from "../../agent/definition/config.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { type Decision, decideByEntry } from "../../runtime/host/decide-by-entry.ts";
import type { RuntimePorts } from "../../runtime/ports.ts";
import { AgentServer } from "../../runtime/server/agent-server.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { FaultOptions, FaultStore } from "../fault-store/fault.ts";
import { faultStore } from "../fault-store/fault-store.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface ProcessOptions {
  readonly name: string;
  readonly time: VirtualTime;
  readonly store: ThreadStore;
  readonly faults?: Pick<FaultOptions, "plan" | "seed" | "every" | "readsEvery"> | undefined;
  /** From 0 to 1. */
  readonly chance: () => number;
  /** Creates the agent of a process. It lives as long as the process. */
  readonly agent: (process: SimulatedProcess) => AnyAgent;
}

export interface ProcessStart {
  readonly threadId: string;
  readonly holder?: string | undefined;
  readonly claimWaitMs: number;
}

/** How long the claim of a killed process lasts, in milliseconds. */
export const CLAIM_TTL_MS = 1_000;

/** A simulated process: it has its own ports and its own store handle, and can be killed. */
export class SimulatedProcess {
  readonly name: string;
  readonly ports: RuntimePorts;
  readonly store: FaultStore;
  server: AgentServer | undefined;
  /** Whether the process keeps text deltas for listeners that start late. */
  keepsDeltas = false;
  readonly #agent: (process: SimulatedProcess) => AnyAgent;
  #live: (() => ReactAgent) | undefined;
  #alive = true;

  constructor({ name, time, store, faults, chance, agent }: ProcessOptions) {
    this.name = name;
    this.#agent = agent;
    this.ports = {
      clock: () => time.now,
      monotonic: () => time.now,
      ids: numbered(name),
      random: chance,
      after: (ms, run) => time.after(ms, () => this.#alive && run()),
    };
    this.store = faultStore(store, { ...faults, after: this.ports.after });
  }

  /** Whether the process runs. False also after its store has simulated a crash. */
  get isAlive(): boolean {
    return this.#alive && !this.store.isCrashed;
  }

  /** The current agent state of this process. */
  get agent(): ReactAgent | undefined {
    return this.#live?.();
  }

  async start({ threadId, holder = this.name, claimWaitMs }: ProcessStart): Promise<AgentServer> {
    const { store, ports } = this;
    const agent = this.#agent(this);
    this.keepsDeltas = agent.captureDeltas;
    this.server = await AgentServer.open(
      {
        agent,
        store,
        threadId,
        holder,
        leaseTtlMs: CLAIM_TTL_MS,
        claimWaitMs,
        ports,
        warn: () => undefined,
      },
      {
        opened: (live) => {
          this.#live = () => live.agent;
        },
      },
    );
    return this.server;
  }

  /** Sends a decision for a thread that another process holds. */
  decide(threadId: string, decision: Decision): Promise<void> {
    const { store, ports } = this;
    return decideByEntry({ agent: this.#agent(this), store, threadId, ports }, decision);
  }

  /** Kills the process without any cleanup. */
  kill(): void {
    this.#alive = false;
    this.store.crash();
  }
}

function numbered(name: string): RuntimePorts["ids"] {
  let made = 0;
  return (prefix) => `${prefix}_${name}_${made++}`;
}
