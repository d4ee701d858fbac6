import type { Bus } from "./bus.ts";
import type { LeaseKey, ListOrder } from "./port.ts";
import type { RefsFilter } from "./row-filter.ts";
import type { TakenThread } from "./runnable.ts";
import type {
  BlobUse,
  ClaimRecord,
  InboxCommand,
  LeaseRecord,
  NamedHead,
  RunnableRow,
  StoredBlob,
  StoredCommand,
  StoredLane,
  StoredRow,
  StoredWaiting,
  ThreadField,
  ThreadHead,
  ThreadWaiting,
} from "./stored-records.ts";
import type { CountedUsage, UsageQuery, UsageSum } from "./sums.ts";

/** The beginning of a fork, apart from its rows. */
export interface ThreadStart {
  readonly head: ThreadHead;
  readonly lanes: readonly StoredLane[];
  readonly fields: readonly ThreadField[];
}

/** The place of a waiting call in the order: by `since`, then by thread id, then by call id. */
export interface WaitingPosition extends Pick<StoredWaiting, "since" | "callId"> {
  readonly threadId: string;
}

/** The checked options of `waiting`, with all defaults. */
export interface WaitingQuery {
  readonly kind: string | undefined;
  readonly after: WaitingPosition | undefined;
  readonly limit: number;
}

/** The name of a command. */
export interface CommandKey {
  readonly threadId: string;
  readonly id: string;
}

/** The part of an inbox that a decision needs. */
export interface InboxQuery {
  readonly threadId: string;
  readonly commandIds: readonly string[];
  /** Ids of entries of that thread. */
  readonly entryIds: readonly string[];
  /** Only for a driver with `scheduling`: also the thread's runnable row, and with "pending" all of its pending commands. */
  readonly runnable?: "row" | "pending";
}

/** The wanted part of the inbox of one thread, as it is inside the transaction. */
export interface InboxState {
  /** The commands with one of the wanted ids, with and without an outcome. */
  readonly commands: readonly StoredCommand[];
  /** The rows of the thread with one of the wanted ids, in order. */
  readonly known: readonly StoredRow[];
  /** No pending command of the thread has a greater position; 0 when there is none. */
  readonly lastPosition: number;
  /** Null when there is none. Absent when it is not wanted. */
  readonly runnable?: RunnableRow | null;
  /** All pending commands. Absent when they are not wanted. */
  readonly pending?: readonly Pick<StoredCommand, "id" | "revision">[];
}

/** The rows and lanes of a thread that a decision needs. */
export interface StateQuery {
  /** The ids of entries whose rows are wanted, if the thread has them. */
  readonly ids: readonly string[];
  /** The names of lanes whose records are wanted. */
  readonly lanes: readonly string[];
  /** Only for a driver with `scheduling`: the leases of these nodes and of the node that the thread's claim names. */
  readonly leases?: readonly string[];
  /** Only for a driver with `scheduling`: the waiting calls of the thread. */
  readonly waiting?: boolean;
}

/** The input of a decision: the thread as it is inside the transaction. */
export interface ThreadState {
  readonly head: ThreadHead | undefined;
  readonly claim: ClaimRecord | undefined;
  /** The rows of the thread with one of the wanted ids, in order. */
  readonly known: readonly StoredRow[];
  /** The stored lanes of the thread with one of the wanted names, in any order. */
  readonly lanes: readonly StoredLane[];
  /** The wanted inboxes by thread id; empty when none are wanted. */
  readonly inboxes: ReadonlyMap<string, InboxState>;
  /** The wanted leases, and maybe others. Until this transaction ends, no other one may renew an expired lease of them. */
  readonly leases?: readonly LeaseRecord[] | undefined;
  /** All waiting calls of the thread. Absent when they are not wanted. */
  readonly waiting?: readonly StoredWaiting[] | undefined;
  /** The store's clock in milliseconds. All processes must share this clock. */
  readonly now: number;
}

