import type { Entry, EntryInput, Refs } from "../thread/entry.ts";
import type { JsonObject, JsonValue } from "../thread/json.ts";
import type { Thread } from "../thread/thread.ts";
import type { Bus } from "./bus.ts";
import type {
  Command,
  CommandInput,
  CommandOutcome,
  CommandResult,
  ConsumedCommand,
  PostedCommand,
  PostOptions,
} from "./command.ts";
import type { CallOptions, LeaseKey, Leases } from "./lease.ts";
import type { Runnable } from "./runnable.ts";
import type { ModelPrice, UsageDay } from "./usage-day.ts";
import type { WaitingCallInput, WaitingPage } from "./waiting-call.ts";

export type { CallOptions, LeaseKey };

/**
 * Stores threads. A store is opened for one tenant and has no access to other tenants. Every adapter keeps every promise
 * below; the contract suite in `heddle/testing` tests them.
 */
export interface ThreadStore {
  /**
   * Appends a batch atomically. The batch is durable when the promise resolves. Creates the thread when it is missing,
   * unless `create` is false. A retry is safe when the entries carry ids: a batch that is already stored is not written
   * again. The result then has `replayed: true`, whatever `expectedRev` says.
   *
   * @example
   * const { rev } = await store.append("thread_1", { kind: "message", payload: { role: "user", content: "hi" } });
   * await store.append("thread_1", { kind: "note" }, { expectedRev: rev });
   */
  append(threadId: string, entries: EntryInput | readonly EntryInput[], options?: AppendOptions): Promise<AppendResult>;

  /** Loads the thread, or its last entries. Undefined when the thread does not exist. */
  load(threadId: string, options?: LoadOptions): Promise<Thread | undefined>;

  /** Iterates over entries, oldest first unless `reverse`. Reads them in pages. */
  read(threadId: string, options?: ReadOptions): AsyncIterable<Entry>;

  /**
   * Writes the entries of this thread that the store does not have yet. Writes nothing when the two histories differ. A new
   * thread keeps its `createdAt`. One with an open request is `runnable`, as `metadata.status` says.
   */
  save(thread: Thread, options?: CallOptions): Promise<void>;

  /** A page of threads, by default the latest change first. */
  list(options?: ListOptions): Promise<ThreadPage>;

  /**
   * All entries, forks and deletions of all threads in commit order. Then waits for new ones and yields them as they are
   * committed.
   */
  feed(options?: FeedOptions): AsyncIterable<FeedItem>;

  /**
   * Removes a thread and the data that only this thread refers to. Entries that forks share are kept until the last such fork
   * is deleted; the result names these forks. Resolves to false when the thread does not exist. Blobs are removed by a later
   * call, when no thread has used them for `keepBlobsMs`.
   *
   * @example
   * const deletion = await store.delete("thread_1");
   * if (deletion && deletion.keptFor.length > 0) await store.delete("thread_1_fork");
   */
  delete(threadId: string, options?: DeleteOptions): Promise<Deletion | false>;

  /** The entries from `fromSeq` on, then new entries as they are committed. Ends when `signal` aborts or the store closes. */
  watch(threadId: string, options: WatchOptions): AsyncIterable<Entry>;

  /** The JSON value stored under this key; undefined when there is none. */
  getCheckpoint(key: string, options?: CallOptions): Promise<JsonValue | undefined>;
  /** Stores a JSON value under this key and replaces an earlier one. */
  putCheckpoint(key: string, value: JsonValue, options?: CallOptions): Promise<void>;
  /** Resolves to false when there is no checkpoint with this key. */
  deleteCheckpoint(key: string, options?: CallOptions): Promise<boolean>;

  /**
   * Gives the thread another owner, without an entry. To set the first owner and to check it, pass `owner` to `append`.
   *
   * @example
   * const { owner } = await store.setOwner("thread_1", "ada");
   */
  setOwner(threadId: string, owner: string, options?: CallOptions): Promise<ThreadInfo>;

  /**
   * Asks and tokens by day and model, oldest day first, from sums that each append keeps: no entry is read. Days are UTC days
   * of the store's clock. After `setOwner`, earlier sums stay with the earlier owner. Throws `store_unsupported` when the
   * driver keeps no sums.
   *
   * @example
   * const [today] = await store.usage({ owner: "ada", since: Date.now() });
   * if ((today?.asks ?? 0) >= 100) throw new Error("100 requests a day");
   */
  usage(options?: UsageOptions): Promise<readonly UsageDay[]>;

