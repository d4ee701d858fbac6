import type { ModelAnswer } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import { callModel, Guard, type ModelCall } from "./call.ts";
import { ModelError } from "./failure.ts";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** A provider that asks for more is out for now: whoever asked should know, not wait. */
const LONGEST_RETRY_AFTER_MS = 10 * 60_000;

export interface Retries {
  /** How often to try again. */
  readonly modelMaxRetries: number;
  /** Awaited before each attempt. It aborts the signal of the call where the attempt must not be made. */
  readonly beforeAttempt?: () => Promise<unknown>;
}

/** Asks a model for something that no request waits for, and again where the failure says that this may help. */
export async function withRetries(call: ModelCall, { modelMaxRetries, beforeAttempt }: Retries): Promise<ModelAnswer> {
  for (let attempt = 1; ; attempt++) {
    try {
      await beforeAttempt?.();
      return await callModel(call);
    } catch (error) {
      if (attempt > modelMaxRetries || !ModelError.isInstance(error) || !error.retryable) throw error;
      const waitMs = retryDelay(attempt, error, call.ports.random());
      if (waitMs === undefined) throw error;
      await wait(call, waitMs);
    }
  }
}

/**
 * The wait behind this many failed attempts: as long as the provider asked, else longer each time. Half of it is chance, so that
 * those who failed together do not come back together. Undefined when the provider asks for too long a wait.
 */
export function retryDelay(
  failed: number,
  { retryAfterMs }: Pick<Failure, "retryAfterMs">,
  chance: number,
): number | undefined {
  if (retryAfterMs !== undefined) return retryAfterMs > LONGEST_RETRY_AFTER_MS ? undefined : retryAfterMs;
  const most = Math.min(FIRST_WAIT_MS * 2 ** failed, LONGEST_WAIT_MS);
  return Math.round((most * (1 + chance)) / 2);
}

async function wait({ ports, signal }: ModelCall, ms: number): Promise<void> {
  const guard = new Guard(signal, ports);
  let cancel = (): void => {};
  const over = (): Promise<void> =>
    new Promise((resolve) => {
      cancel = ports.after(ms, resolve);
    });
  try {
    await guard.until(over);
  } finally {
    cancel();
    guard.release();
  }
}
