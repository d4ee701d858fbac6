import type { CallOptions, LeaseKey } from "./lease.ts";

/** Which threads to take, and for which node. */
export interface TakeOptions extends CallOptions {
  /** The lease of this node, from `leases.start`. The claims last as long as the lease. */
  readonly lease: LeaseKey;
  /** The holder of the claims. Default: the name of the node. */
  readonly holder?: string | undefined;
  /** Only threads of these agents. Default: all threads, also those whose agent is not known. */
  readonly agents?: readonly string[] | undefined;
  /** Also threads whose agent is not known. Default: only without `agents`. */
  readonly unnamed?: boolean | undefined;
  /** The largest number of threads, 1 to 1,000. Default 1. */
  readonly limit?: number | undefined;
  /** How many threads of one tenant this lease may hold at once. Default: no limit. */
  readonly perTenant?: number | undefined;
}

/** A thread that was taken: it is claimed. */
export interface TakenThread {
  readonly tenant: string;
  readonly threadId: string;
  /** Of the claim. Pass it to `append` and `release` of the tenant's store. */
  readonly epoch: number;
  /** Absent when no holder and no post has named it. */
  readonly agent?: string;
}

/** The threads that have something to do: of a database those of all tenants, of a store its own. */
export interface Runnable {
  /**
   * Claims threads that are due and have no living holder. Tenants take turns, also from call to call; within a tenant the
   * highest priority comes first, then the one that waits longest. No thread is given to two nodes. Throws `lease_ended`.
   */
  readonly take: (options: TakeOptions) => Promise<readonly TakenThread[]>;
}
