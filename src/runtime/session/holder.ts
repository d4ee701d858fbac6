import { LeaseEndedError, StaleHolderError, StoreError, ThreadHeldError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { RuntimePorts } from "../ports.ts";
import { pause } from "../timers.ts";
import { NodeLease, Renewal } from "./node-lease.ts";
import { retryStore } from "./store-retry.ts";

/** The most attempts to claim a thread while the lease of this process keeps expiring. */
const ATTEMPTS = 5;
const RETRY_MS = 100;
/** Unequal to every number of gaps. */
const UNKNOWN = -1;

export interface HolderOptions extends ClaimWaitOptions {
  /** The name of the holder. A name that a restarted process uses again takes over its own claims at once. */
  readonly holder: string;
  readonly ttlMs: number;
  /** The lease of the host. Default: a lease for this claim. A store without leases renews the claim itself. */
  readonly lease?: NodeLease | undefined;
  /**
   * Called with `stale_holder` when another process has the thread or the lease has ended, and with the error of the store
   * when the whole lease has passed without a renewal. In the second case a renewal may still succeed.
   */
  readonly lost: (error: unknown) => void;
}

interface Claim {
  readonly epoch: number;
  readonly renewal: Renewal;
}

/** The claim of one thread, which only one process can have. It lasts as long as the lease of its node. */
export class Holder {
  readonly epoch: number;
  readonly #store: ThreadStore;
  readonly #threadId: string;
  readonly #ports: RuntimePorts;
  readonly #renewal: Renewal;
  /** The lease, if it belongs to this claim only. */
  readonly #ownLease: NodeLease | undefined;
  readonly #lost: (error: unknown) => void;
  readonly #leave: () => void;
  /** The `gaps` of the renewal at the time when the store last confirmed this claim. */
  #gaps: number;
  #looking: Promise<boolean> | undefined;
  /** How often something has spoken against this claim. */
  #doubts = 0;
  #isReleased = false;
  /** Why another process may have the thread. */
  #taken: StaleHolderError | undefined;

  private constructor(
    store: ThreadStore,
    threadId: string,
    { epoch, renewal }: Claim,
    options: HolderOptions,
    ownLease: NodeLease | undefined,
  ) {
    this.#store = store;
    this.#threadId = threadId;
    this.epoch = epoch;
    this.#ports = options.ports;
    this.#renewal = renewal;
    this.#gaps = renewal.gaps;
    this.#ownLease = ownLease;
    this.#lost = options.lost;
    this.#leave = renewal.listen({
      ended: (error) => (StaleHolderError.isInstance(error) ? this.#lose(error) : void this.#look()),
      expired: (error) => this.#lost(error),
      regained: () => void this.#look(),
    });
  }

  /** Claims the thread. Waits until its holder releases it or its lease expires, else throws `thread_held`. */
  static async claim(store: ThreadStore, threadId: string, options: HolderOptions): Promise<Holder> {
    const own = options.lease === undefined && store.leases ? new NodeLease(store.leases, options) : undefined;
    const lease = options.lease ?? own;
    const claim = () =>
      lease ? claimWithLease(store, threadId, options, lease) : claimAlone(store, threadId, options);
    try {
      return new Holder(store, threadId, await claimWhenFree(store, threadId, claim, options), options, own);
    } catch (error) {
      void own?.end();
      throw error;
    }
  }

  /** Whether no other process can have taken the thread. */
  get isHeld(): boolean {
    return !this.#isReleased && this.#taken === undefined && this.#renewal.isFresh && this.#gaps === this.#renewal.gaps;
  }

  /**
   * Whether the thread is held. If the last renewal is too old, renews first, and waits while the store is unreachable. When
   * this is false, the thread was released, or `lost` was called.
   */
  async ensure(): Promise<boolean> {
    for (;;) {
      if (this.isHeld) return true;
      if (this.#isReleased || this.#taken !== undefined) return false;
      if (!(await this.#renewal.ensure(() => this.#isReleased || this.#taken !== undefined))) {
        if (this.#renewal.isOver) await this.#look();
        return false;
      }
      const isKnown = this.isHeld || (await this.#look());
      if (!isKnown && this.#taken === undefined) await pause(this.#ports, RETRY_MS);
    }
  }

  /**
   * Asks the store whether it still has this claim, although the lease is fresh: another process may have claimed the thread
   * under the same name. Until the answer the thread counts as not held.
   */
  doubt(): void {
    this.#doubts += 1;
    this.#gaps = UNKNOWN;
    if (!this.#isReleased && this.#taken === undefined) void this.#look();
  }

  /** Renews once if the last renewal is too old. Throws if another process has the thread, after `lost` was called. */
  async check(): Promise<void> {
    if (this.isHeld || this.#isReleased) return;
    if (this.#taken === undefined) await this.#renewal.refresh();
    if (!this.isHeld && this.#taken === undefined) await this.#look();
    if (this.#taken !== undefined) throw this.#taken;
  }

  /** Renews now. Throws if another process has the thread. Otherwise the next holder reads everything written before. */
  async confirm(): Promise<void> {
    try {
      await retryStore(this.#ports, () => this.#renewal.renewNow());
      await retryStore(this.#ports, () => this.#store.renew(this.#threadId, this.epoch));
    } catch (error) {
      if (this.#renewal.isOver) await this.#look();
      throw this.#taken ?? error;
    }
  }

  /** Releases the claim. Safe to call twice, and after the claim was lost. */
  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#leave();
    try {
      await this.#store.release(this.#threadId, this.epoch);
      announceRelease(this.#store, this.#threadId);
    } catch (error) {
      // A closed store cannot release the claim, so it expires.
      const isClosed = StoreError.isInstance(error) && error.code === "store_closed";
      if (!isClosed && !StaleHolderError.isInstance(error)) throw error;
    } finally {
      await this.#ownLease?.end();
    }
  }

  /**
   * Asks the store whether it still has this claim, after the lease was too old for a while or has ended. False if the store
   * does not answer. Concurrent calls share one check.
   */
  #look(): Promise<boolean> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<boolean> {
    const { gaps } = this.#renewal;
    const doubts = this.#doubts;
    try {
      await this.#store.renew(this.#threadId, this.epoch);
      if (doubts === this.#doubts) this.#gaps = gaps;
      return true;
    } catch (error) {
      if (StaleHolderError.isInstance(error)) this.#lose(error);
      else if (this.#renewal.isOver) this.#lose(new StaleHolderError(this.#threadId, this.epoch, this.epoch));
      return false;
    }
  }

  #lose(error: StaleHolderError): void {
    if (this.#isReleased || this.#taken !== undefined) return;
    this.#taken = error;
    this.#leave();
    this.#lost(error);
  }
}

async function claimWithLease(
  store: ThreadStore,
  threadId: string,
  { holder }: HolderOptions,
  lease: NodeLease,
): Promise<Claim> {
  for (let attempt = 1; ; attempt++) {
    const { key, renewal } = await lease.current();
    try {
      const { epoch } = await store.claim(threadId, { holder, lease: key });
      return { epoch, renewal };
    } catch (error) {
      if (!LeaseEndedError.isInstance(error) || attempt === ATTEMPTS) throw error;
    }
    // An expired lease is renewed. If it has ended, the next attempt starts a new one.
    await renewal.renewNow().catch((error: unknown) => {
      if (!LeaseEndedError.isInstance(error)) throw error;
    });
  }
}

/** For a store whose driver has no leases: renews the claim itself. */
async function claimAlone(
  store: ThreadStore,
  threadId: string,
  { holder, ttlMs, ports }: HolderOptions,
): Promise<Claim> {
  const sentAt = ports.monotonic();
  const { epoch } = await store.claim(threadId, { holder, ttlMs });
  const send = () => store.renew(threadId, epoch);
  const isEnd = (error: unknown) => StaleHolderError.isInstance(error);
  return { epoch, renewal: new Renewal({ ports, ttlMs, sentAt, send, isEnd }) };
}

/** How often a waiting process checks whether another process has released the thread. */
const POLL_MS = 100;

interface ClaimWaitOptions {
  /** How long to wait for the holder. Measured with timers, so that setting the clock does not change it. */
  readonly waitMs: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  readonly ports: RuntimePorts;
}

/** Claims the thread as soon as it is free. A release in this process wakes the wait; for other processes it polls. */
async function claimWhenFree<Claim>(
  store: ThreadStore,
  threadId: string,
  claim: () => Promise<Claim>,
  { waitMs, ports, signal }: ClaimWaitOptions,
): Promise<Claim> {
  let isOver = waitMs <= 0;
  let isWoken = false;
  let wake = (): void => undefined;
  const look = (): void => {
    isWoken = true;
    wake();
  };
  const cancelEnd = ports.after(Math.max(0, waitMs), () => {
    isOver = true;
    look();
  });
  const unsubscribe = onRelease(store, threadId, look);
  signal?.addEventListener("abort", look, { once: true });
  try {
    for (;;) {
      isWoken = false;
      const isLast = isOver;
      try {
        // Safe to retry: if the acknowledgement of a claim was lost, the next claim by the same name replaces it.
        return await retryStore(ports, claim);
      } catch (error) {
        if (!ThreadHeldError.isInstance(error) || isLast) throw error;
      }
      signal?.throwIfAborted();
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      if (isWoken) resolve();
      const cancelPoll = ports.after(POLL_MS, resolve);
      await promise;
      cancelPoll();
      signal?.throwIfAborted();
    }
  } finally {
    cancelEnd();
    unsubscribe();
    signal?.removeEventListener("abort", look);
  }
}

type Wakes = Map<string, Set<() => void>>;

/** Claims that wait in this process, by store and thread. */
const waiting = new WeakMap<ThreadStore, Wakes>();

/** Calls `wake` whenever this process releases the thread. The returned function unsubscribes. */
function onRelease(store: ThreadStore, threadId: string, wake: () => void): () => void {
  const threads: Wakes = waiting.get(store) ?? new Map();
  waiting.set(store, threads);
  const wakes = threads.get(threadId) ?? new Set();
  threads.set(threadId, wakes.add(wake));
  return () => {
    wakes.delete(wake);
    if (wakes.size === 0 && threads.get(threadId) === wakes) threads.delete(threadId);
  };
}

/** Wakes the waiting claims of this process. */
function announceRelease(store: ThreadStore, threadId: string): void {
  for (const wake of [...(waiting.get(store)?.get(threadId) ?? [])]) wake();
}
