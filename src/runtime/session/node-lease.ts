import { LeaseEndedError, StoreError } from "../../stores/errors.ts";
import type { Leases } from "../../stores/lease.ts";
import type { LeaseKey } from "../../stores/port.ts";
import type { RuntimePorts } from "../ports.ts";
import { inTime } from "../time-limits.ts";
import { pause } from "../timers.ts";

export interface NodeLeaseOptions {
  readonly ports: RuntimePorts;
  /** How long the lease lasts without a renewal. */
  readonly ttlMs: number;
}

/** One lease of the node. Claims name its key, and end with it. */
export interface Incarnation {
  readonly key: LeaseKey;
  readonly renewal: Renewal;
  /** How far the clock of the store was ahead of that of this process, in milliseconds. */
  readonly offMs: number;
}

/** A smaller difference may be the time that the answer took. A greater one is meant, as by a test with a clock of its own. */
const [LEAST_OFF_MS, MOST_OFF_MS] = [1_000, 24 * 3_600_000];

/**
 * The lease of a host, or of a server without a host. It starts with the first claim, and one renewal serves all claims. After
 * a lease has ended, the next claim starts one with a new incarnation.
 */
export class NodeLease {
  readonly #leases: Leases;
  readonly #options: NodeLeaseOptions;
  /** Unique to this process, because starting a lease ends the earlier lease of the same node. */
  readonly #node: string;
  #current: Incarnation | undefined;
  #starting: Promise<Incarnation> | undefined;

  constructor(leases: Leases, options: NodeLeaseOptions) {
    this.#leases = leases;
    this.#options = options;
    this.#node = options.ports.ids("node");
  }

  /** How far the clock of the store is ahead, so that all processes agree on times. 0 before the first lease. */
  get offMs(): number {
    return this.#current?.offMs ?? 0;
  }

  /** Whether there is a lease that was renewed recently. */
  get isFresh(): boolean {
    return this.#current?.renewal.isFresh === true;
  }

  /** The lease for a new claim. Concurrent calls share one start. */
  async current(): Promise<Incarnation> {
    const { renewal } = this.#current ?? {};
    // Without claims it is not renewed, so that an idle process can exit.
    if (this.#current && renewal && !renewal.isOver && (renewal.isUsed || renewal.isFresh)) return this.#current;
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Ends the lease, which releases all its claims. If that fails, the lease expires. */
  async end(): Promise<void> {
    await this.#starting?.catch(() => undefined);
    const current = this.#current;
    this.#current = undefined;
    if (current !== undefined && !current.renewal.isOver) await this.#leases.end(current.key).catch(() => undefined);
  }

  async #start(): Promise<Incarnation> {
    const { ports, ttlMs } = this.#options;
    const [sentAt, clockAt] = [ports.monotonic(), ports.clock()];
    const { node, incarnation, until } = await this.#leases.start({ node: this.#node, ttlMs });
    const off = until - ttlMs - (clockAt + ports.clock()) / 2;
    const offMs = Math.abs(off) < LEAST_OFF_MS || Math.abs(off) > MOST_OFF_MS ? 0 : Math.round(off);
    const key = { node, incarnation };
    const send = () => this.#leases.renew(key);
    const isEnd = (error: unknown) => LeaseEndedError.isInstance(error);
    this.#current = { key, offMs, renewal: new Renewal({ ports, ttlMs, sentAt, send, isEnd }) };
    return this.#current;
  }
}

/** Renewals during one lease, so that two of them may fail, and retries of a failed renewal during one lease. */
const RENEWALS = 3;
const RETRIES = 12;

export interface RenewalOptions {
  readonly ports: RuntimePorts;
  readonly ttlMs: number;
  /** When the lease was requested, by the monotonic clock. */
  readonly sentAt: number;
  readonly send: () => Promise<unknown>;
  /** Whether an error of `send` says that the lease is over and cannot be renewed. */
  readonly isEnd: (error: unknown) => boolean;
}

/** Callbacks of a claim, about the lease that it depends on. */
export interface RenewalListener {
  /** The lease is over. Called once. */
  readonly ended: (error: unknown) => void;
  /** The whole time has passed without a renewal. A renewal may still succeed. */
  readonly expired: (error: unknown) => void;
  /** A renewal succeeded after the lease had been too old. Another process may have taken a thread meanwhile. */
  readonly regained: () => void;
}

/**
 * Renews a lease as long as claims depend on it.
 *
 * The age of a renewal counts from its request, because the answer may come late. When the last renewal is older than two
 * thirds of the lease, by the monotonic clock, `isFresh` is false until a renewal succeeds. So a process that was frozen, or
 * could not reach the store, starts nothing while another process may have taken over.
 */
export class Renewal {
  readonly #options: RenewalOptions;
  readonly #listeners = new Set<RenewalListener>();
  /** When the last successful renewal was sent, by the monotonic clock. */
  #renewedAt: number;
  #renewing: Promise<boolean> | undefined;
  #lastError: unknown;
  #gaps = 0;
  #cancelRenewal: () => void = () => undefined;
  /** Set while a renewal is pending or has failed. */
  #cancelExpiry: (() => void) | undefined;
  #isOver = false;
  /** The whole time has passed without a renewal. */
  #hasExpired = false;

