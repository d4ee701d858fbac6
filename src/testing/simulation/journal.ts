import type { VirtualTime } from "./virtual-time.ts";

const SHOWN = 40;

/** The events of a simulation, and the first violated law (a property that must always hold). */
export class Journal {
  readonly seed: number;
  step = 0;
  readonly #time: VirtualTime;
  readonly #lines: string[] = [];
  readonly #begun: number;
  #broken: LawViolation | undefined;

  constructor(seed: number, time: VirtualTime) {
    this.seed = seed;
    this.#time = time;
    this.#begun = time.now;
  }

  note(line: string): void {
    this.#lines.push(`${this.step} +${this.#time.now - this.#begun} ${line}`);
    if (this.#lines.length > SHOWN) this.#lines.shift();
  }

  /** Records the first violated law. Later violations may be consequences, so they are ignored. */
  reportViolation(law: string, what: string, cause?: unknown): void {
    const { seed, step } = this;
    this.#broken ??= new LawViolation({ seed, step, law, what, story: [...this.#lines], cause });
  }

  check(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }
}

/**
 * The error of `simulate`. It names the first violated law, and how to reproduce the run.
 * @example
 * try {
 *   await simulate({ seed: 7 });
 * } catch (error) {
 *   if (error instanceof LawViolation) console.log(error.seed, error.law);
 *   throw error;
 * }
 */
export class LawViolation extends Error {
  override readonly name = "LawViolation";
  readonly seed: number;
  readonly step: number;
  readonly law: string;

  constructor({ seed, step, law, what, story, cause }: ViolationDetails) {
    const replay = `Replay it: simulate({ seed: ${seed} }), or HEDDLE_SEED=${seed} in front of the test.`;
    const before = story.map((line) => `  ${line}`).join("\n");
    super(`Seed ${seed}, step ${step}: ${law}: ${what}\n${replay}\nWhat happened before:\n${before}`, { cause });
    this.seed = seed;
    this.step = step;
    this.law = law;
  }
}

interface ViolationDetails {
  readonly seed: number;
  readonly step: number;
  readonly law: string;
  readonly what: string;
  /** The last events, oldest first. */
  readonly story: readonly string[];
  readonly cause?: unknown;
}
