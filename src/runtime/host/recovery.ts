import type { AnyAgent } from "../../agent/definition/config.ts";
import { ThreadHeldError, unsupported } from "../../stores/errors.ts";
import type { ListOptions, ThreadStore } from "../../stores/port.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { RuntimePorts } from "../ports.ts";
import type { AgentRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import { LEASE_TTL_MS } from "../server/start.ts";
import { retryStore } from "../session/store-retry.ts";
import { pause } from "../timers.ts";
import { places } from "../tools/limits.ts";
import { type DueThreads, waitingDeadlines } from "./due-threads.ts";
import type { LiveThreads } from "./live-threads.ts";
import type { HostOptions } from "./options.ts";
import { type HostAgents, isOfAnotherHost, isWithoutAgent } from "./thread-agent.ts";
import { Worker } from "./worker.ts";

/** The requests that a host has resumed, and the thread of each. */
export interface Recovered {
  readonly threads: readonly string[];
  readonly requests: readonly string[];
}

interface TakeOverOptions {
  readonly ports: RuntimePorts;
  /** The number of requests that run at once. */
  readonly concurrency: number;
  /** Whether this host runs the request of the thread already. Then there is nothing to take over. */
  readonly hasRequest: (threadId: string) => boolean;
  /** How long to wait for the claim of a holder that may be dead. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Claims the thread without waiting, and resumes its request. */
  readonly takeOver: (threadId: string) => Promise<Pick<AgentRequest, "id" | "settled"> | undefined>;
  /** Reports a damaged thread. It must not stop the recovery of the others. */
  readonly failed: (threadId: string, error: unknown) => void;
}

/** The default number of recovered requests that run at once. */
const RECOVER_CONCURRENCY = 16;
/** The default number of model calls that a host which works makes at once. */
const WORK_CONCURRENCY = 100;
const PAGE = 200;
/** The shortest time between two attempts to claim a thread. */
const RETRY_MS = 100;

/** Which threads a host takes, and how many model calls it makes at once. */
interface WorkLimits {
  readonly concurrency?: number | undefined;
  readonly agents?: readonly string[] | undefined;
}

interface HostParts<Agent extends AnyAgent> {
  readonly agents: HostAgents<Agent>;
  readonly ports: RuntimePorts;
  readonly threads: LiveThreads<Agent>;
  readonly due: DueThreads;
  readonly warn: (message: string) => void;
  readonly stopped: AbortSignal;
}

/** Takes over threads that other processes have left. */
export class Recovery<Agent extends AnyAgent> {
  readonly #options: HostOptions<Agent>;
  readonly #parts: HostParts<Agent>;
  #worker: Worker | undefined;

  constructor(options: HostOptions<Agent>, parts: HostParts<Agent>) {
    this.#options = options;
    this.#parts = parts;
  }

  async recover(): Promise<Recovered> {
    const { leaseTtlMs = LEASE_TTL_MS, claimWaitMs = leaseTtlMs, store } = this.#options;
    const { agents, ports, threads, due: timers } = this.#parts;
    const interrupted = await interruptedThreads(store, ports);
    const now = ports.clock();
    const due: string[] = [];
    for (const [threadId, at] of await waitingDeadlines(store, ports, new Set(agents.keys()))) {
      if (at <= now) due.push(threadId);
      else if (!threads.isStopped) timers.set(threadId, at);
    }
    return this.#takeOver([...new Set([...interrupted, ...due])], claimWaitMs);
  }

  work({ concurrency = WORK_CONCURRENCY, agents: chosen }: WorkLimits): void {
    const { store } = this.#options;
    const { agents, ports, threads, stopped } = this.#parts;
    const { lease, holder } = threads;
    if (store.runnable === undefined || lease === undefined) throw unsupported("host.work", "runnable threads");
    if (threads.isStopped || this.#worker !== undefined) throw worksAlready(threads.isStopped);
    this.#worker = new Worker({
      ...{ store, runnable: store.runnable, lease, holder, ports, stopped, concurrency },
      agents: chosen ?? [...agents.keys()],
      unnamed: chosen === undefined && agents.only !== undefined,
      busy: () => threads.busy,
      start: async (threadId, agent) => {
        try {
          return await threads.takeOver(threadId);
        } catch (error) {
          if (agent === undefined || !isWithoutAgent(error)) throw error;
          return await threads.takeOver(threadId, agent); // the first ask is a row, and its post names the agent
        }
      },
      failed: (threadId, error) => this.#report(threadId, error),
    });
  }

  /** The most model calls that this host makes at once. */
  get concurrency(): number {
    return this.#worker?.concurrency ?? Number.POSITIVE_INFINITY;
  }

  /** A request has ended here. */
  placeIsFree(): void {
    this.#worker?.look();
  }

  /** The holder may have died when a decision was written. Then this host resumes the request. */
  checkHolder(threadId: string): void {
    const { ports, threads, due } = this.#parts;
    if (!threads.isStopped) due.setEarlier(threadId, ports.clock() + (this.#options.leaseTtlMs ?? LEASE_TTL_MS));
  }

  /** A deadline of these threads has come. If the store cannot be read now, they are tried again. */
  async startDue(threadIds: readonly string[]): Promise<void> {
    const { leaseTtlMs = LEASE_TTL_MS, claimWaitMs = leaseTtlMs } = this.#options;
    const { ports, threads, due } = this.#parts;
    await this.#takeOver(threadIds, Math.max(claimWaitMs, leaseTtlMs), (threadId, error) => {
      if (HeddleError.isInstance(error) && error.retryable && !threads.isStopped)
        due.set(threadId, ports.clock() + leaseTtlMs);
    });
  }

  #takeOver(
    threadIds: readonly string[],
    waitMs: number,
    failed: (threadId: string, error: unknown) => void = () => undefined,
  ): Promise<Recovered> {
    const { ports, threads, stopped } = this.#parts;
    return takeOverThreads(threadIds, {
      ports,
      concurrency: this.#options.recoverConcurrency ?? RECOVER_CONCURRENCY,
      waitMs,
      signal: stopped,
      hasRequest: (threadId) => threads.hasRequest(threadId),
      takeOver: (threadId) => threads.takeOver(threadId),
      failed: (threadId, error) => {
        failed(threadId, error);
        this.#report(threadId, error);
      },
    });
  }

  /** A damaged thread must not stop the recovery of the others. Threads of other agents are left to their hosts. */
  #report(threadId: string, error: unknown): void {
    const { threads, warn } = this.#parts;
    if (threads.isStopped || isOfAnotherHost(error)) return;
    if (this.#worker !== undefined && isWithoutAgent(error)) return; // the worker knows more
    const why = HeddleError.isInstance(error) ? error.message : "it met an error that is not known.";
    warn(`Thread ${threadId} could not be recovered: ${why}`);
  }
}

