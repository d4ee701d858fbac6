import fc from "fast-check";

/** The seed of this run, the same one property tests use; `HEDDLE_SEED=<seed>` makes that world the first one. */
export function firstSeed(): number {
  const { seed } = fc.readConfigureGlobal();
  if (seed === undefined) throw new Error("tests/support/property.ts sets the seed; is it among the setupFiles?");
  return seed;
}
