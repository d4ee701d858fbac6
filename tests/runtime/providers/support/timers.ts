import type { RuntimePorts } from "../../../../src/runtime/ports.ts";

/** Waits up to this long are over at once; longer ones when the test says so. */
const SHORT_MS = 6_000;

/** Timers without time, and no chance. */
export class Timers {
  readonly #held = new Set<{ readonly ms: number; readonly run: () => void }>();

  readonly ports: Pick<RuntimePorts, "after" | "random"> = {
    random: () => 0,
    after: (ms, run) => {
      if (ms <= SHORT_MS) {
        const timer = setImmediate(run);
        return () => clearImmediate(timer);
      }
      const held = { ms, run };
      this.#held.add(held);
      return () => this.#held.delete(held);
    },
  };

  /** Lets every timer go off that waits for so long; answers how many there were. */
  fire(ms: number): number {
    const due = [...this.#held].filter((held) => held.ms === ms);
    for (const held of due) {
      this.#held.delete(held);
      held.run();
    }
    return due.length;
  }
}
