/**
 * The error of `simulate`: the first broken law, and how to reproduce it.
 *
 * @example
 * try {
 *   await simulate({ seed: 7 });
 * } catch (error) {
 *   if (error instanceof LawBroken) console.log(error.seed, error.law);
 *   throw error;
 * }
 */
export class LawBroken extends Error {
  override readonly name = "LawBroken";
  readonly seed: number;
  readonly step: number;
  readonly law: string;

  constructor({ seed, step, law, what, story, cause }: Facts) {
    const replay = `Replay it: simulate({ seed: ${seed} }), or HEDDLE_SEED=${seed} in front of the test.`;
    const before = story.map((line) => `  ${line}`).join("\n");
    super(`Seed ${seed}, step ${step}: ${law}: ${what}\n${replay}\nWhat happened before:\n${before}`, { cause });
    this.seed = seed;
    this.step = step;
    this.law = law;
  }
}

interface Facts {
  readonly seed: number;
  readonly step: number;
  readonly law: string;
  readonly what: string;
  /** The last events, oldest first. */
  readonly story: readonly string[];
  readonly cause?: unknown;
}