function worksAlready(isStopped: boolean): RequestError {
  const message = isStopped ? "This host was stopped. Make another one." : "This host works already. Call `work` once.";
  return new RequestError({ code: isStopped ? "server_stopped" : "invalid_options", message });
}

/** The threads with a running request, or with an end that was not reported. Every agent notes both in the metadata of its thread. */
export async function interruptedThreads(store: ThreadStore, ports: RuntimePorts): Promise<readonly string[]> {
  const running = await threadsWith(store, ports, { status: "running" });
  return [...running, ...(await threadsWith(store, ports, { metadata: { unreportedEnd: true } }))];
}

async function threadsWith(
  store: ThreadStore,
  ports: RuntimePorts,
  filter: Pick<ListOptions, "status" | "metadata">,
): Promise<readonly string[]> {
  const ids: string[] = [];
  const all = { ...filter, limit: PAGE, order: "id" } as const;
  for (let cursor: string | undefined; ; ) {
    const query = { ...all, cursor };
    const page = await retryStore(ports, () => store.list(query));
    ids.push(...page.threads.map(({ id }) => id));
    cursor = page.cursor;
    if (cursor === undefined) return ids;
  }
}

/** Takes threads over, with a limited number of running requests. Resolves when the last one has started. */
async function takeOverThreads(threadIds: readonly string[], options: TakeOverOptions): Promise<Recovered> {
  const few = places(() => options.concurrency);
  const begun = threadIds.map(async (threadId) => {
    const requestId = await takenOver(threadId, (work) => few.run(work), options);
    return requestId === undefined ? [] : [{ threadId, requestId }];
  });
  const taken = (await Promise.all(begun)).flat();
  return { threads: taken.map(({ threadId }) => threadId), requests: taken.map(({ requestId }) => requestId) };
}

type InPlace = (work: () => Promise<void>) => Promise<void>;

/**
 * Waits until the claim of a dead holder expires; a living holder renews its claim and keeps the thread. A thread that
 * waits does not count as a running request.
 */
async function takenOver(threadId: string, inPlace: InPlace, options: TakeOverOptions): Promise<string | undefined> {
  const { ports, waitMs, signal, failed } = options;
  const deadline = ports.monotonic() + waitMs;
  while (!signal.aborted && !options.hasRequest(threadId)) {
    try {
      return await begunInPlace(threadId, inPlace, options);
    } catch (error) {
      const left = deadline - ports.monotonic();
      if (!ThreadHeldError.isInstance(error)) failed(threadId, error);
      if (!ThreadHeldError.isInstance(error) || left <= 0) return undefined;
      await pause(ports, Math.min(left, Math.max(RETRY_MS, error.until - ports.clock() + 1)), signal);
    }
  }
  return undefined;
}

/** Resolves when the request has started. It counts as running until it ends or waits for an approval or an answer. */
function begunInPlace(threadId: string, inPlace: InPlace, options: TakeOverOptions): Promise<string | undefined> {
  const { signal, hasRequest, takeOver } = options;
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const work = async (): Promise<void> => {
    const isWanted = !signal.aborted && !hasRequest(threadId);
    const request = isWanted ? await takeOver(threadId) : undefined;
    resolve(request?.id);
    await request?.settled();
  };
  inPlace(work).catch(reject);
  return promise;
}
