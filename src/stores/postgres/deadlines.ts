import { setImmediate as endOfTurn, setTimeout as sleep } from "node:timers/promises";
import { callTimedOut } from "./errors.ts";

/** Rejects with `store_timeout` when the work has not settled in time. Does not stop the work. */
export async function withDeadline<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(callTimedOut(ms)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
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
