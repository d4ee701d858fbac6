import type { Output } from "./output.ts";

const WIDTH = 24;
const OFTEN_MS = 80;

/** A bar on stderr, where somebody sits at a terminal; elsewhere nothing at all. */
export class Progress {
  readonly #out: Output;
  readonly #what: string;
  readonly #now: () => number;
  #shownAt = Number.NEGATIVE_INFINITY;

  constructor(out: Output, what: string, now: () => number) {
    this.#out = out;
    this.#what = what;
    this.#now = now;
  }

  async at(done: number, total: number): Promise<void> {
    if (!this.#out.showsProgress || this.#now() - this.#shownAt < OFTEN_MS) return;
    this.#shownAt = this.#now();
    const part = total === 0 ? 1 : Math.min(1, done / total);
    const bar = "█".repeat(Math.round(part * WIDTH)).padEnd(WIDTH, "░");
    const numbers = `${done.toLocaleString("en-US")} of ${total.toLocaleString("en-US")}`;
    await this.#out.status(`${this.#what} ${this.#out.talk("cyan", bar)} ${numbers}`);
  }

  async end(): Promise<void> {
    if (this.#shownAt > Number.NEGATIVE_INFINITY) await this.#out.status("");
  }
}
