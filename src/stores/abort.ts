import type { StoreDriver } from "./driver.ts";
import { StoreError } from "./errors.ts";
import { invalidOption } from "./options.ts";

/** Each method must be listed, also optional ones, so that a new one cannot miss its signal. */
type EveryMethod = { readonly [Name in keyof Required<StoreDriver>]: StoreDriver[Name] };

/**
 * The driver for one call with a signal. When the signal aborts, the call rejects with `store_aborted`, whatever the driver
 * does; and no further method is called. A driver may use the signal to stop its work. Calls `landed` when entries of a
 * thread were written after the signal had aborted.
 */
export function abortableDriver(
  driver: StoreDriver,
  signal: AbortSignal,
  landed: (threadId: string) => void,
): StoreDriver {
  const perform = async <Result>(call: () => Promise<Result>, consequence: string): Promise<Result> => {
    checkSignal(signal);
    return untilAborted(signal, call(), () => callAborted(signal, consequence));
  };
  const read = <Result>(call: () => Promise<Result>): Promise<Result> => perform(call, "");
  const write = <Result>(call: () => Promise<Result>): Promise<Result> => perform(call, MAY_BE_STORED);
  const writeTo = <Result>(threadId: string, call: () => Promise<Result>): Promise<Result> =>
    write(async () => {
      const result = await call();
      if (signal.aborted) landed(threadId);
      return result;
    });
  const { counter, take, list, fields, usage, inspect, waiting, changedThreads, blobs, purgeBlobs, removeIf } = driver;
  const methods: EveryMethod = {
    scheduling: driver.scheduling,
    maxRowBytes: driver.maxRowBytes,
    bus: driver.bus,
    lease:
      driver.lease && ((node, decide) => write(() => (driver as Required<StoreDriver>).lease(node, decide, signal))), // it has one
    counter:
      counter && ((name, decide) => write(() => (driver as Required<StoreDriver>).counter(name, decide, signal))), // it has one
    take: take && ((query) => write(() => take.call(driver, query, signal))),
    transact: (id, wanted, decide, inboxes) => writeTo(id, () => driver.transact(id, wanted, decide, inboxes, signal)),
    pending: (id, after, limit) => read(() => driver.pending(id, after, limit, signal)),
    commands: (keys) => read(() => driver.commands(keys, signal)),
    head: (id) => read(() => driver.head(id, signal)),
    lanes: (id, names) => read(() => driver.lanes(id, names, signal)),
    rows: (id, range) => read(() => driver.rows(id, range, signal)),
    changes: (after, limit) => read(() => driver.changes(after, limit, signal)),
    feedEpoch: () => read(() => driver.feedEpoch(signal)),
    heads: (afterId, limit) => read(() => driver.heads(afterId, limit, signal)),
    fork: (from, to, atSeq, fork) => writeTo(to, () => driver.fork(from, to, atSeq, fork, signal)),
    forks: (id) => read(() => driver.forks(id, signal)),
    remove: (id) => write(() => driver.remove(id, signal)),
    removeIf: removeIf && ((id, check) => write(() => removeIf.call(driver, id, check, signal))),
    getRecord: (space, key) => read(() => driver.getRecord(space, key, signal)),
    putRecord: (space, key, value) => write(() => driver.putRecord(space, key, value, signal)),
    deleteRecord: (space, key) => write(() => driver.deleteRecord(space, key, signal)),
    blobs: blobs && ((hashes) => read(() => blobs.call(driver, hashes, signal))), // a driver in JavaScript may lack it
    close: () => driver.close(),
    onChange: driver.onChange && ((wake) => driver.onChange?.(wake) ?? (() => {})),
    changedThreads: changedThreads && ((after, inboxes) => read(() => changedThreads.call(driver, after, inboxes))),
    list: list && ((query) => read(() => list.call(driver, query, signal))),
    fields: fields && ((id) => read(() => fields.call(driver, id, signal))),
    waiting: waiting && ((query) => read(() => waiting.call(driver, query, signal))),
    purgeBlobs: purgeBlobs && ((graceMs) => write(() => purgeBlobs.call(driver, graceMs, signal))),
    usage: usage && ((query) => read(() => usage.call(driver, query, signal))),
    inspect: inspect && ((id) => read(() => inspect.call(driver, id, signal))),
  };
  return methods as StoreDriver; // an optional method that is undefined is an absent one
}

export const MAY_BE_STORED =
  " The write may be stored or not. Load the thread to find out, or repeat an append that carries entry ids.";

/** Refuses a call whose signal has aborted, before anything is read or written. */
export function checkSignal(signal: AbortSignal): void {
  if (!isSignal(signal)) throw invalidOption("signal", "an AbortSignal");
  if (signal.aborted) throw callAborted(signal, " The store was not asked, so nothing was written.");
}

/** Signals of other realms and of polyfills count too. */
function isSignal(signal: unknown): boolean {
  const { aborted, addEventListener }: Partial<AbortSignal> =
    typeof signal === "object" && signal !== null ? signal : {};
  return typeof aborted === "boolean" && typeof addEventListener === "function";
}

export function callAborted(signal: AbortSignal, consequence: string): StoreError {
  const message = `The call was aborted by its signal.${consequence}`;
  return new StoreError({ code: "store_aborted", message, cause: signal.reason });
}

/** Rejects when the signal aborts before the work has settled, by default with the signal's reason. Does not stop the work. */
export async function untilAborted<Result>(
  signal: AbortSignal,
  work: Promise<Result>,
  reasonOf: () => unknown = () => signal.reason,
): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(reasonOf());
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
