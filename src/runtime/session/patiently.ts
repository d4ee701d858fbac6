import { HeddleError } from "../../thread/errors.ts";
import type { RuntimePorts } from "../ports.ts";

/** Attempts, and the wait before the second; with these a database may be away for five seconds: it fails over, it restarts. */
const ATTEMPTS = 9;
const BACKOFF_MS = 20;

/** Asks the store, and again where it says that this may help. What is written must be safe to write twice. */
export async function patiently<Answer>(ports: RuntimePorts, ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      const mayPass = HeddleError.isInstance(error) && error.retryable && error.code !== "thread_held";
      if (!mayPass || attempt >= ATTEMPTS) throw error;
      await pause(ports, BACKOFF_MS * 2 ** (attempt - 1));
    }
  }
}

/** So many milliseconds, or as long as the signal is not aborted. */
export async function pause({ after }: Pick<RuntimePorts, "after">, ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = after(ms, resolve);
  const end = (): void => resolve();
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end, { once: true });
  await promise;
  cancel();
  signal?.removeEventListener("abort", end);
}
