import type { ModelAnswer } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import { callModel, type ModelCall } from "./call.ts";
import { ModelError } from "./error.ts";
import { Guard } from "./guard.ts";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** A provider that asks for more is out for now: whoever asked should know, not wait. */
const LONGEST_RETRY_AFTER_MS = 10 * 60_000;

export interface Retries {
  /** How often to try again. Default 2. */
  readonly modelMaxRetries?: number;
  /** Awaited before each attempt. It aborts the signal of the call where the attempt must not be made. */
  readonly beforeAttempt?: () => Promise<unknown>;
  /** Called before each wait; `attempt` counts the retries from 1. */
  readonly onRetry?: (failure: Failure, attempt: number, waitMs: number) => void;
}

/**
 * Asks a model, and again where that may help: the failure says it is retryable, and nothing of the answer has reached
 * the caller's `onDelta`. Waits as long as the provider asked, else longer each time, by chance a little more or less.
 */
export async function withRetries(
  call: ModelCall,
  { modelMaxRetries = 2, onRetry, beforeAttempt }: Retries = {},
): Promise<ModelAnswer> {
  const { onDelta } = call;
  let told = false;
  const watched: ModelCall =
    onDelta === undefined
      ? call
      : {
          ...call,
          onDelta: (delta) => {
            told = true;
            onDelta(delta);
          },
        };
  for (let attempt = 1; ; attempt++) {
    try {
      await beforeAttempt?.();
      return await callModel(watched);
    } catch (error) {
      if (told || attempt > modelMaxRetries || !ModelError.isInstance(error) || !error.retryable) throw error;
      const waitMs = waitBefore(attempt, error, call.ports.random());
      if (waitMs > LONGEST_RETRY_AFTER_MS) throw error;
      onRetry?.(error.failure, attempt, waitMs);
      await wait(call, waitMs);
    }
  }
}

/** Half of the wait is chance, so that those who failed together do not come back together. */
function waitBefore(attempt: number, { retryAfterMs }: ModelError, chance: number): number {
  if (retryAfterMs !== undefined) return retryAfterMs;
  const most = Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS);
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
