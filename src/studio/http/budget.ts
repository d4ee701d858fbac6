import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../thread/ports.ts";

/** How long one answer may look for something before it tells what it has found so far. */
const LONGEST_MS = 250;
/** Others get their turn at least this often. */
const TURN_MS = 20;

/** The time that an answer has for looking through more than it can know the length of. */
export class Budget {
  readonly #clock: Clock;
  readonly #end: number;
  #turn: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turn = clock();
    this.#end = this.#turn + LONGEST_MS;
  }

  /** Whether the time is up; ask between two steps that are short. */
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
