import { HeddleError } from "../../thread/errors.ts";
import type { RuntimePorts } from "../ports.ts";
import { pause } from "../timers.ts";

/** Together the waits are five seconds, which is enough for a database to restart or fail over. */
const ATTEMPTS = 9;
const BACKOFF_MS = 20;

/** Calls the store, and retries retryable errors. A write must be safe to repeat. */
export async function retryStore<Answer>(ports: RuntimePorts, call: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const isRetryable = HeddleError.isInstance(error) && error.retryable && error.code !== "thread_held";
      if (!isRetryable || attempt >= ATTEMPTS) throw error;
      await pause(ports, BACKOFF_MS * 2 ** (attempt - 1));
    }
  }
}