/** The rows and records to write. An absent field leaves the stored value unchanged. */
export interface Decision<Result> {
  readonly result: Result;
  readonly head?: ThreadHead;
  /** Fields of the thread that change. A driver without its own `list` need not store them. */
  readonly fields?: readonly ThreadField[];
  /** New rows in order. The first one directly follows the last stored row. */
  readonly rows?: readonly StoredRow[];
  /** Each replaces the stored lane of its name. */
  readonly lanes?: readonly StoredLane[];
  readonly claim?: ClaimRecord;
  /** Leases to mark as ended. */
  readonly leases?: readonly LeaseRecord[];
  /** Commands to insert, or to replace by thread id and command id. Only of wanted inboxes. */
  readonly commands?: readonly InboxCommand[];
  /** Each replaces the runnable row of its thread. Only for threads whose inbox was wanted. */
  readonly runnable?: readonly { readonly threadId: string; readonly row: RunnableRow }[];
  /** Replaces all waiting calls of the thread. */
  readonly waiting?: readonly StoredWaiting[];
  /** To add to the sums of the thread, by owner, day and model. A driver without `usage` need not store them. */
  readonly usage?: readonly CountedUsage[];
  /** Remove commands of the tenant, of any thread, whose outcome is older: about 100 at most. */
  readonly purgeBefore?: number;
  /**
   * Blobs that the thread uses. Store those that are missing in the same transaction: a row must never refer to a missing blob.
   * With `purgeBlobs`, also record each use. If a blob is there without any use, it was put to be kept forever: then also
   * record a use that never ends.
   */
  readonly blobs?: readonly BlobUse[];
}

/** The rows of one thread that a driver has to read. */
export interface RowRange {
  /** The first seq, inclusive. */
  readonly from: number;
  /** The last seq, inclusive. */
  readonly to: number;
  readonly kinds?: readonly string[] | undefined;
  /**
   * Text to find in the payload's JSON text, after A to Z of that text are changed to lower case. Also return every row whose
   * payload begins with "[", because its texts are in blobs. A driver may return other rows that do not match: the caller
   * filters them.
   */
  readonly search?: string | undefined;
  /**
   * Refs that rows must have, all of them. Read `requestId` from an index: a thread may have a million entries. A driver may
   * also return rows that do not match: the caller filters them.
   */
  readonly refs?: RefsFilter | undefined;
  readonly reverse?: boolean | undefined;
  readonly limit: number;
}

/** The checked options of `list`, with all defaults. */
export interface ListQuery {
  readonly prefix: string;
  readonly order: ListOrder;
  /** The exact reverse of the order, ids included. */
  readonly reverse: boolean;
  readonly status: string | undefined;
  readonly owner: string | undefined;
  /** The fields that a thread must have, all of them. With the value null: it has no field of this name. */
  readonly fields: readonly ThreadField[];
  /** The least `updatedAt` and `createdAt`, inclusive. */
  readonly updatedSince: number | undefined;
  readonly createdSince: number | undefined;
  /** The greatest ones, exclusive. */
  readonly updatedBefore: number | undefined;
  readonly createdBefore: number | undefined;
  /** In lower case (A to Z); empty when there is no search. */
  readonly search: string;
  readonly limit: number;
  /** The position of the last thread of the previous page. */
  readonly after: ListPosition | undefined;
}

/** The position of a thread in an order: by `value`, then by id. */
export interface ListPosition {
  /** `updatedAt` or `createdAt`; 0 in the order of ids. */
  readonly value: number;
  readonly id: string;
}

/** A committed change of any thread, and its position in the feed. */
export type Change = ChangedRow | ForkedThread | DeletedThread;

/** A new row. */
export interface ChangedRow {
  readonly type: "entry";
  readonly threadId: string;
  readonly row: StoredRow;
  readonly cursor: string;
}

/** A new fork. It shares the rows of the thread `from`, up to `forkSeq`. */
export interface ForkedThread {
  readonly type: "forked";
  readonly threadId: string;
  readonly from: string;
  readonly forkSeq: number;
  readonly cursor: string;
}

/** The removal of a thread. */
export interface DeletedThread {
  readonly type: "deleted";
  readonly threadId: string;
  readonly cursor: string;
}

/** The history that the cursors of a feed belong to. */
export interface FeedEpoch {
  /** 16 characters of 0-9 and a-f, random. Change it when the database is restored from a backup. */
  readonly epoch: string;
  /** Whether the database has entries of version 0.1, whose cursors name no epoch. Default false. */
  readonly hasEarlierCursors?: boolean | undefined;
}

