import { ThreadHeldError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { RuntimePorts } from "../ports.ts";
import type { AgentRequest } from "../request/request.ts";
import { retryStore } from "../session/store-retry.ts";
import { pause } from "../timers.ts";
import { toolPool } from "../tools/limits.ts";

/** What a host has taken over: the requests that go on, and the thread of each. */
export interface Recovered {
  readonly threads: readonly string[];
  readonly requests: readonly string[];
}

export interface RecoveryOptions {
  readonly ports: RuntimePorts;
  /** Requests that are at work at once. */
  readonly concurrency: number;
  /** Whether this host carries the request of the thread already: then there is nothing to take over. */
  readonly isAtWork: (threadId: string) => boolean;
  /** How long to wait for the claim of a holder that may be dead. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Claims the thread without waiting, and resumes its request. */
  readonly takeOver: (threadId: string) => Promise<Pick<AgentRequest, "id" | "settled"> | undefined>;
  /** One thread that is damaged must not keep the others from going on. */
  readonly failed: (threadId: string, error: unknown) => void;
}

const PAGE = 200;
/** How soon a claim is tried again, at the earliest. */
const RETRY_MS = 100;

/** The threads whose metadata says that a request is at work; every agent keeps it there. */
export async function interruptedThreads(store: ThreadStore, ports: RuntimePorts): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await retryStore(ports, () => store.list({ status: "running", limit: PAGE, order: "id", cursor }));
    ids.push(...page.threads.map(({ id }) => id));
    cursor = page.cursor;
    if (cursor === undefined) return ids;
  }
}

/** Takes threads over, so many requests at work at once. Resolves when the last one has begun. */
export async function takeOverThreads(threadIds: readonly string[], options: RecoveryOptions): Promise<Recovered> {
  const places = toolPool({ concurrency: options.concurrency });
  const begun = threadIds.map(async (threadId) => {
    const requestId = await takenOver(threadId, (work) => places.run([threadId], work, () => undefined), options);
    return requestId === undefined ? [] : [{ threadId, requestId }];
  });
  const taken = (await Promise.all(begun)).flat();
  return { threads: taken.map(({ threadId }) => threadId), requests: taken.map(({ requestId }) => requestId) };
}

type InPlace = (work: () => Promise<void>) => Promise<void>;

/** A dead holder's claim runs out meanwhile; a living one renews, and keeps its thread. Who waits takes no place. */
async function takenOver(threadId: string, inPlace: InPlace, options: RecoveryOptions): Promise<string | undefined> {
  const { ports, waitMs, signal, failed } = options;
  const deadline = ports.monotonic() + waitMs;
  while (!signal.aborted && !options.isAtWork(threadId)) {
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

/** Answers when the request has begun; its place is free when it has ended, or waits for somebody outside. */
function begunInPlace(threadId: string, inPlace: InPlace, options: RecoveryOptions): Promise<string | undefined> {
  const { signal, isAtWork, takeOver } = options;
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const work = async (): Promise<void> => {
    const isWanted = !signal.aborted && !isAtWork(threadId);
    const request = isWanted ? await takeOver(threadId) : undefined;
    resolve(request?.id);
    await request?.settled();
  };
  inPlace(work).catch(reject);
  return promise;
}
