import { LeaseEndedError, ThreadHeldError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Runnable, TakenThread } from "../../stores/runnable.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { RuntimePorts } from "../ports.ts";
import type { NodeLease } from "../session/node-lease.ts";
import { pause } from "../timers.ts";

/** How often an idle worker looks. */
const LOOK_MS = 1000;
/** The most threads that one look takes. */
const MOST_AT_ONCE = 100;
/** A thread that could not be started is taken again after this time. */
const POSTPONE_MS = 60_000;

export interface WorkerOptions {
  readonly store: ThreadStore;
  readonly runnable: Runnable;
  readonly lease: NodeLease;
  readonly holder: string;
  readonly ports: RuntimePorts;
  /** Ends the worker. */
  readonly stopped: AbortSignal;
  readonly agents: readonly string[];
  /** Whether it takes threads whose agent is not known too. */
  readonly unnamed: boolean;
  /** The most threads that run here at once. */
  readonly concurrency: number;
  /** The number of threads that run here. */
  readonly busy: () => number;
  /** Starts a thread whose claim this host has. The agent is the one that the store knows. */
  readonly start: (threadId: string, agent: string | undefined) => Promise<unknown>;
  /** A thread was not started, and no other attempt will help. */
  readonly failed: (threadId: string, error: unknown) => void;
}

/** Takes threads that have something to do and no living process, and starts them. */
export class Worker {
  readonly #options: WorkerOptions;
  /** Ends the wait for the next look. */
  #wake: () => void = () => undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    void this.#work();
  }

  get concurrency(): number {
    return this.#options.concurrency;
  }

  /** Looks at once: a place is free. */
  look(): void {
    this.#wake();
  }

  async #work(): Promise<void> {
    const { busy, concurrency, ports, stopped } = this.#options;
    while (!stopped.aborted) {
      const { promise: woken, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const limit = Math.min(concurrency - busy(), MOST_AT_ONCE);
      const taken = limit > 0 ? await this.#take(limit) : [];
      for (const thread of taken) void this.#start(thread);
      if (limit > 0 && taken.length === limit) continue;
      const looked = new AbortController();
      await Promise.race([woken, pause(ports, LOOK_MS, AbortSignal.any([stopped, looked.signal]))]);
      looked.abort();
    }
  }

  /** A store that cannot be read now is read again at the next look. */
  async #take(limit: number): Promise<readonly TakenThread[]> {
    const { runnable, lease, holder, agents, unnamed } = this.#options;
    try {
      const { key, renewal } = await lease.current();
      try {
        return await runnable.take({ lease: key, holder, agents, unnamed, limit });
      } catch (error) {
        if (LeaseEndedError.isInstance(error)) await renewal.renewNow();
        return [];
      }
    } catch {
      return [];
    }
  }

  async #start(taken: TakenThread): Promise<void> {
    const { start, stopped, failed } = this.#options;
    try {
      await start(taken.threadId, taken.agent);
    } catch (error) {
      if (stopped.aborted || ThreadHeldError.isInstance(error)) return; // the end of the lease ends the claim
      const isRetried = HeddleError.isInstance(error) && error.retryable;
      if (!isRetried) failed(taken.threadId, error);
      await this.#giveBack(taken, isRetried).catch(() => undefined); // the claim ends with the lease
    }
  }

  /** Releases a thread that was not started. The start may have released the claim, so there is a new one. */
  async #giveBack({ threadId }: TakenThread, isRetried: boolean): Promise<void> {
    const { store, lease, holder } = this.#options;
    const { key } = await lease.current();
    const { epoch } = await store.claim(threadId, { holder, lease: key });
    try {
      if (isRetried) return;
      const pending = await store.pending(threadId);
      const waitsFor = pending.map(({ id, revision }) => ({ id, revision }));
      await store.append(threadId, [], { epoch, next: { dueInMs: POSTPONE_MS, waitsFor } });
    } finally {
      await store.release(threadId, epoch);
    }
  }
}