  constructor(options: RenewalOptions) {
    this.#options = options;
    this.#renewedAt = options.sentAt;
  }

  /** Whether the last renewal is recent enough to start something. */
  get isFresh(): boolean {
    return !this.#isOver && this.#age < (this.#options.ttlMs * 2) / 3;
  }

  /** Whether the lease has ended and is never renewed again. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** How often the lease was renewed when it was already too old. */
  get gaps(): number {
    return this.#gaps;
  }

  /** Whether a claim depends on it. */
  get isUsed(): boolean {
    return this.#listeners.size > 0;
  }

  /** Adds a listener. The returned function removes it, and renewals stop after the last one. */
  listen(listener: RenewalListener): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#schedule(Math.max(0, this.#options.ttlMs / RENEWALS - this.#age));
    return () => {
      this.#listeners.delete(listener);
      if (this.isUsed) return;
      this.#cancelRenewal();
      this.#endExpiry();
    };
  }

  /**
   * Whether it is fresh. Renews first if it is not, and retries while the store is unreachable. Stops when the lease has ended
   * or expired, or when `isOver` returns true.
   */
  async ensure(isOver: () => boolean): Promise<boolean> {
    for (;;) {
      if (this.isFresh) return true;
      if (this.#isOver || this.#hasExpired || isOver()) return false;
      if ((await this.#renew()) || this.#isOver) continue;
      await pause(this.#options.ports, this.#options.ttlMs / RETRIES);
    }
  }

  /** Renews once if it is not fresh. */
  async refresh(): Promise<void> {
    if (!this.isFresh && !this.#isOver) await this.#renew();
  }

  /** Renews now. Throws the error of a failure. */
  async renewNow(): Promise<void> {
    const sentAt = this.#options.ports.monotonic();
    try {
      await this.#options.send();
    } catch (error) {
      this.#failed(error);
      throw error;
    }
    this.#renewed(sentAt);
  }

  get #age(): number {
    return this.#options.ports.monotonic() - this.#renewedAt;
  }

  #schedule(ms: number): void {
    this.#cancelRenewal();
    if (!this.#isOver && this.isUsed) {
      this.#cancelRenewal = this.#options.ports.after(Math.ceil(ms), () => void this.#renew());
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
    const { ttlMs } = this.#options;
    if (this.isUsed && !this.#hasExpired && this.#cancelExpiry === undefined) this.#expect();
    try {
      await this.renewNow();
      this.#schedule(ttlMs / RENEWALS);
      return true;
    } catch {
      // Retries every other error. Appends carry the epoch, so nothing is written without the claim.
      this.#schedule(ttlMs / (this.#hasExpired ? RENEWALS : RETRIES));
      return false;
    }
  }

  #renewed(sentAt: number): void {
    const hasGap = sentAt - this.#renewedAt >= (this.#options.ttlMs * 2) / 3;
    this.#renewedAt = Math.max(this.#renewedAt, sentAt);
    this.#hasExpired = false;
    this.#endExpiry();
    if (!hasGap) return;
    this.#gaps += 1;
    for (const { regained } of [...this.#listeners]) regained();
  }

  #failed(error: unknown): void {
    this.#lastError = error;
    if (this.#isOver || !this.#options.isEnd(error)) return;
    this.#isOver = true;
    this.#cancelRenewal();
    this.#endExpiry();
    for (const { ended } of [...this.#listeners]) ended(error);
  }

  /** Expires when the whole lease has passed. The short second wait lets a process that was frozen read its pending answers first. */
  #expect(): void {
    const { ports, ttlMs } = this.#options;
    this.#cancelExpiry = ports.after(Math.max(0, Math.ceil(ttlMs - this.#age)), () => {
      this.#cancelExpiry = ports.after(Math.ceil(ttlMs / RETRIES), () => this.#expire());
    });
  }

  #expire(): void {
    const { ttlMs } = this.#options;
    this.#cancelExpiry = undefined;
    if (this.#age >= ttlMs) {
      this.#hasExpired = true;
      const error = this.#lastError ?? unanswered(ttlMs);
      for (const { expired } of [...this.#listeners]) expired(error);
    } else this.#expect();
  }

  #endExpiry(): void {
    this.#cancelExpiry?.();
    this.#cancelExpiry = undefined;
  }
}

function unanswered(ttlMs: number): StoreError {
  const message = `The store has not answered for ${ttlMs} ms, so the claims of this process have run out.`;
  return new StoreError({ code: "store_unreachable", retryable: true, message });
}

/** How long the store has to end the lease when the host stops. */
const LEASE_END_MS = 10_000;

/** A store that does not answer is left: then the lease expires. */
export async function endLease(ports: RuntimePorts, lease: NodeLease): Promise<void> {
  await inTime(ports, LEASE_END_MS, lease.end());
}
