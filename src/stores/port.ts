import type { Entry, EntryInput } from "../thread/entry.ts";
import type { JsonObject, JsonValue } from "../thread/json.ts";
import type { Thread } from "../thread/thread.ts";

/**
 * Where threads live. A store is opened for one tenant and cannot name anything of another. Every promise below is kept
 * by every adapter and proven by the contract suite in `heddle/testing`.
 */
export interface ThreadStore {
  /**
   * Appends a batch, whole or not at all, durable when the promise resolves. Creates the thread when it is missing,
   * unless `create` is false. Safe to retry for ever when the entries carry ids: a batch that is already there is
   * answered with `replayed: true`, at any `expectedRev`.
   *
   * @example
   * const { rev } = await store.append("thread_1", { kind: "message", payload: { role: "user", content: "hi" } });
   * await store.append("thread_1", { kind: "note" }, { expectedRev: rev });
   */
  append(threadId: string, entries: EntryInput | readonly EntryInput[], options?: AppendOptions): Promise<AppendResult>;

  /** The thread, or its last entries; undefined when there is none. */
  load(threadId: string, options?: LoadOptions): Promise<Thread | undefined>;

  /** Entries one by one, read in pages, oldest first unless `reverse`. */
  read(threadId: string, options?: ReadOptions): AsyncIterable<Entry>;

  /** Writes what the store does not have of this thread yet. When the histories differ nothing is written. */
  save(thread: Thread): Promise<void>;

  /** A page of threads, latest change first unless another order is asked for. */
  list(options?: ListOptions): Promise<ThreadPage>;

  /** Every entry of every thread in the order they were committed, then, as they come, the new ones. */
  feed(options?: FeedOptions): AsyncIterable<FeedItem>;

  /** Removes a thread and what only it refers to; false when there was none. */
  delete(threadId: string): Promise<boolean>;

  /** The entries from `fromSeq` on, then, as they come, the new ones. Ends when `signal` aborts or the store closes. */
  watch(threadId: string, options: WatchOptions): AsyncIterable<Entry>;

  getCheckpoint(key: string): Promise<JsonValue | undefined>;
  putCheckpoint(key: string, value: JsonValue): Promise<void>;
  deleteCheckpoint(key: string): Promise<boolean>;

  /** A new thread with the history of another up to `atSeq`, made inside the store. */
  fork(threadId: string, options: ForkOptions): Promise<ThreadInfo>;

  /**
   * Makes `holder` the only holder of the thread for `ttlMs`, by the store's clock. The epoch grows with each claim; an
   * append that carries an older one is refused. Claiming again as the same holder ends the earlier claim. The thread
   * need not exist yet.
   */
  claim(threadId: string, options: ClaimOptions): Promise<ClaimResult>;
  /** Holds on for another `ttlMs`, also after the time ran out if nobody else came. */
  renew(threadId: string, epoch: number): Promise<ClaimResult>;
  release(threadId: string, epoch: number): Promise<void>;

  /** Keeps JSON or bytes under the hash of their content and answers the hash. */
  putBlob(content: JsonValue | Uint8Array): Promise<string>;
  getBlob(hash: string): Promise<JsonValue | Uint8Array | undefined>;

  /** Reads a whole thread again, checks every hash and link, and names the first bad entry. */
  verify(threadId: string, options?: VerifyOptions): Promise<VerifyReport>;

  /** Waits for appends under way, ends watchers, lets go of the file or the connections. Safe to call twice. */
  close(): Promise<void>;
}

export interface AppendOptions {
  /** The revision the thread must be at; 0 means it must be empty or missing. */
  readonly expectedRev?: number | undefined;
  /** From `claim`: refuse the append if somebody claimed the thread since. */
  readonly epoch?: number | undefined;
  /** Merged into the thread's metadata, in the same transaction. Without an entry: `metadata_without_entries`. */
  readonly metadata?: JsonObject | undefined;
  /** Whether to create a missing thread; default true. */
  readonly create?: boolean | undefined;
}

export interface AppendResult {
  /** The revision after these entries: of a replay too, so that others' entries since then are not passed over unseen. */
  readonly rev: number;
  readonly entries: readonly Entry[];
  /** Whether the entries were there already. */
  readonly replayed: boolean;
}

export interface LoadOptions {
  /** Only that many entries, counted from the end. */
  readonly last?: number | undefined;
  /** The thread as it was when this was its last entry. */
  readonly upToSeq?: number | undefined;
}

export interface ReadOptions {
  /** Both ends are included. */
  readonly fromSeq?: number | undefined;
  readonly toSeq?: number | undefined;
  readonly kinds?: readonly string[] | undefined;
  /** Text that occurs in the payload; the case of A to Z is ignored. */
  readonly search?: string | undefined;
  readonly reverse?: boolean | undefined;
  readonly limit?: number | undefined;
}

export type ListOrder = "updated" | "created" | "id";

export interface ListOptions {
  /** Ids that begin with this. */
  readonly prefix?: string | undefined;
  /** `updated` and `created` newest first, `id` ascending; default `updated`. */
  readonly order?: ListOrder | undefined;
  /** Threads whose `metadata.status` is this. */
  readonly status?: string | undefined;
  /** Text that occurs in the id, the metadata or the payload of an entry; the case of A to Z is ignored. */
  readonly search?: string | undefined;
  /** 1 to 1,000, default 50. */
  readonly limit?: number | undefined;
  /** Of the page before. */
  readonly cursor?: string | undefined;
}

export interface ThreadPage {
  readonly threads: readonly ThreadInfo[];
  /** Present when there are more. */
  readonly cursor?: string;
}

export interface ThreadInfo {
  readonly id: string;
  readonly rev: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly metadata: JsonObject;
  /** `metadata.status` when it is text. */
  readonly status?: string;
}

export interface FeedOptions {
  /** The cursor of the last item you have dealt with; without it the feed starts at the beginning. */
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface FeedItem {
  readonly threadId: string;
  readonly entry: Entry;
  readonly cursor: string;
}

export interface WatchOptions {
  readonly fromSeq: number;
  readonly signal?: AbortSignal | undefined;
}

export interface ForkOptions {
  /** The last entry that the fork has; -1 for a fork without entries. */
  readonly atSeq: number;
  readonly newId?: string | undefined;
  readonly metadata?: JsonObject | undefined;
}

export interface ClaimOptions {
  readonly holder: string;
  readonly ttlMs: number;
}

export interface ClaimResult {
  readonly epoch: number;
  readonly until: number;
}

export interface VerifyOptions {
  /** Told now and then how many entries have been found good, for a bar that moves; from 0 again where it begins anew. */
  readonly onProgress?: ((entries: number) => void) | undefined;
}

export interface VerifyReport {
  readonly threadId: string;
  readonly ok: boolean;
  /** How many entries are good, counted from the first. */
  readonly entries: number;
  /** The hash of the last good entry: write it down elsewhere, and nobody can change the past unseen. */
  readonly hash: string;
  /** The first trouble, when there is one; seq -1 when it is not in an entry. */
  readonly bad?: { readonly seq: number; readonly reason: string };
}
