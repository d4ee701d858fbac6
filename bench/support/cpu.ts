import { setTimeout as sleep } from "node:timers/promises";
import type { Lap } from "./lap.ts";

/** The share of a core that this process uses while it waits. */
export async function shareAtRest(ms: number): Promise<number> {
  const before = process.cpuUsage();
  const started = performance.now();
  await sleep(ms);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (performance.now() - started);
}

/** The CPU time of each operation, which other work on the machine changes less than its duration. */
export async function oneByOneInCpu(operations: number, operate: (index: number) => Promise<unknown>): Promise<Lap> {
  const each: number[] = [];
  for (let index = 0; index < operations; index++) {
    const before = process.cpuUsage();
    await operate(index);
    const { user, system } = process.cpuUsage(before);
    each.push((user + system) / 1000);
  }
  return { operations, ms: each.reduce((sum, ms) => sum + ms, 0), each };
}
