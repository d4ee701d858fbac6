import type { Io } from "./io.ts";
import type { Output } from "./output.ts";
import { line } from "./text.ts";

const WIDTH = 24;
/** A bar of fewer cells says nothing. */
const LEAST = 6;
const OFTEN_MS = 80;
/** What takes less time than this needs no sign that it goes on. */
const LONG_MS = 400;
const FRAMES = ["-", "\\", "|", "/"];

type Clock = Pick<Io, "now" | "every">;

/** A bar on stderr, where somebody sits at a terminal; elsewhere nothing at all. */
export class Progress {
  readonly #out: Output;
  readonly #what: string;
  readonly #clock: Clock;
  readonly #numbers: (count: number) => string;
  #shownAt = Number.NEGATIVE_INFINITY;

  constructor(
    out: Output,
    what: string,
    clock: Clock,
    numbers = (count: number): string => count.toLocaleString("en-US"),
  ) {
    this.#out = out;
    this.#what = what;
    this.#clock = clock;
    this.#numbers = numbers;
  }

  /** So far; where nobody knows of how much, only that. */
  async at(done: number, total: number | undefined): Promise<void> {
    const now = this.#clock.now();
    if (!this.#out.showsProgress || now - this.#shownAt < OFTEN_MS) return;
    this.#shownAt = now;
    if (total === undefined) return this.#show(`${this.#what} ${this.#numbers(done)}`);
    const part = total === 0 ? 1 : Math.min(1, done / total);
    const numbers = `${this.#numbers(done)} of ${this.#numbers(total)}`;
    const width = Math.min(WIDTH, this.#out.talkWidth - this.#what.length - numbers.length - 3);
    if (width < LEAST) return this.#show(`${this.#what} ${numbers}`);
    const bar = "█".repeat(Math.round(part * width)).padEnd(width, "░");
    await this.#out.status(`${this.#what} ${this.#out.talk("cyan", bar)} ${numbers}`);
  }

  /** A sign that something goes on whose end cannot be foreseen. */
  async during<Result>(work: Promise<Result>): Promise<Result> {
    const began = this.#clock.now();
    let frame = 0;
    const stop = this.#clock.every(2 * OFTEN_MS, () => {
      const now = this.#clock.now();
      if (!this.#out.showsProgress || now - began < LONG_MS) return;
      this.#shownAt = now;
      void this.#show(`${this.#what} ${FRAMES[frame++ % FRAMES.length]} ${Math.floor((now - began) / 1000)} s`);
    });
    try {
      return await work;
    } finally {
      stop();
      await this.end();
    }
  }

  async end(): Promise<void> {
    if (this.#shownAt === Number.NEGATIVE_INFINITY) return;
    this.#shownAt = Number.NEGATIVE_INFINITY;
    await this.#out.status("");
  }

  /** On one line of the terminal: what wraps cannot be taken back. */
  async #show(text: string): Promise<void> {
    await this.#out.status(line(text, this.#out.talkWidth - 1));
  }
}

/** Bytes, as a bar tells them. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toLocaleString("en-US", { maximumFractionDigits: 1, minimumFractionDigits: 1 })} MiB`;
}
