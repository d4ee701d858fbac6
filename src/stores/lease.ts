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
}