/** The threads that have new rows, found by one look for all watchers of a store. */
export interface ThreadChanges {
  /** The threads with rows that were committed after the position. May name a thread twice, or one without new rows. */
  readonly threadIds: readonly string[];
  /** The threads of `inboxes` with pending commands, and those that were removed; may name others. Default: any may have some. */
  readonly postedIds?: readonly string[] | undefined;
  /** Where the next look continues. Rows that this look could not see must lie behind it. */
  readonly position: string;
  /**
   * Whether commits behind this position are announced through `onChange`. Then the store looks every 5 s only. Default false.
   */
  readonly isAnnounced?: boolean | undefined;
  /** Whether `changes` still withholds a row that is committed. Absent if it never does. */
  readonly isFeedBehind?: boolean | undefined;
}

/** Throws when the thread must not be removed. Then nothing is written, and the call rejects with that error. */
export type RemovalCheck = (head: ThreadHead | undefined, hasCommands: boolean) => void;

/** The two kinds of records. Their keys are independent. */
export type RecordSpace = "checkpoint" | "blob";

/**
 * The interface that an adapter implements; `defineStore` turns it into a ThreadStore. A driver only moves rows. Shared
 * code above it checks for invalid input, conflicts and damage. A driver serves one tenant.
 *
 * A `signal` is given when the caller has given one. A method may ignore it: the call rejects when the signal aborts, and
 * no method is called after that. Use it to stop work that has not begun, such as a write that waits for its turn.
 */
export interface StoreDriver {
  /**
   * Whether the driver keeps leases, runnable rows and waiting calls. Default false: calls that need them are
   * `store_unsupported`.
   */
  readonly scheduling?: boolean | undefined;

  /**
   * The largest row that the driver can store, in bytes. The store refuses larger entries, blobs and checkpoints as `too_large`
   * before it writes anything. Default: no limit.
   */
  readonly maxRowBytes?: number | undefined;

  /**
   * Only for a driver with `scheduling`: as the method of a DatabaseDriver, which gives it to the stores of its tenants. Without
   * it, a store has no `leases`, and the runtime renews each claim by itself.
   */
  lease?<Result>(
    node: string,
    decide: (state: LeaseState) => LeaseDecision<Result>,
    signal?: AbortSignal,
  ): Promise<Result>;

  /** Only for a driver with `scheduling` and `lease`: as the method of a DatabaseDriver. */
  counter?: Required<DatabaseDriver>["counter"];

  /**
   * Only for a driver with `scheduling`: as the method of a DatabaseDriver, but only for the threads of this tenant. Without it,
   * a store has no `runnable`, and `host.work` is `store_unsupported`.
   */
  take?(query: TakeQuery, signal?: AbortSignal): Promise<readonly TakenThread[] | undefined>;

  /**
   * Reads the state of a thread, calls `decide` with it, and writes the returned decision in the same transaction. No
   * other writer may change the thread in between. The decision is durable when the promise resolves. When `decide`
   * throws, nothing is written and the promise rejects with that error. `decide` is pure and fast; the driver may call it
   * again when it retries the transaction. `inboxes` has each thread once, and may include `threadId`. No other writer may
   * change these inboxes in between either.
   */
  transact<Result>(
    threadId: string,
    wanted: StateQuery,
    decide: (state: ThreadState) => Decision<Result>,
    inboxes?: readonly InboxQuery[],
    signal?: AbortSignal,
  ): Promise<Result>;

  /** Commands without an outcome, in the order of their positions, after a position. */
  pending(threadId: string, after: number, limit: number, signal?: AbortSignal): Promise<readonly StoredCommand[]>;

  /** The commands with these ids, with and without an outcome, in any order. Those that do not exist are left out. */
  commands(keys: readonly CommandKey[], signal?: AbortSignal): Promise<readonly InboxCommand[]>;

  head(threadId: string, signal?: AbortSignal): Promise<ThreadHead | undefined>;

  /** The stored lanes of a thread with one of these names, in any order. Without names, all. */
  lanes(threadId: string, names?: readonly string[], signal?: AbortSignal): Promise<readonly StoredLane[]>;

  /** Rows of a committed prefix of the thread. A row must not be visible before its predecessor is. */
  rows(threadId: string, range: RowRange, signal?: AbortSignal): Promise<readonly StoredRow[]>;

