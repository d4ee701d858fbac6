import { StaleHolderError, StoreError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { RuntimePorts } from "../ports.ts";
import { type Claimed, type ClaimWaitOptions, claimWhenFree } from "./claim-wait.ts";
import { patiently } from "./patiently.ts";
import { pause } from "./pause.ts";
import { announceRelease } from "./releases.ts";

/** How often a claim is renewed in its life, so that two renewals may fail, and how often a renewal that failed is retried. */
const RENEWALS = 3;
const RETRIES = 12;

export interface HolderOptions extends Omit<ClaimWaitOptions, "ports"> {
  readonly ports: RuntimePorts;
  /**
   * Called when another process has the thread (`stale_holder`, each time it is found), and when the whole claim has passed
   * without a renewal (the error of the store). A renewal may still succeed after the latter.
   */
  readonly lost: (error: unknown) => void;
}

/**
 * The claim of one thread, renewed as long as it is held. Of two processes only one has it.
 *
 * A renewal is as old as its request: the answer may come late. When the last renewal is older than two thirds of the
 * claim, by the monotonic clock, `isHeld` is false until a renewal succeeds. So a process that was frozen, or cut off from
 * the store, starts nothing at a time when another process may already have taken over.
 */
export class Holder {
  readonly epoch: number;
  readonly #store: ThreadStore;
  readonly #threadId: string;
  readonly #ports: RuntimePorts;
  readonly #ttlMs: number;
  readonly #lost: (error: unknown) => void;
  /** When the last renewal that succeeded was sent, by the monotonic clock. */
  #renewedAt: number;
  #renewing: Promise<boolean> | undefined;
  #lastError: unknown;
  #cancelRenewal: () => void = () => undefined;
  /** Set while a renewal is under way or has failed. */
  #cancelExpiry: (() => void) | undefined;
  #isReleased = false;
  #isTaken = false;
  /** The whole claim has passed without a renewal. */
  #hasExpired = false;

  private constructor(store: ThreadStore, threadId: string, claimed: Claimed, options: HolderOptions) {
    this.#store = store;
    this.#threadId = threadId;
    this.epoch = claimed.epoch;
    this.#renewedAt = claimed.sentAt;
    this.#ports = options.ports;
    this.#ttlMs = options.ttlMs;
    this.#lost = options.lost;
    this.#schedule(options.ttlMs / RENEWALS);
  }

  /** Claims the thread. Waits for a holder that releases it, or whose claim runs out; one that renews is the error. */
  static async claim(store: ThreadStore, threadId: string, options: HolderOptions): Promise<Holder> {
    return new Holder(store, threadId, await claimWhenFree(store, threadId, options), options);
  }

  /** Whether no other process can have the thread yet. */
  get isHeld(): boolean {
    if (this.#isReleased || this.#isTaken) return false;
    return this.#ports.monotonic() - this.#renewedAt < (this.#ttlMs * 2) / 3;
  }

  /**
   * Whether the thread is held; when it is not, `lost` was called, or the thread was released. Renews first when the last
   * renewal is too old, and waits for a store that is away.
   */
  async ensure(): Promise<boolean> {
    for (;;) {
      if (this.isHeld) return true;
      if (this.#isReleased || this.#isTaken || this.#hasExpired) return false;
      if ((await this.#renew()) || this.#isTaken) continue;
      await pause(this.#ports, this.#ttlMs / RETRIES);
    }
  }

  /** Renews once when the last renewal is too old. Throws where another process has the thread; `lost` was called then. */
  async check(): Promise<void> {
    if (this.isHeld || this.#isReleased) return;
    await this.#renew();
    if (this.#isTaken) throw this.#lastError;
  }

  /** Renews now. Throws where another process has the thread: it sees what was written before this. */
  async confirm(): Promise<void> {
    await patiently(this.#ports, async () => {
      const sentAt = this.#ports.monotonic();
      await this.#store.renew(this.#threadId, this.epoch);
      this.#renewed(sentAt);
    });
  }

  /** Lets other processes claim the thread. Safe to call twice, and when it was lost. */
  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#cancelRenewal();
    this.#endExpiry();
    try {
      await this.#store.release(this.#threadId, this.epoch);
      announceRelease(this.#store, this.#threadId);
    } catch (error) {
      // A closed store releases nothing: the claim runs out.
      const isClosed = StoreError.isInstance(error) && error.code === "store_closed";
      if (!isClosed && !StaleHolderError.isInstance(error)) throw error;
    }
  }

  get #age(): number {
    return this.#ports.monotonic() - this.#renewedAt;
  }

  #schedule(ms: number): void {
    this.#cancelRenewal();
    if (!this.#isReleased && !this.#isTaken) {
      this.#cancelRenewal = this.#ports.after(Math.ceil(ms), () => void this.#renew());
    }
  }

  /** Concurrent calls share one renewal. */
  #renew(): Promise<boolean> {
    this.#renewing ??= this.#renewOnce().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renewOnce(): Promise<boolean> {
    const sentAt = this.#ports.monotonic();
    if (!this.#hasExpired && this.#cancelExpiry === undefined) this.#expect();
    try {
      await this.#store.renew(this.#threadId, this.epoch);
      this.#renewed(sentAt);
      this.#schedule(this.#ttlMs / RENEWALS);
      return true;
    } catch (error) {
      this.#lastError = error;
      if (StaleHolderError.isInstance(error) && !this.#isReleased) {
        this.#isTaken = true;
        this.#endExpiry();
        this.#lost(error);
      }
      // Any other error may pass. Appends carry the epoch, so nothing is written without the claim.
      this.#schedule(this.#ttlMs / (this.#hasExpired ? RENEWALS : RETRIES));
      return false;
    }
  }

  #renewed(sentAt: number): void {
    this.#renewedAt = Math.max(this.#renewedAt, sentAt);
    this.#hasExpired = false;
    this.#endExpiry();
  }

  /** Gives up when the claim has passed. A process that was frozen first takes the answers that are waiting for it. */
  #expect(): void {
    const { after } = this.#ports;
    this.#cancelExpiry = after(Math.max(0, Math.ceil(this.#ttlMs - this.#age)), () => {
      this.#cancelExpiry = after(Math.ceil(this.#ttlMs / RETRIES), () => this.#expire());
    });
  }

  #expire(): void {
    this.#cancelExpiry = undefined;
    if (this.#age >= this.#ttlMs) {
      this.#hasExpired = true;
      this.#lost(this.#lastError ?? unanswered(this.#ttlMs));
    } else this.#expect();
  }

  #endExpiry(): void {
    this.#cancelExpiry?.();
    this.#cancelExpiry = undefined;
  }
}

function unanswered(ttlMs: number): StoreError {
  const message = `The store has not answered for ${ttlMs} ms, so the claim of the thread has run out.`;
  return new StoreError({ code: "store_unreachable", retryable: true, message });
}
