import type { RuntimePorts } from "../../../../src/runtime/ports.ts";

/** Time that passes only when a test says so. */
export interface World {
  readonly ports: RuntimePorts;
  /** Timers that wait. */
  readonly timers: () => number;
  /** Lets everything run that needs no time, then so many milliseconds pass, timer by timer. */
  pass(ms: number): Promise<void>;
}

export function world(random = 0): World {
  let now = 1_000;
  const timers = new Map<object, { readonly at: number; readonly run: () => void }>();
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    ports: {
      clock: () => now,
      monotonic: () => now,
      ids: (prefix) => `${prefix}_1`,
      random: () => random,
      after(ms, run) {
        const key = {};
        timers.set(key, { at: now + ms, run });
        return () => void timers.delete(key);
      },
    },
    timers: () => timers.size,
    async pass(ms) {
      const end = now + ms;
      for (;;) {
        await settled();
        const [key, next] = [...timers].sort(([, a], [, b]) => a.at - b.at)[0] ?? [];
        if (key === undefined || next === undefined || next.at > end) break;
        timers.delete(key);
        now = Math.max(now, next.at);
        next.run();
      }
      now = end;
      await settled();
    },
  };
}

/** A promise that never settles. */
export const never: Promise<never> = new Promise(() => {});
