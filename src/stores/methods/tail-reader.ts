import { HeddleError } from "../../thread/errors.ts";
import type { StoreDriver, ThreadChanges } from "../driver.ts";

/** How often the reader looks when the driver announces commits, because an announcement can be lost. */
const LOOK_MS = 5000;

/** The thread, inbox or outcome that a subscription follows. */
interface Followed {
  /** The thread; undefined for all threads. */
  readonly threadId?: string | undefined;
  /**
   * Whether it waits for the outcome of a command. `changedThreads` does not report outcomes, so the subscription
   * checks at every interval.
   */
  readonly isForOutcome?: boolean;
  /** Whether it follows the inbox of the thread, and not its entries. */
  readonly isForInbox?: boolean;
}

/** One watcher, feed, inbox or wait for an outcome. It remembers a change that comes between its read and its wait. */
export class Subscription {
  readonly followed: Followed;
  #isMarked = false;
  #wake: (() => void) | undefined;

  constructor(followed: Followed) {
    this.followed = followed;
  }

  /** Forgets earlier changes. Call it before each read. */
  clear(): void {
    this.#isMarked = false;
  }

  /** Reports that there may be news. */
  mark(): void {
    this.#isMarked = true;
    this.#wake?.();
  }

  /** Resolves at the first change since `clear`, or when the signal aborts. */
  async changed(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isMarked || signal?.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    this.#wake = wake;
    signal?.addEventListener("abort", wake);
    await promise;
    signal?.removeEventListener("abort", wake);
    this.#wake = undefined;
  }
}

/**
 * Wakes all watchers, feeds and waits for outcomes of a store. It asks the driver which threads have changed since its
 * position, and marks the subscriptions of these threads, so that they read again. It looks only while a subscription waits.
 *
 * No watcher misses a row: it subscribes before it reads, and a row that it cannot read yet lies after the position of the
 * last look.
 */