  /**
   * Creates a new thread with the history of this one up to `atSeq`. It costs the same for any length, because both share the
   * same rows.
   */
  fork(threadId: string, options: ForkOptions): Promise<ThreadInfo>;

  /**
   * Makes `holder` the only holder of the thread for `ttlMs`, or while its lease lasts, by the store's clock. Each claim has a
   * higher epoch than the one before. An append with an older epoch is refused. A new claim by the same holder ends the earlier
   * one, and the lease of that one if it is another: a process with this name was restarted. The thread need not exist yet.
   */
  claim(threadId: string, options: ClaimOptions): Promise<ClaimResult>;
  /**
   * Extends the claim by `ttlMs` from now. Works on an expired claim too, unless it was released or another one was made. A
   * claim with a lease is only checked: renew the lease.
   */
  renew(threadId: string, epoch: number, options?: CallOptions): Promise<ClaimResult>;
  /** Ends the claim, so that another holder can claim the thread at once. */
  release(threadId: string, epoch: number, options?: CallOptions): Promise<void>;
  /**
   * The leases of the database, for all tenants: a process renews one of them instead of each claim. Undefined when the driver
   * keeps none; then claims need `ttlMs`.
   */
  readonly leases: Leases | undefined;
  /** The threads that have something to do and no living holder. Undefined when the driver does not give them out. */
  readonly runnable: Runnable | undefined;
  /** The largest row of the database, in bytes: a larger entry or blob is `too_large`. Undefined when there is no limit. */
  readonly maxRowBytes: number | undefined;
  /** Short messages between the processes that use this tenant. Undefined when the driver carries none. */
  readonly bus: Bus | undefined;

  /**
   * Puts a command into the inbox of the thread, which need not exist yet. It is durable when the promise resolves. A retry
   * with the same id and content is a replay and has the outcome, if there is one; other content is `command_id_reused`.
   * After the outcome was purged, the log answers: a thread with the entry `<id>/0` has handled the command.
   */
  post(threadId: string, command: CommandInput, options?: PostOptions): Promise<CommandResult>;
  /** The commands that wait in the inbox, in the order in which they were posted. */
  pending(threadId: string, options?: CallOptions): Promise<readonly Command[]>;
  /** Replaces the body of a pending command. A command that has an outcome is refused as `command_settled`. */
  amend(threadId: string, id: string, body: JsonObject, options?: CallOptions): Promise<CommandResult>;
  /** Ends a pending command with the outcome `withdrawn`. With another outcome it is `command_settled`. */
  withdraw(threadId: string, id: string, options?: CallOptions): Promise<CommandResult>;
  /** Waits until the command has an outcome, in whatever process it is written. */
  outcome(threadId: string, id: string, options?: CallOptions): Promise<CommandOutcome>;
  /**
   * Calls `wake` when commands of the thread may have been posted, amended or withdrawn by any process: read `pending` again.
   * Returns the function that ends it. Reads nothing itself.
   *
   * @example
   * const end = store.onPosted("thread_1", () => console.log("There may be commands."));
   * end();
   */
  onPosted(threadId: string, wake: () => void): () => void;

  /**
   * A page of the tool calls of all threads that wait for people or other processes, as their holders named them in `append`.
   * The longest wait comes first. Reads no entries and needs no claims.
   */
  waiting(options?: WaitingOptions): Promise<WaitingPage>;

  /**
   * Stores JSON or bytes under the hash of their content. Resolves to the hash. Without `threadId` the blob is kept forever.
   */
  putBlob(content: JsonValue | Uint8Array, options?: PutBlobOptions): Promise<string>;
  /** The content with this hash; undefined when there is none. */
  getBlob(hash: string, options?: CallOptions): Promise<JsonValue | Uint8Array | undefined>;

  /** Reads the whole thread from the database, checks every hash and link, and reports the first bad entry. */
  verify(threadId: string, options?: VerifyOptions): Promise<VerifyReport>;

  /** Waits for pending appends, ends watchers, and closes the file or the connections. Safe to call twice. */
  close(): Promise<void>;
}

/** The thread that uses a blob. */
export interface PutBlobOptions extends CallOptions {
  /** The blob is removed some time after this thread and all others that use it. Default: none, and the blob is kept. */
  readonly threadId?: string | undefined;
}

