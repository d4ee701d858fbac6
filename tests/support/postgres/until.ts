import { setTimeout as sleep } from "node:timers/promises";

const patienceMs = 30_000;

/** Asks every few milliseconds; throws when `what` has not come true long after any healthy machine would have it. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`waited ${patienceMs / 1000} s in vain until ${what}`);
    await sleep(10);
  }
}