export class TailReader {
  readonly #driver: StoreDriver;
  readonly #pollMs: number;
  readonly #watchers = new Map<string, Set<Subscription>>();
  readonly #inboxes = new Map<string, Set<Subscription>>();
  readonly #feeds = new Set<Subscription>();
  readonly #outcomes = new Set<Subscription>();
  #position: string | undefined;
  #last: Pick<ThreadChanges, "isAnnounced" | "isFeedBehind"> = {};
  /** Whether the next look that succeeds marks all: rows may have been missed. */
  #isLost = true;
  #isLooking = false;
  /** Whether to look without waiting for the timer. */
  #isWanted = true;
  #waiting = 0;
  #stopListening: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(driver: StoreDriver, pollMs: number) {
    this.#driver = driver;
    this.#pollMs = pollMs;
  }

  subscribe(followed: Followed): Subscription {
    if (this.#isUnused) this.#stopListening = this.#driver.onChange?.((...changed) => this.announce(...changed));
    const subscription = new Subscription(followed);
    const { threadId, isForOutcome = false } = followed;
    const sameThread = this.#subscriptions(followed);
    sameThread.add(subscription);
    if (isForOutcome) this.#outcomes.add(subscription);
    if (threadId !== undefined) this.#byThread(followed).set(threadId, sameThread);
    else this.#isWanted = true; // without a feed the reader does not follow up rows that `changes` withholds
    return subscription;
  }

  unsubscribe(subscription: Subscription): void {
    const { followed } = subscription;
    const sameThread = this.#subscriptions(followed);
    sameThread.delete(subscription);
    this.#outcomes.delete(subscription);
    const { threadId } = followed;
    if (threadId !== undefined && sameThread.size === 0) this.#byThread(followed).delete(threadId);
    if (!this.#isUnused) return;
    this.#stopListening?.(); // so that a store without watchers can be dropped without `close`
    this.#position = undefined; // the next look need not read all that was written meanwhile
    this.#isLost = true;
    this.#isWanted = true;
  }

  /** Waits until the subscription is marked or the signal aborts. */
  async wait(subscription: Subscription, signal: AbortSignal | undefined): Promise<void> {
    this.#waiting++;
    this.#plan();
    await subscription.changed(signal);
    this.#waiting--;
    if (this.#waiting === 0) this.#cancelTimer();
  }

  /**
   * Marks the subscriptions of these threads, which have changed. `postedIds`: those with new commands; without them, all of the
   * threads may have some. Without ids, looks which threads have changed.
   */
  announce(threadIds?: readonly string[], postedIds = threadIds): void {
    if (threadIds !== undefined) this.#mark(threadIds);
    if (postedIds !== undefined) this.#markInboxes(postedIds);
    const canFeedLag = this.#last.isFeedBehind !== undefined || this.#isLooking;
    if (threadIds === undefined || (canFeedLag && this.#feeds.size > 0)) this.#isWanted = true;
    if (this.#isWanted) this.#plan();
  }

  /** Reports that a subscription could not read. It is marked when the next look succeeds. */
  fail(): void {
    this.#isLost = true;
    this.#cancelTimer();
    this.#plan();
  }

  /** Marks all subscriptions, so that they see that the store has closed. */
  close(): void {
    this.#cancelTimer();
    this.#markAll();
    this.#stopListening?.(); // a reader that was left in the middle never unsubscribes
  }

  get #isUnused(): boolean {
    return this.#watchers.size === 0 && this.#feeds.size === 0 && this.#inboxes.size === 0;
  }

  #byThread({ isForInbox = false }: Followed): Map<string, Set<Subscription>> {
    return isForInbox ? this.#inboxes : this.#watchers;
  }

  #subscriptions(followed: Followed): Set<Subscription> {
    const { threadId } = followed;
    return threadId === undefined ? this.#feeds : (this.#byThread(followed).get(threadId) ?? new Set());
  }

  #mark(threadIds: readonly string[]): void {
    for (const id of threadIds) for (const watcher of this.#watchers.get(id) ?? []) watcher.mark();
    if (threadIds.length > 0) for (const feed of this.#feeds) feed.mark();
  }

  #markInboxes(threadIds: readonly string[]): void {
    for (const id of threadIds) for (const inbox of this.#inboxes.get(id) ?? []) inbox.mark();
  }

  #markAll(): void {
    this.#mark([...this.#watchers.keys()]);
    this.#markInboxes([...this.#inboxes.keys()]);
    for (const feed of this.#feeds) feed.mark();
  }

  /** Looks now or sets the timer of the next look, if a subscription waits. */
  #plan(): void {
    if (this.#waiting === 0 || this.#isLooking) return;
    if (this.#isWanted) void this.#look();
    else this.#timer ??= setTimeout(() => void this.#look(), this.#delay());
  }

  #delay(): number {
    if (this.#isLost) return Math.min(this.#pollMs, LOOK_MS);
    const { isAnnounced = false, isFeedBehind = false } = this.#last;
    const isQuiet = isAnnounced && !(isFeedBehind && this.#feeds.size > 0);
    return isQuiet ? Math.max(this.#pollMs, LOOK_MS) : this.#pollMs;
  }

  async #look(): Promise<void> {
    this.#cancelTimer();
    this.#isLooking = true;
    this.#isWanted = false;
    const isComplete = !this.#isLost && this.#position !== undefined;
    this.#isLost = false;
    try {
      this.#take(await this.#driver.changedThreads?.(this.#position, [...this.#inboxes.keys()]), isComplete);
    } catch (error) {
      this.#position = undefined; // after a failover, positions of the lost server mean nothing
      this.#isLost = true;
      if (!HeddleError.isInstance(error) || !error.retryable) this.#markAll(); // their own reads report it
    }
    this.#isLooking = false;
    this.#plan();
  }

  /** A driver without `changedThreads` gives no changes: then all subscriptions read. */
  #take(changes: ThreadChanges | undefined, isComplete: boolean): void {
    if (changes === undefined || !isComplete) this.#markAll();
    else {
      this.#mark(changes.threadIds);
      this.#markInboxes(changes.postedIds ?? [...this.#inboxes.keys()]);
    }
    for (const outcome of this.#outcomes) outcome.mark();
    if (this.#last.isFeedBehind) for (const feed of this.#feeds) feed.mark();
    this.#position = changes?.position;
    this.#last = changes ?? {};
  }

  #cancelTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
