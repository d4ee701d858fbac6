import type { AnyAgent } from "../../agent/definition/config.ts";
import { LeaseEndedError, ThreadHeldError, unsupported } from "../../stores/errors.ts";
import type { Leases } from "../../stores/lease.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Runnable, TakenThread } from "../../stores/runnable.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import type { NodeLease } from "../session/node-lease.ts";
import { inTime } from "../time-limits.ts";
import { pause } from "../timers.ts";
import { HostPlaces } from "./model-places.ts";
import type { TenantWorkOptions, WorkOptions } from "./options.ts";
import type { HostAgents } from "./thread-agent.ts";

/** How often an idle worker looks. */
const LOOK_MS = 1000;
/** The most threads that one look takes. */
const MOST_AT_ONCE = 100;
/** A thread that could not be started is taken again after this time. */
const POSTPONE_MS = 60_000;
/** How long `mayStart` may take. */
const MAY_START_MS = 10_000;
/** The default number of model calls that a host which works makes at once. */
const WORK_CONCURRENCY = 100;

interface WorkerOptions extends Pick<WorkOptions, "version" | "mayStart" | "signal"> {
  readonly runnable: Runnable;
  readonly leases: Leases;
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
  /** The most threads of one tenant that are live here. */
  readonly perTenant?: number | undefined;
  /** The number of threads that run here. */
  readonly busy: () => number;
  readonly storeOf: (tenant: string) => ThreadStore;
  /** Starts a thread whose claim this process has. */
  readonly start: (thread: TakenThread, gate: Gate) => Promise<unknown>;
  /** A thread was not started, and no other attempt will help. */
  readonly failed: (thread: TakenThread, error: unknown) => void;
}

/** Asks `mayStart` about the next ask of a taken thread. If it has to wait, the result gives the released thread back. */
export type Gate = () => Promise<(() => Promise<void>) | undefined>;

/** A worker, and the places of the process for model calls. */
export interface Working {
  readonly worker: Worker;
  readonly places: HostPlaces;
}

type WorkingParts = Omit<
  WorkerOptions,
  "agents" | "unnamed" | "concurrency" | "perTenant" | "version" | "mayStart" | "signal"
> & {
  readonly agents: HostAgents<AnyAgent>;
};

/** Begins to work. The options are checked. */
export function working(
  { concurrency = WORK_CONCURRENCY, agents: chosen, rate, modelCalls, ...options }: TenantWorkOptions,
  { agents, ...parts }: WorkingParts,
): Working {
  const needsCounters = modelCalls !== undefined || options.version !== undefined;
  if (needsCounters && !parts.leases.hasCounters) throw unsupported("modelCalls and version", "counter");
  const all = { ...parts, concurrency };
  return {
    places: new HostPlaces({ ...all, rate, modelCalls }),
    worker: new Worker({
      ...all,
      ...options,
      agents: chosen ?? [...agents.keys()],
      unnamed: chosen === undefined && agents.only !== undefined,
    }),
  };
}

