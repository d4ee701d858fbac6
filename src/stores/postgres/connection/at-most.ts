import { setTimeout as sleep } from "node:timers/promises";

/** Waits for the work, at most `ms`. The timer does not keep the process alive. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work, sleep(ms, undefined, { ref: false, signal: over.signal })]).finally(() => over.abort());
}
