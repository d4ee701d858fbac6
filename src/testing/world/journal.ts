import { LawBroken } from "./law-broken.ts";
import type { VirtualTime } from "./time.ts";

const SHOWN = 40;

/** The events of a simulation, and the first broken law. */
export class Journal {
  readonly seed: number;
  step = 0;
  readonly #time: VirtualTime;
  readonly #lines: string[] = [];
  readonly #begun: number;
  #broken: LawBroken | undefined;

  constructor(seed: number, time: VirtualTime) {
    this.seed = seed;
    this.#time = time;
    this.#begun = time.now;
  }

  note(line: string): void {
    this.#lines.push(`${this.step} +${this.#time.now - this.#begun} ${line}`);
    if (this.#lines.length > SHOWN) this.#lines.shift();
  }

  /** Keeps only the first broken law, because later ones may be consequences. */
  broken(law: string, what: string, cause?: unknown): void {
    const { seed, step } = this;
    this.#broken ??= new LawBroken({ seed, step, law, what, story: [...this.#lines], cause });
  }

  check(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }
}
