import { setImmediate as endOfTurn, setTimeout as sleep } from "node:timers/promises";
import { callTimedOut } from "./errors.ts";

/**
 * Runs one call with a deadline. When it passes, the call rejects with `store_timeout` and the signal that `work` gets
 * aborts with the same error. Does not wait until the work has stopped.
 */
export async function withDeadline<Result>(
  ms: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const call = new AbortController();
  const timer = setTimeout(() => call.abort(callTimedOut(ms)), ms);
  try {
    return await untilAborted(call.signal, work(call.signal));
  } finally {
    clearTimeout(timer);
  }
}

/** Rejects with the signal's reason when it aborts before the work has settled. Does not stop the work. */
export async function untilAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Waits for the work, at most `ms`. The timer does not keep the process alive. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work, sleep(ms, undefined, { ref: false, signal: over.signal })]).finally(() => over.abort());
}

/** Waits for `count` turns of the event loop. */
export async function waitForTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await endOfTurn();
}
