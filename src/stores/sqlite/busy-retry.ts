import { HeddleError } from "../../thread/errors.ts";
import { translateErrors } from "./errors.ts";

/** How long a call waits for the lock of another process before it fails with `store_busy`. */
export const BUSY_TIMEOUT_MS = 5000;

/** Calls that still pause before their first try after one had to wait, so that other processes get the lock too. */
const CALLS_WITH_PAUSE = 8;

/**
 * The pauses of a connection between tries to get a lock. A call sleeps for half of the time that calls usually wait, and then
 * tries more and more often. So tries cost little CPU time, and of many processes the one that waits longest comes first.
 */
export class BusyPauses {
  /** About how long a call has to wait. */
  #usualWaitMs = 0;
  #callsWithPause = 0;

  /** The pause before the first try of a call. 0 when no other process wrote lately. */
  first(): number {
    return this.#callsWithPause > 0 ? vary(between(1, this.#usualWaitMs / 2, 250)) : 0;
  }

  /** The pause before the next try of a call that has waited so long. It shrinks fast once the usual wait is over. */
  next(waitedMs: number): number {
    this.#callsWithPause = CALLS_WITH_PAUSE;
    const usual = this.#usualWaitMs;
    const age = usual === 0 ? 1 : Math.max(1, waitedMs / usual);
    return vary(between(1, (usual || waitedMs) / 16 / age ** 3, 25));
  }

  /** A call got the lock after this time. */
  end(waitedMs: number): void {
    this.#callsWithPause = Math.max(0, this.#callsWithPause - 1);
    this.#usualWaitMs = this.#callsWithPause === 0 ? 0 : (this.#usualWaitMs + waitedMs) / 2;
  }
}

/** Random, so that processes do not try at the same moments. */
function vary(ms: number): number {
  return ms * (0.75 + Math.random() / 2);
}

export function between(least: number, value: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

export function isBusy(error: unknown): boolean {
  return HeddleError.isInstance(error) && error.code === "store_busy";
}

/** Runs a read. While another process has the file locked, for example to recover it, tries again without blocking. */
export async function retryBusy<Result>(work: () => Result): Promise<Result> {
  const since = performance.now();
  for (;;) {
    try {
      return translateErrors(work);
    } catch (error) {
      if (!isBusy(error) || performance.now() - since > BUSY_TIMEOUT_MS) throw error;
    }
    await pause(1 + Math.random() * 10);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
