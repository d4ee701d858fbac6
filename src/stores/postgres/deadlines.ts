import { setImmediate as endOfTurn, setTimeout as sleep } from "node:timers/promises";
import { untilAborted } from "../until-aborted.ts";
import { callTimedOut } from "./errors.ts";

/**
 * Runs one call with a deadline. When it passes, the call rejects with `store_timeout`, or the error of `reasonOf`, and the signal that `work` gets
 * aborts with the same error. Does not wait until the work has stopped.
 */
export async function withDeadline<Result>(
  ms: number,
  work: (signal: AbortSignal) => Promise<Result>,
  reasonOf: () => unknown = () => callTimedOut(ms),
): Promise<Result> {
  const call = new AbortController();
  const timer = setTimeout(() => call.abort(reasonOf()), ms);
  try {
    return await untilAborted(call.signal, work(call.signal));
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
