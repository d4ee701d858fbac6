import fc from "fast-check";
import { onTestFailed } from "vitest";
import { Random } from "../../src/testing/random.ts";

export type { Random };

/**
 * Chance from the seed of the run, the same one property tests use. A test that goes on for many rounds gets other
 * chances in each; `HEDDLE_SEED=<the seed it told>` replays that round as the first.
 */
export function seeded(round = 0): Random {
  const { seed } = fc.readConfigureGlobal();
  if (seed === undefined) throw new Error("tests/support/property.ts sets the seed; is it among the setupFiles?");
  onTestFailed(() => console.log(`Replay this run: HEDDLE_SEED=${seed + round} npx vitest run <test file>`));
  return new Random(seed + round);
}