/** Conditions that an append must meet, and the metadata of the thread. */
export interface AppendOptions extends CallOptions {
  /** Refuse the append unless the thread is at this revision; 0 means empty or missing. Default: not checked. */
  readonly expectedRev?: number | undefined;
  /** The epoch from `claim`. Refuse the append if the thread was claimed again since. Default: not checked. */
  readonly epoch?: number | undefined;
  /**
   * Merged into the thread's metadata in the same transaction. Without entries, `rev`, entries and feed stay as they are.
   * Default: none.
   */
  readonly metadata?: JsonObject | undefined;
  /**
   * The name of the user or customer that the thread belongs to. It is set when the thread has no owner. With another one the
   * append is refused as `owner_mismatch`. Default: not checked, and a new thread has no owner.
   */
  readonly owner?: string | undefined;
  /** Whether to create a missing thread; default true. */
  readonly create?: boolean | undefined;
  /**
   * Pending commands of this thread that the append answers, each with its outcome, in the same transaction. An append without
   * entries leaves the thread and its `updatedAt` as they were, and is fenced by `epoch`. The same call again is a replay. A
   * command with another outcome is `command_settled`. Give the entries ids made of the command's: `<id>/0`, `<id>/1`. Default:
   * none.
   */
  readonly consumes?: readonly ConsumedCommand[] | undefined;
  /** Commands to post to other threads, or to this one, in the same transaction. Default: none. */
  readonly posts?: readonly PostedCommand[] | undefined;
  /**
   * When the thread has something to do again, for `runnable.take`; null when it waits for commands only. Pass your `epoch`. A
   * pending command that `waitsFor` does not name makes the thread due at once. Written also without entries, but not by an
   * append that is a replay. Default: as it was.
   */
  readonly next?: NextRun | null | undefined;
  /**
   * All calls of this thread that wait for a person or another process, for `waiting`; they replace the earlier ones. Pass your
   * `epoch`. Written also without entries, but not by an append that is a replay. Default: as they were.
   */
  readonly waiting?: readonly WaitingCallInput[] | undefined;
}

/** Options of `waiting`: a filter and the page. */
export interface WaitingOptions extends CallOptions {
  /** Only calls of this kind. Default: all. */
  readonly kind?: string | undefined;
  /** 1 to 1,000, default 50. */
  readonly limit?: number | undefined;
  /** The cursor of the previous page. Default: the first page. */
  readonly cursor?: string | undefined;
}

/** When a thread has something to do again. */
export interface NextRun {
  /** The name of the agent that runs it. Default: the name that the store knows. */
  readonly agent?: string | undefined;
  /** How long from now, by the store's clock, in milliseconds. Default 0: as soon as no claim holds the thread. */
  readonly dueInMs?: number | undefined;
  /** A thread with a greater one is taken first. Default: as it was, at first 0. */
  readonly priority?: number | undefined;
  /**
   * Pending commands that do not make the thread due earlier, as `pending` returned them. One that was amended since makes it
   * due. Default: none.
   */
  readonly waitsFor?: readonly { readonly id: string; readonly revision: number }[] | undefined;
}

/** The result of `append`. */
export interface AppendResult {
  /** The revision directly after these entries, also for a replay: later entries by other writers are not counted. */
  readonly rev: number;
  readonly entries: readonly Entry[];
  /** Whether the entries were already stored. */
  readonly replayed: boolean;
}

/** Which part of a thread to load. */
export interface LoadOptions extends CallOptions {
  /** Load only this many entries, counted from the end. Default: all. */
  readonly last?: number | undefined;
  /** Load fewer entries of the end if they have more characters than this: at least one, at most 499. Default: no limit. */
  readonly maxChars?: number | undefined;
  /** Load the thread as it was when this was its last entry. Default: the latest entry. */
  readonly upToSeq?: number | undefined;
  /**
   * The lanes of a tail whose earlier state is loaded too, or "all". Default: none but the active lane and those that entries
   * of the tail use. Asking a tail for another lane throws `lane_not_loaded`.
   */
  readonly lanes?: readonly string[] | "all" | undefined;
}

/** Options of `read`: a range of entries, filters and the direction. */
export interface ReadOptions extends CallOptions {
  /** The first seq, inclusive. Default 0. */
  readonly fromSeq?: number | undefined;
  /** The last seq, inclusive. Default: the last entry. */
  readonly toSeq?: number | undefined;
  /** Only entries of these kinds. Default: all. */
  readonly kinds?: readonly string[] | undefined;
  /** Only entries whose payload, as JSON, contains this text; the case of A to Z is ignored. Default: all. */
  readonly search?: string | undefined;
  /**
   * Only entries with all of these refs. `requestId` is read from an index; other refs are looked up in its entries. Default:
   * all.
   */
  readonly refs?: Refs | undefined;
  /** Newest first. Default false. */
  readonly reverse?: boolean | undefined;
  /** The largest number of entries. Default: no limit. */
  readonly limit?: number | undefined;
}

