import { setTimeout as sleep } from "node:timers/promises";

/** Below the limit of a test, so that a hang says what was waited for. No healthy run comes near it, however busy the machine. */
const HANG_MS = 15 * 60_000;

/** Asks every few milliseconds until it is true. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + HANG_MS;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`waited ${HANG_MS / 60_000} minutes in vain until ${what}`);
    await sleep(10);
  }
}