  /**
   * The changes of all threads in commit order, after a cursor: rows, forks and removals. Of a removed thread only the removal
   * is left. Rows that a fork shares are left out. Must not return a change while an earlier one can still be committed. Throws
   * a StoreError with the code `invalid_options` for a text that does not look like a cursor of this driver.
   */
  changes(after: string | undefined, limit: number, signal?: AbortSignal): Promise<readonly Change[]>;

  /** The epoch of `changes`; the same in all processes. The store puts it into each cursor. */
  feedEpoch(signal?: AbortSignal): Promise<FeedEpoch>;

  /** Threads in the order of their ids, starting after `afterId`. */
  heads(afterId: string | undefined, limit: number, signal?: AbortSignal): Promise<readonly NamedHead[]>;

  /**
   * Makes `to` a fork of `from`, with this head, these lanes and fields. `head.hash` is the hash of the row `atSeq`; at -1 the
   * fork has no rows. From then on all methods behave as if `to` had its own copies of the rows up to `atSeq`, even after
   * `from` was removed. Only `changes` returns one fork instead of these rows. A driver may copy the rows; better, it stores
   * where they are. When `to` exists: returns false and writes nothing. When `from` was removed meanwhile: throws
   * `thread_not_found` and writes nothing. With `purgeBlobs`, `to` uses the blobs that `from` uses, except those with
   * the purpose `file` or `text` that only rows behind `atSeq` refer to.
   */
  fork(from: string, to: string, atSeq: number, fork: ThreadStart, signal?: AbortSignal): Promise<boolean>;

  /** The ids of the forks of a thread and of the forks of these, in any order. */
  forks(threadId: string, signal?: AbortSignal): Promise<readonly string[]>;

  /**
   * Removes rows, lanes, head, runnable row, waiting calls and all commands. Must keep the claim, so that epochs never start at
   * 1 again. Must also keep the rows that forks share, and no others, until the last such fork is removed; returns the ids of
   * these forks. Undefined when there is no thread; its commands are removed nevertheless. Usage sums stay with their owners,
   * but no longer name the thread. With `purgeBlobs`, the thread's uses of blobs end now.
   */
  remove(threadId: string, signal?: AbortSignal): Promise<readonly string[] | undefined>;

  /**
   * Optional. As `remove`, if `check` does not throw. It is called in the same transaction, with the head of the thread and
   * whether commands wait. Without this method `delete` with `expectedRev` is `store_unsupported`.
   */
  removeIf?(threadId: string, check: RemovalCheck, signal?: AbortSignal): Promise<readonly string[] | undefined>;

  /** The blobs with these hashes, in any order. Those that do not exist are left out. */
  blobs(hashes: readonly string[], signal?: AbortSignal): Promise<readonly StoredBlob[]>;

  /** Sums by day and model, each pair once, in any order. Without this method the store's `usage` is `store_unsupported`. */
  usage?(query: UsageQuery, signal?: AbortSignal): Promise<readonly UsageSum[]>;

  getRecord(space: RecordSpace, key: string, signal?: AbortSignal): Promise<string | Uint8Array | undefined>;
  /**
   * Replaces an earlier value. A blob that is put this way is kept forever: with `purgeBlobs`, if it has uses, also record one
   * that never ends.
   */
  putRecord(space: RecordSpace, key: string, value: string | Uint8Array, signal?: AbortSignal): Promise<void>;
  deleteRecord(space: RecordSpace, key: string, signal?: AbortSignal): Promise<boolean>;

  close(): Promise<void>;

  /**
   * Calls `wake` after a commit of rows or commands by this process or another, with the ids of their threads. `postedIds` are
   * those with new or changed commands; without them, all of the threads may have some. Without ids the store asks
   * `changedThreads`. Without this method the store wakes the watchers of its own appends, and polls for others.
   */
  onChange?(wake: (threadIds?: readonly string[], postedIds?: readonly string[]) => void): () => void;

  /**
   * Optional. Carries short messages between the processes that use this tenant. Without it, the answer of a model that another
   * process calls arrives in larger pieces.
   */
  readonly bus?: Bus | undefined;

  /**
   * Optional, for speed. The threads with new rows since a position, among them new forks and removed threads, and the new
   * position. Without a position: no threads. May leave out what was committed through this driver, since the store wakes its
   * own watchers. `inboxes`: the threads whose commands are followed. Without this method each watcher reads its thread every
   * `pollMs`.
   */
  changedThreads?(after: string | undefined, inboxes?: readonly string[]): Promise<ThreadChanges>;