/** The order of a list of threads: by last change, by creation, or by id. */
export type ListOrder = "updated" | "created" | "id";

/** Options of `list`: filters, the order and the page. */
export interface ListOptions extends CallOptions {
  /** Only ids that begin with this. Default: all. */
  readonly prefix?: string | undefined;
  /** `updated` and `created` newest first, `id` ascending; default `updated`. */
  readonly order?: ListOrder | undefined;
  /** The reverse of the order: `updated` and `created` oldest first, `id` descending. Default false. */
  readonly reverse?: boolean | undefined;
  /** Only threads whose `metadata.status` is this. Default: all. */
  readonly status?: string | undefined;
  /** Only threads of this owner, from an index. Default: all. */
  readonly owner?: string | undefined;
  /**
   * Only threads whose metadata has all of these values, from an index: texts of up to 798 bytes, numbers and booleans
   * directly in the metadata. Default: all.
   */
  readonly metadata?: { readonly [name: string]: string | number | boolean } | undefined;
  /** Only forks of this thread: `metadata.parentThreadId`. Default: all. */
  readonly forkOf?: string | undefined;
  /** Only threads that this one started: `metadata.parent`, which `agentTool` sets. `null`: only those without. Default: all. */
  readonly parent?: string | null | undefined;
  /** Only threads with this `updatedAt` or a later one. Default: all. */
  readonly updatedSince?: number | undefined;
  /** Only threads with an earlier `updatedAt`. Default: all. */
  readonly updatedBefore?: number | undefined;
  /** Only threads with this `createdAt` or a later one. Default: all. */
  readonly createdSince?: number | undefined;
  /** Only threads with an earlier `createdAt`. Default: all. */
  readonly createdBefore?: number | undefined;
  /** Only threads with this text in the id, or in the JSON of the metadata or a payload; the case of A to Z is ignored. Default: all. */
  readonly search?: string | undefined;
  /** 1 to 1,000, default 50. */
  readonly limit?: number | undefined;
  /** The cursor of the previous page. Default: the first page. */
  readonly cursor?: string | undefined;
}

/** One page of `list`. */
export interface ThreadPage {
  readonly threads: readonly ThreadInfo[];
  /** Pass it to `list` for the next page. Absent on the last page. */
  readonly cursor?: string;
}

/** A thread without its entries, as `list` and `fork` return it. */
export interface ThreadInfo {
  readonly id: string;
  readonly rev: number;
  /** When the thread was created, by the store's clock. A saved thread keeps the time that it was created at elsewhere. */
  readonly createdAt: number;
  /** When this store last changed the thread, by its clock. It goes back when that clock is set back. */
  readonly updatedAt: number;
  readonly metadata: JsonObject;
  /** `metadata.title`, else `metadata.generatedTitle`: the first of them that is text. */
  readonly title?: string;
  /**
   * The first words of the first user message, at most 80 characters on one line. Absent when there is no such message, and
   * when version 0.1 wrote the first entries of the thread.
   */
  readonly firstWords?: string;
  /**
   * Absent when version 0.1 wrote the first entries of the thread, and in a fork whose last shared entry is far before the end
   * of its parent.
   */
  readonly counts?: ThreadCounts;
  /** `metadata.status` if it is text. */
  readonly status?: string;
  /** Absent when the thread has no owner. */
  readonly owner?: string;
}

/** How many messages the entries of a thread have. `rev` is the number of all entries. */
export type ThreadCounts = {
  /** Messages of the user, without those that steer a running request. */
  readonly asks: number;
  /** Messages of the model. A request with tools may have many. */
  readonly answers: number;
};

/** Where a feed starts, and the signal that ends it. */
export interface FeedOptions {
  /** The cursor of the last item that you processed. Default: the feed starts at the first entry. */
  readonly after?: string | undefined;
  /** Ends the feed when it aborts. Default: the feed ends when the store closes. */
  readonly signal?: AbortSignal | undefined;
}

/** A change of any thread, and its position in the feed. Ignore an item with another `type`: later versions may have more. */
export type FeedItem = FeedEntry | FeedFork | FeedDeletion;

/** The item of an entry that was appended to a thread. */
export interface FeedEntry {
  readonly type: "entry";
  readonly threadId: string;
  readonly entry: Entry;
  /** Pass it as `after` to continue behind this item. */
  readonly cursor: string;
}

