import { setTimeout as sleep } from "node:timers/promises";

/** The share of a core that this process uses while it waits. */
export async function shareAtRest(ms: number): Promise<number> {
  const before = process.cpuUsage();
  const started = performance.now();
  await sleep(ms);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (performance.now() - started);
}