  /** Optional, for speed. Returns up to `limit + 1` threads; the extra one shows that there is another page. */
  list?(query: ListQuery, signal?: AbortSignal): Promise<readonly NamedHead[]>;
  /** Optional, for `verify`. The stored fields of a thread, in any order. */
  fields?(threadId: string, signal?: AbortSignal): Promise<readonly ThreadField[]>;
  /** Only with `scheduling`: waiting calls of all threads of the tenant, in the order of their positions. */
  waiting?(query: WaitingQuery, signal?: AbortSignal): Promise<readonly ThreadWaiting[]>;
  /**
   * Removes blobs whose uses have all ended more than `graceMs` ago by the store's clock, about 100 at most. A blob that never
   * had a use stays. An ended use counts while its thread exists: that thread was created after the use ended. Resolves to true
   * when there may be more. Without this method blobs are kept forever, and a driver need not record uses.
   */
  purgeBlobs?(graceMs: number, signal?: AbortSignal): Promise<boolean>;
  /** Checks storage below the rows, such as the pages of a file. Returns a description of the damage, if any. */
  inspect?(threadId: string, signal?: AbortSignal): Promise<string | undefined>;
}

/** The input of a decision about a lease. */
export interface LeaseState {
  readonly lease: LeaseRecord | undefined;
  /** The database's clock in milliseconds. */
  readonly now: number;
}

/** The lease to write. */
export interface LeaseDecision<Result> {
  readonly result: Result;
  /** Replaces the lease of its node. */
  readonly lease?: LeaseRecord;
  /** Remove leases whose `until` is less. */
  readonly purgeBefore?: number;
}

/** The input of a decision about a counter. */
export interface CounterState {
  /** The nodes whose lease lasts by the database's clock, and their amounts of the counter: 0 without a row. */
  readonly nodes: readonly (LeaseKey & { readonly amount: number })[];
}

/** The amount to write. */
export interface CounterDecision<Result> {
  readonly result: Result;
  /** Replaces the amount of a node. */
  readonly written?: { readonly node: string; readonly amount: number };
}

/** The checked options of `take`, with all defaults. */
export interface TakeQuery {
  readonly lease: LeaseKey;
  readonly holder: string;
  /** Only threads of this tenant; undefined: of all. The `take` of a tenant's driver ignores it. */
  readonly tenant: string | undefined;
  /** Only threads of these agents; undefined: of all that are known. */
  readonly agents: readonly string[] | undefined;
  /** Also threads whose agent is not known. */
  readonly unnamed: boolean;
  readonly limit: number;
  /** How many threads of one tenant the lease may hold, those that it holds already included. */
  readonly perTenant: number;
  /** Tenants with names after this one come first, in the order of their names; then the others. */
  readonly afterTenant: string;
}

/** A database with the stores of many tenants; `defineDatabase` turns it into a ThreadDatabase. */
export interface DatabaseDriver {
  /** The driver of one tenant. Has `scheduling`. Its `close` leaves the database open. */
  tenant(name: string): StoreDriver;

  /**
   * Reads the lease of a node, calls `decide`, and writes the decision in one transaction. No other writer may change it in
   * between.
   */
  lease<Result>(
    node: string,
    decide: (state: LeaseState) => LeaseDecision<Result>,
    signal?: AbortSignal,
  ): Promise<Result>;

  /**
   * Optional. Reads a counter, calls `decide`, and writes the decision in one transaction. No other writer may change the counter
   * in between. Removes the amounts of nodes whose lease is over. Without it, `leases.count` is `store_unsupported`.
   */
  counter?<Result>(
    name: string,
    decide: (state: CounterState) => CounterDecision<Result>,
    signal?: AbortSignal,
  ): Promise<Result>;

  /**
   * Claims threads that are due and that no claim holds, in one transaction, and marks expired leases of other nodes as ended.
   * The threads of a tenant are numbered by priority and `dueAt`; numbers begin after the threads that the lease already holds.
   * Lower numbers come first, then the turn of the tenant. Skips threads that another transaction has locked. Undefined when
   * the lease is over.
   */
  take(query: TakeQuery, signal?: AbortSignal): Promise<readonly TakenThread[] | undefined>;

  close(): Promise<void>;
}
