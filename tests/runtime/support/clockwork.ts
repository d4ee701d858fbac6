import type { RuntimePorts } from "heddle";

/** Time that passes only when a test says so, and ids that count. */
export interface Clockwork {
  readonly ports: RuntimePorts;
  /** So many milliseconds pass, timer by timer. */
  pass(ms: number): Promise<void>;
  /** Lets everything run that needs no time. */
  settled(): Promise<void>;
  /** What a promise comes to; where nothing else happens time passes, up to ten minutes. */
  end<Value>(promise: Promise<Value>): Promise<Value>;
}

const TEN_MINUTES = 600_000;

export function clockwork(start = 1_000): Clockwork {
  let now = start;
  let count = 0;
  const timers = new Map<object, { readonly at: number; readonly run: () => void }>();
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const next = () => [...timers].sort(([, a], [, b]) => a.at - b.at)[0];
  const fire = ([key, timer]: NonNullable<ReturnType<typeof next>>): void => {
    timers.delete(key);
    now = Math.max(now, timer.at);
    timer.run();
  };
  return {
    settled,
    ports: {
      clock: () => now,
      monotonic: () => now,
      ids: (prefix) => `${prefix}_${++count}`,
      random: () => 0,
      after(ms, run) {
        const key = {};
        timers.set(key, { at: now + ms, run });
        return () => void timers.delete(key);
      },
    },
    async pass(ms) {
      const end = now + ms;
      for (;;) {
        await settled();
        const due = next();
        if (due === undefined || due[1].at > end) break;
        fire(due);
      }
      now = end;
      await settled();
    },
    async end(promise) {
      let isOver = false;
      promise.then(
        () => (isOver = true),
        () => (isOver = true),
      );
      const limit = now + TEN_MINUTES;
      for (;;) {
        await settled();
        if (isOver) return promise;
        const due = next();
        if (due === undefined || due[1].at > limit) throw new Error(`Nothing ends what is waited for; it is ${now}.`);
        fire(due);
      }
    },
  };
}
