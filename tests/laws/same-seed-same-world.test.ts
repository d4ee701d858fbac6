import { simulate } from "heddle/testing";
import { expect, test } from "vitest";
import { firstSeed } from "../simulation/first-seed.ts";
import { isSoak, runCases } from "../support/case-budget.ts";

/** A soak plays whole simulations. Otherwise they are shorter, because each is played twice. */
const steps = isSoak ? 30 : 10;

test("the same seed gives the same simulation: the same log, byte for byte, and the same counts", async () => {
  await runCases(25, async (index) => {
    const seed = firstSeed() + index;
    expect(await simulate({ seed, steps })).toEqual(await simulate({ seed, steps }));
  });
});

test("two simulations at once do not disturb each other", async () => {
  const [first, second] = [firstSeed(), firstSeed() + 1];
  const together = await Promise.all([simulate({ seed: first }), simulate({ seed: second })]);
  expect(together).toEqual([await simulate({ seed: first }), await simulate({ seed: second })]);
});

test("a simulation that ends earlier is the beginning of one that continues", async () => {
  const [short, long] = await Promise.all(
    [5, 30].map((steps) => simulate({ seed: firstSeed(), steps, faultsEvery: false })),
  );
  expect(short?.log).not.toBe(long?.log);
  expect(long?.processes).toBeGreaterThanOrEqual(1);
});
