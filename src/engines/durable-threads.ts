import { systemWarn } from "../runtime/callbacks.ts";
import { type AdvancingHost, advanceThread, type Scheduler } from "../runtime/host/advance.ts";
import type { ThreadStore } from "../stores/port.ts";
import { type DurableStorage, durableObjectStore } from "../stores/sqlite/durable-object-store.ts";
import { HeddleError } from "../thread/errors.ts";

/** The part of a Durable Object's `ctx` that its threads use. */
export interface DurableContext {
  readonly id: { toString(): string };
  readonly storage: DurableStorage & { setAlarm(at: number): Promise<void> };
}

/** Options for the host of a Durable Object. */
export interface DurableHostOptions {
  readonly store: ThreadStore;
  readonly scheduler: Scheduler;
  /** The id of the object: after a restart it takes its threads over at once. */
  readonly holder: string;
}

/** The host of a Durable Object, and what its `alarm` has to do. */
export interface DurableThreads<Host> {
  readonly host: Host;
  readonly store: ThreadStore;
  /** Wakes a thread whose commands were posted to the store. */
  readonly wake: (threadId: string, at?: number) => Promise<void>;
  /** Call it from `alarm` of the object. */
  readonly alarm: () => Promise<void>;
}

/** How long one alarm works. */
const SLICE_MS = 5_000;
/** An alarm takes no more threads after this time: alarms of many minutes are ended. */
const ALARM_MS = 60_000;
/** A thread counts as due again after this time: the object may die in the alarm. */
const AGAIN_MS = 2 * SLICE_MS;
/** After an error that another attempt may not meet. */
const RETRY_MS = 1_000;

/**
 * Threads that live in a Durable Object: its SQLite database is their store, its alarm wakes them. An object that is evicted or
 * dies in the middle of a request continues it.
 *
 * @example
 * const agent = defineAgent({ model: scriptedModel(["4"]) });
 *
 * class Thread {
 *   readonly threads;
 *   constructor(ctx: DurableContext) {
 *     this.threads = durableThreads(ctx, (options) => AgentHost.create({ ...options, agent }));
 *   }
 *   fetch(request: Request) {
 *     return chatHandler({ host: this.threads.host, authorize: () => ({ owner: "ada" }) })(request);
 *   }
 *   alarm() {
 *     return this.threads.alarm();
 *   }
 * }
 */
export function durableThreads<Host extends AdvancingHost>(
  { id, storage }: DurableContext,
  makeHost: (options: DurableHostOptions) => Host,
): DurableThreads<Host> {
  const { sql } = storage;
  sql.exec("CREATE TABLE IF NOT EXISTS heddle_wakes (thread TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT");

  /** An alarm that works takes threads that are woken meanwhile: the next alarm would wait for its end. */
  const woken = new EventTarget();

  /** The object has one alarm: for the thread that is due first. */
  const setAlarm = async (): Promise<void> => {
    for (const [at] of sql.exec("SELECT min(at) FROM heddle_wakes").raw())
      if (at !== null) await storage.setAlarm(Number(at));
  };
  const wake = async (threadId: string, at = Date.now()): Promise<void> => {
    const earliest = "ON CONFLICT (thread) DO UPDATE SET at = min(at, excluded.at)";
    sql.exec(`INSERT INTO heddle_wakes VALUES (?, ?) ${earliest}`, threadId, Math.ceil(at));
    woken.dispatchEvent(new Event("wake"));
    await setAlarm();
  };
  const store = durableObjectStore(storage);
  const host = makeHost({ store, scheduler: { wake }, holder: id.toString() });

  const nextTime = async (threadId: string): Promise<number | undefined> => {
    try {
      return await advanceThread(host, threadId, SLICE_MS);
    } catch (error) {
      if (!HeddleError.isInstance(error) || error.retryable) return Date.now() + RETRY_MS;
      systemWarn(`Thread ${threadId} cannot continue: ${error.message}`);
      return undefined;
    }
  };
  const advance = async (threadId: string, again: number): Promise<void> => {
    const next = await nextTime(threadId);
    const isUnchanged = "WHERE thread = ? AND at = ?"; // a thread that was woken meanwhile has an earlier time
    if (next === undefined) sql.exec(`DELETE FROM heddle_wakes ${isUnchanged}`, threadId, again);
    else sql.exec(`UPDATE heddle_wakes SET at = ? ${isUnchanged}`, Math.ceil(next), threadId, again);
  };
  const advanceDue = async (): Promise<void> => {
    const now = Date.now();
    const again = now + AGAIN_MS;
    const due = Array.from(sql.exec("SELECT thread FROM heddle_wakes WHERE at <= ?", now).raw(), ([thread]) =>
      String(thread),
    );
    sql.exec("UPDATE heddle_wakes SET at = ? WHERE at <= ?", again, now);
    await setAlarm();
    await Promise.all(due.map((threadId) => advance(threadId, again)));
  };
  const alarm = async (): Promise<void> => {
    const until = Date.now() + ALARM_MS;
    const working = [advanceDue()];
    const more = (): void => void (Date.now() < until && working.push(advanceDue()));
    woken.addEventListener("wake", more);
    try {
      for (const work of working) await work; // also those that are added meanwhile
    } finally {
      woken.removeEventListener("wake", more);
    }
    await setAlarm();
  };
  return { host, store, wake, alarm };
}
