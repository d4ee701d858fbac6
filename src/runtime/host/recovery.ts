import { ThreadHeldError } from "../../stores/errors.ts";
import type { ListOptions, ThreadStore } from "../../stores/port.ts";
import type { RuntimePorts } from "../ports.ts";
import type { AgentRequest } from "../request/request.ts";
import { retryStore } from "../session/store-retry.ts";
import { pause } from "../timers.ts";
import { toolPool } from "../tools/limits.ts";

/** The requests that a host has resumed, and the thread of each. */
export interface Recovered {
  readonly threads: readonly string[];
  readonly requests: readonly string[];
}

export interface RecoveryOptions {
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

const PAGE = 200;
/** The shortest time between two attempts to claim a thread. */
const RETRY_MS = 100;

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
  for (let cursor: string | undefined; ; ) {
    const page = await retryStore(ports, () => store.list({ ...filter, limit: PAGE, order: "id", cursor }));
    ids.push(...page.threads.map(({ id }) => id));
    cursor = page.cursor;
    if (cursor === undefined) return ids;
  }
}

/** Takes threads over, with a limited number of running requests. Resolves when the last one has started. */
export async function takeOverThreads(threadIds: readonly string[], options: RecoveryOptions): Promise<Recovered> {
  const places = toolPool({ concurrency: options.concurrency });
  const begun = threadIds.map(async (threadId) => {
    const requestId = await takenOver(threadId, (work) => places.run(work), options);
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
async function takenOver(threadId: string, inPlace: InPlace, options: RecoveryOptions): Promise<string | undefined> {
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
function begunInPlace(threadId: string, inPlace: InPlace, options: RecoveryOptions): Promise<string | undefined> {
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
