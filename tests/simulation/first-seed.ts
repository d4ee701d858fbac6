import fc from "fast-check";

/**
 * The first world of a test run: the same worlds every time, so that a change is to blame for what breaks.
 * `HEDDLE_SEED=<seed>` makes that world the first one.
 */
export function firstSeed(): number {
  return Number(process.env["HEDDLE_SEED"] ?? 1);
}

/** The first world of a soak, which looks for worlds nobody has seen: the seed that property tests use. */
export function freshSeed(): number {
  const { seed } = fc.readConfigureGlobal();
  if (seed === undefined) throw new Error("tests/support/property.ts sets the seed; is it among the setupFiles?");
  return seed;
}
