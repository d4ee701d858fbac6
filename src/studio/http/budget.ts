import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../thread/ports.ts";

/** How long a search may take before it answers with what it has found so far. */
const LONGEST_MS = 250;
/** How often a search yields to other work of the process. */
const TURN_MS = 20;

/** The time limit of a search of unknown length. */
export class Budget {
  readonly #clock: Clock;
  readonly #end: number;
  #turn: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turn = clock();
    this.#end = this.#turn + LONGEST_MS;
  }

  /** Whether the time is up. Call this between two short steps: it also yields to other work. */
  async isSpent(): Promise<boolean> {
    const now = this.#clock();
    if (now >= this.#end) return true;
    if (now - this.#turn >= TURN_MS) {
      await setImmediate();
      this.#turn = this.#clock();
    }
    return false;
  }
}
