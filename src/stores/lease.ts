/** The options of every call of a store. `watch` and `feed` end without an error when their signal aborts. */
export interface CallOptions {
  /**
   * Stops waiting when it aborts: the call rejects with `store_aborted`. The message says whether a write may be stored.
   * Default: the call waits until the store answers, or until the deadline of the store.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Names one life of a node. A node that starts again has a greater incarnation. */
export interface LeaseKey {
  /** The name of a process, such as its pod: 1 to 128 characters, as other names. */
  readonly node: string;
  readonly incarnation: number;
}

/** The lease of a node. Pass it to `claim`, `renew` and `end`. */
export interface Lease extends LeaseKey {
  /** When the lease ends unless it is renewed, in milliseconds since 1970, by the database's clock. */
  readonly until: number;
}

/** A node, and how long its lease lasts without renewal. */
export interface LeaseOptions extends CallOptions {
  /** The name of the process. Use one that no other running process has: a new lease ends the earlier one of its node. */
  readonly node: string;
  /** How long the lease lasts unless it is renewed, in milliseconds. Renew it at a third of that time. */
  readonly ttlMs: number;
}

/**
 * The leases of the nodes that share a database. One renewal keeps all claims that name the lease, of all tenants. Only the
 * database's clock counts. An append is not refused because a lease has ended, but because another node has claimed the thread
 * since.
 */
export interface Leases {
  /** Starts a lease with a new incarnation. This ends an earlier lease of the node. */
  readonly start: (options: LeaseOptions) => Promise<Lease>;
  /**
   * Extends the lease by its `ttlMs` from now, even after `until`. Throws `lease_ended` once another node has taken over a
   * thread of it: then stop, and start a new lease.
   */
  readonly renew: (lease: LeaseKey, options?: CallOptions) => Promise<Lease>;
  /** Ends the lease, so that other nodes can claim its threads at once. Does nothing when it has ended. */
  readonly end: (lease: LeaseKey, options?: CallOptions) => Promise<void>;
  /** Whether the driver has counters. Without them, `count` is `store_unsupported`. */
  readonly hasCounters: boolean;
  /**
   * Sets the amount of a counter that this node has. With a limit, as much of it as the amounts of the other living nodes leave.
   * The amount of a node ends with its lease. Throws `lease_ended`, and `store_unsupported` where the driver has no counters.
   *
   * @example
   * const { leases } = memoryDatabase();
   * const lease = await leases.start({ node: "pod-1", ttlMs: 10_000 });
   * const { amount } = await leases.count({ lease, name: "openai", amount: 20, limit: 100 }); // calls that may run here
   */
  readonly count: (options: CountOptions) => Promise<Count>;
}

/** The amount of a counter that a node asks for. */
export interface CountOptions extends CallOptions {
  /** The lease of this node. */
  readonly lease: LeaseKey;
  /** The name of the counter: 1 to 128 characters, as other names. */
  readonly name: string;
  /** A whole number from 0. It replaces the earlier amount of this node. */
  readonly amount: number;
  /** The largest sum of the amounts of all nodes. Default: none. */
  readonly limit?: number | undefined;
}

/** The amounts of a counter. */
export interface Count {
  /** The amount of this node from now on. */
  readonly amount: number;
  /** Those of the other living nodes, without those that have 0. */
  readonly others: readonly number[];
}
