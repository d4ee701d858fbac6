import type { Io } from "./io.ts";
import type { Output } from "./output.ts";
import { line } from "./text.ts";

const WIDTH = 24;
/** A bar with fewer cells is too short to read. */
const LEAST = 6;
const OFTEN_MS = 80;
/** Work that takes less time than this shows no progress. */
const LONG_MS = 400;
const FRAMES = ["-", "\\", "|", "/"];

type Clock = Pick<Io, "now" | "every">;

/** A progress bar on stderr. Without a terminal it prints nothing. */
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

  /** Shows the progress; without a bar if the total is unknown. */
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

  /** Shows that work of unknown length is running. */
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

  /** Shows the text on one line: a wrapped line cannot be erased. */
  async #show(text: string): Promise<void> {
    await this.#out.status(line(text, this.#out.talkWidth - 1));
  }
}

/** Formats bytes as MiB. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toLocaleString("en-US", { maximumFractionDigits: 1, minimumFractionDigits: 1 })} MiB`;
}
