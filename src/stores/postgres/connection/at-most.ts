import { setTimeout as sleep } from "node:timers/promises";

/** Waits for something, but not for ever; a process that has nothing else to do may end meanwhile. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work, sleep(ms, undefined, { ref: false, signal: over.signal })]).finally(() => over.abort());
}