/** Takes threads that have something to do and no living process, and starts them. */
class Worker {
  readonly #options: WorkerOptions;
  /** Ends the wait for the next look. */
  #wake: () => void = () => undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    void this.#work();
  }

  /** Looks at once: a place is free. */
  look(): void {
    this.#wake();
  }

  async #work(): Promise<void> {
    const { busy, concurrency, ports, stopped, signal } = this.#options;
    const ended = signal === undefined ? stopped : AbortSignal.any([stopped, signal]);
    while (!ended.aborted) {
      const { promise: woken, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const limit = Math.min(concurrency - busy(), MOST_AT_ONCE);
      const taken = await this.#take(limit).catch(() => []); // a store that cannot be read now is read at the next look
      const started = await Promise.all(taken.map((thread) => this.#mayStart(thread)));
      for (const thread of started) if (thread !== undefined) void this.#start(thread);
      if (limit > 0 && taken.length === limit) continue;
      const looked = new AbortController();
      await Promise.race([woken, pause(ports, LOOK_MS, AbortSignal.any([ended, looked.signal]))]);
      looked.abort();
    }
    if (!stopped.aborted) await this.#isLeftToNewer(false).catch(() => undefined); // the others need not wait for this one
  }

  async #take(limit: number): Promise<readonly TakenThread[]> {
    const { runnable, lease, holder, agents, unnamed, perTenant, version } = this.#options;
    if (limit <= 0 && version === undefined) return [];
    const { key, renewal } = await lease.current();
    try {
      if (await this.#isLeftToNewer(limit > 0)) return [];
      return limit > 0 ? await runnable.take({ lease: key, holder, agents, unnamed, limit, perTenant }) : [];
    } catch (error) {
      if (LeaseEndedError.isInstance(error)) await renewal.renewNow();
      return [];
    }
  }

  /** Each process that has free places says its version. */
  async #isLeftToNewer(hasPlaces: boolean): Promise<boolean> {
    const { lease, leases, version } = this.#options;
    if (version === undefined) return false;
    const { key } = await lease.current();
    const { others } = await leases.count({ lease: key, name: "version", amount: hasPlaces ? version : 0 });
    return others.some((other) => other > version);
  }

  /** The thread, if it may start now. Otherwise it is given back. */
  async #mayStart(taken: TakenThread): Promise<TakenThread | undefined> {
    const giveBack = await this.#refusal(taken);
    if (giveBack === undefined) return taken;
    await giveBack();
    return undefined;
  }

  /** Undefined: the thread may start. A budget that cannot be read is reported, and read again later. */
  async #refusal(taken: TakenThread): ReturnType<Gate> {
    const ms = await this.#waitMs(taken).catch((error: unknown) => {
      this.#options.failed(taken, error);
      return POSTPONE_MS;
    });
    if (ms === undefined) return undefined;
    return () => this.#giveBack(taken, ms).catch(() => undefined); // the claim ends with the lease
  }

  /** How long the thread waits; undefined: it may start. */
  async #waitMs({ tenant, threadId, agent }: TakenThread): Promise<number | undefined> {
    const { ports, mayStart } = this.#options;
    if (mayStart === undefined) return undefined;
    try {
      const asked = Promise.resolve({ tenant, threadId, agent }).then(mayStart);
      if (!(await inTime(ports, MAY_START_MS, asked))) throw new Error(`It did not answer within ${MAY_START_MS} ms.`);
      const answer: unknown = await asked; // the function may be of untyped code
      if (typeof answer === "boolean") return answer ? undefined : POSTPONE_MS;
      const ms = answer instanceof Date ? answer.getTime() - ports.clock() : Number.NaN;
      if (Number.isNaN(ms)) throw new TypeError("It must return true, false or a valid Date.");
      return Math.max(0, Math.ceil(ms));
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      const message = `mayStart failed, and is asked again after a minute. Correct it: ${why}`;
      throw new RequestError({ code: "may_start_failed", message, cause });
    }
  }

  async #start(taken: TakenThread): Promise<void> {
    const { start, stopped, failed } = this.#options;
    try {
      await start(taken, () => this.#refusal(taken));
    } catch (error) {
      if (stopped.aborted || ThreadHeldError.isInstance(error)) return; // the end of the lease ends the claim
      const isRetried = HeddleError.isInstance(error) && error.retryable;
      if (!isRetried) failed(taken, error);
      await this.#giveBack(taken, isRetried ? undefined : POSTPONE_MS).catch(() => undefined); // as above
    }
  }

  /** Releases a thread that was not started. The start may have released the claim, so there is a new one. */
  async #giveBack({ tenant, threadId }: TakenThread, dueInMs: number | undefined): Promise<void> {
    const { storeOf, lease, holder } = this.#options;
    const store = storeOf(tenant);
    const { key } = await lease.current();
    const { epoch } = await store.claim(threadId, { holder, lease: key });
    try {
      if (dueInMs === undefined) return;
      const pending = await store.pending(threadId);
      const waitsFor = pending.map(({ id, revision }) => ({ id, revision }));
      await store.append(threadId, [], { epoch, next: { dueInMs, waitsFor } });
    } finally {
      await store.release(threadId, epoch);
    }
  }
}
