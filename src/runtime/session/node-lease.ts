import { LeaseEndedError } from "../../stores/errors.ts";
import type { Leases } from "../../stores/lease.ts";
import type { LeaseKey } from "../../stores/port.ts";
import type { RuntimePorts } from "../ports.ts";
import { Renewal } from "./renewal.ts";

export interface NodeLeaseOptions {
  readonly ports: RuntimePorts;
  /** How long the lease lasts without a renewal. */
  readonly ttlMs: number;
}

/** One life of the node: claims name its key, and end when its renewal is over. */
export interface Incarnation {
  readonly key: LeaseKey;
  readonly renewal: Renewal;
}

/**
 * The lease of a host, or of a server without one. It is started with the first claim, and renewed as long as there are
 * claims: one renewal for all of them. After a lease has ended, the next claim starts one with a new incarnation.
 */
export class NodeLease {
  readonly #leases: Leases;
  readonly #options: NodeLeaseOptions;
  /** A name that no other process has: a start ends the earlier lease of its node. */
  readonly #node: string;
  #current: Incarnation | undefined;
  #starting: Promise<Incarnation> | undefined;

  constructor(leases: Leases, options: NodeLeaseOptions) {
    this.#leases = leases;
    this.#options = options;
    this.#node = options.ports.ids("node");
  }

  /** The lease for a new claim. Concurrent calls share one start. */
  async current(): Promise<Incarnation> {
    const { renewal } = this.#current ?? {};
    // Without claims it is not renewed, so that a process without work can end.
    if (this.#current && renewal && !renewal.isOver && (renewal.isUsed || renewal.isFresh)) return this.#current;
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Ends the lease, which frees whatever is still claimed. Where that fails, the lease runs out. */
  async end(): Promise<void> {
    await this.#starting?.catch(() => undefined);
    const current = this.#current;
    this.#current = undefined;
    if (current !== undefined && !current.renewal.isOver) await this.#leases.end(current.key).catch(() => undefined);
  }

  async #start(): Promise<Incarnation> {
    const { ports, ttlMs } = this.#options;
    const sentAt = ports.monotonic();
    const { node, incarnation } = await this.#leases.start({ node: this.#node, ttlMs });
    const key = { node, incarnation };
    const send = () => this.#leases.renew(key);
    const isEnd = (error: unknown) => LeaseEndedError.isInstance(error);
    this.#current = { key, renewal: new Renewal({ ports, ttlMs, sentAt, send, isEnd }) };
    return this.#current;
  }
}
