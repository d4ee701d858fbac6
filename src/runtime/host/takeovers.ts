import type { AnyAgent } from "../../agent/definition/config.ts";
import { ThreadHeldError, unsupported } from "../../stores/errors.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import { LEASE_TTL_MS } from "../server/start.ts";
import { pause } from "../timers.ts";
import { Places } from "../tools/limits.ts";
import type { DueThreads } from "./due-threads.ts";
import type { LiveThreads } from "./live-threads.ts";
import type { HostOptions, WorkOptions } from "./options.ts";
import { type HostAgents, isOfAnotherHost, isWithoutAgent } from "./thread-agent.ts";
import { type Gate, type Working, working } from "./worker.ts";

const STARTS_AT_ONCE = 100;
/** The shortest time between two attempts to claim a thread. */
const RETRY_MS = 100;

interface HostParts<Agent extends AnyAgent> {
  readonly agents: HostAgents<Agent>;
  readonly ports: RuntimePorts;
  readonly threads: LiveThreads<Agent>;
  readonly due: DueThreads;
  readonly warn: (message: string) => void;
  readonly stopped: AbortSignal;
}

/** Takes over threads that are due, or that other processes have left. */
export class Takeovers<Agent extends AnyAgent> {
  readonly #options: HostOptions<Agent>;
  readonly #parts: HostParts<Agent>;
  /** When many times come at once, so many threads start together. */
  readonly #starts = new Places(() => STARTS_AT_ONCE);
  #working: Working | undefined;

  constructor(options: HostOptions<Agent>, parts: HostParts<Agent>) {
    this.#options = options;
    this.#parts = parts;
  }

  work(options: WorkOptions): void {
    const { store } = this.#options;
    const { agents, threads, stopped, ports } = this.#parts;
    const { lease, holder } = threads;
    const { runnable, leases } = store;
    if (runnable === undefined || lease === undefined || leases === undefined)
      throw unsupported("host.work", "runnable threads");
    if (threads.isStopped || this.#working !== undefined) throw worksAlready(threads.isStopped);
    this.#working = working(options, {
      ...{ leases, runnable, lease, holder, ports, stopped, agents },
      busy: () => threads.busy,
      storeOf: () => store,
      start: ({ threadId, agent }, gate) => this.start(threadId, agent, gate),
      failed: ({ threadId }, error) => this.report(threadId, error),
    });
  }

  /** The places for model calls, from `work` on. */
  get places(): Working["places"] | undefined {
    return this.#working?.places;
  }

  /** A request has ended here. */
  placeIsFree(): void {
    this.#working?.worker.look();
  }

  /** Starts a thread whose claim this process has. `agent`: the one that the store knows. */
  async start(threadId: string, agent: string | undefined, gate: Gate): Promise<unknown> {
    const { threads } = this.#parts;
    try {
      return await threads.takeOver(threadId, { gate });
    } catch (error) {
      if (agent === undefined || !isWithoutAgent(error)) throw error;
      return await threads.takeOver(threadId, { agent, gate }); // the first ask is a row, and its post names the agent
    }
  }

  /** The holder may have died when a decision was written. Then this host resumes the request. */
  checkHolder(threadId: string): void {
    const { ports, threads, due } = this.#parts;
    if (!threads.isStopped) due.setEarlier(threadId, ports.clock() + this.#leaseMs);
  }

  /** The times of these threads have come. If the store cannot be read now, they are tried again. */
  startDue(threadIds: readonly string[]): void {
    for (const threadId of threadIds) void this.#startDue(threadId);
  }

  /** Waits until the claim of a dead holder expires; a living holder renews its claim and keeps the thread. */
  async #startDue(threadId: string): Promise<void> {
    const { ports, threads, due, stopped } = this.#parts;
    const { claimWaitMs = this.#leaseMs } = this.#options;
    const deadline = ports.monotonic() + Math.max(claimWaitMs, this.#leaseMs);
    while (!stopped.aborted && !threads.hasRequest(threadId)) {
      try {
        return void (await this.#starts.run(() => threads.takeOver(threadId)));
      } catch (error) {
        const left = deadline - ports.monotonic();
        if (!ThreadHeldError.isInstance(error)) {
          const isRetried = HeddleError.isInstance(error) && error.retryable && !threads.isStopped;
          if (isRetried) due.set(threadId, ports.clock() + this.#leaseMs);
          return this.report(threadId, error);
        }
        if (left <= 0) return;
        await pause(ports, Math.min(left, Math.max(RETRY_MS, error.until - ports.clock() + 1)), stopped);
      }
    }
  }

  /** A damaged thread must not stop the others. Threads of other agents are left to their hosts. */
  report(threadId: string, error: unknown): void {
    const { threads, warn } = this.#parts;
    if (threads.isStopped || isOfAnotherHost(error)) return;
    if (this.#working !== undefined && isWithoutAgent(error)) return; // the worker knows more
    const why = HeddleError.isInstance(error) ? error.message : "it met an error that is not known.";
    warn(`Thread ${threadId} could not be started: ${why}`);
  }

  get #leaseMs(): number {
    return this.#options.leaseTtlMs ?? LEASE_TTL_MS;
  }
}

function worksAlready(isStopped: boolean): RequestError {
  const message = isStopped ? "This host was stopped. Make another one." : "This host works already. Call `work` once.";
  return new RequestError({ code: isStopped ? "server_stopped" : "invalid_options", message });
}