/** A new fork. Its entries up to `forkSeq` are those of the thread `from`; the feed does not repeat them. */
export interface FeedFork {
  readonly type: "forked";
  /** The id of the fork. */
  readonly threadId: string;
  readonly from: string;
  /** The seq of the last shared entry; -1 when there is none. */
  readonly forkSeq: number;
  readonly cursor: string;
  readonly entry?: undefined;
}

/** The deletion of a thread. A feed from the start has no other item of this thread, unless it was created again. */
export interface FeedDeletion {
  readonly type: "deleted";
  readonly threadId: string;
  readonly cursor: string;
  readonly entry?: undefined;
}

/** Where a watch starts, and the signal that ends it. */
export interface WatchOptions {
  /** The seq of the first entry to yield. */
  readonly fromSeq: number;
  /** Ends the watch when it aborts. Default: the watch ends when the store closes. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `delete`. */
export interface DeleteOptions extends CallOptions {
  /** "keep": forks stay whole. "delete": those that `list({ forkOf })` names, and theirs, are deleted too. Default "keep". */
  readonly forks?: "keep" | "delete" | undefined;
  /** Refuse with `conflict` unless the thread is at this revision and no command waits. Not with `forks`. Default: not checked. */
  readonly expectedRev?: number | undefined;
}

/** The result of `delete`. */
export interface Deletion {
  /** The ids of the deleted threads: the thread, then its forks if they were to be deleted. */
  readonly deleted: readonly string[];
  /** The ids of the forks for which entries of the thread are kept. Empty when nothing is kept. */
  readonly keptFor: readonly string[];
}

/** The last shared entry of a fork, and the id and metadata of the fork. */
export interface ForkOptions extends CallOptions {
  /** The seq of the last entry in the fork; -1 for a fork without entries. */
  readonly atSeq: number;
  /** The id of the fork. A second fork of the same entry with this id is the first one, so a retry is safe. Default: a generated id. */
  readonly newId?: string | undefined;
  /** Merged over the metadata that the fork inherits. Default: none. */
  readonly metadata?: JsonObject | undefined;
  /** Must be the owner of the thread, which the fork inherits, else it is `owner_mismatch`. Default: not checked. */
  readonly owner?: string | undefined;
}

/** The holder of a claim, and how long the claim lasts: `ttlMs` or `lease`, one of them. */
export interface ClaimOptions extends CallOptions {
  /** The name of the process or worker that runs the thread. */
  readonly holder: string;
  /** How long the claim lasts unless it is renewed, in milliseconds. Default: as long as `lease`. */
  readonly ttlMs?: number | undefined;
  /**
   * The lease of this node, from `leases.start` of the database: the claim lasts as long as the lease and needs no renewal of
   * its own. Throws `lease_ended` when the lease is over. Default: the claim lasts for `ttlMs`.
   */
  readonly lease?: LeaseKey | undefined;
}

/** Which usage to add up, and what tokens cost. */
export interface UsageOptions extends CallOptions {
  /** Only usage that was counted for this owner. Default: all, also of threads without an owner. */
  readonly owner?: string | undefined;
  /** Only usage of this thread. Default: all, also of deleted threads. */
  readonly threadId?: string | undefined;
  /** A time in the first day, in milliseconds since 1970. Default: all days. */
  readonly since?: number | undefined;
  /** A time in the last day, which is included. Default: all days. */
  readonly until?: number | undefined;
  /** Prices by model name, for `cost`. Default: none. */
  readonly prices?: { readonly [model: string]: ModelPrice } | undefined;
}

/** The claim that `claim` made or `renew` extended. */
export interface ClaimResult {
  /** Pass it to `append`, `renew` and `release`. */
  readonly epoch: number;
  /** When the claim ends unless it is renewed, in milliseconds since 1970, by the store's clock. */
  readonly until: number;
}

/** How `verify` reports its progress. */
export interface VerifyOptions extends CallOptions {
  /** Called every 1,000 entries with the number of good entries. Goes back to 0 when the check is repeated. Default: none. */
  readonly onProgress?: ((entries: number) => void) | undefined;
}

/** The result of `verify`. */
export interface VerifyReport {
  readonly threadId: string;
  readonly ok: boolean;
  /** The number of good entries, counted from the first. */
  readonly entries: number;
  /** The hash of the last good entry. Keep a copy outside the store to detect any later change of the history. */
  readonly hash: string;
  /** The first problem that was found. `seq` is -1 when the problem is not in an entry. */
  readonly bad?: { readonly seq: number; readonly reason: string };
}
