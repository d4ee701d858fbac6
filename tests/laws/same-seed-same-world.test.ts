import { simulate } from "heddle/testing";
import { expect, test } from "vitest";
import { firstSeed } from "../world/first-seed.ts";

test("the same seed gives the same world: the same log, byte for byte, and the same counts", async () => {
  const seeds = Array.from({ length: 25 }, (_, n) => firstSeed() + n);
  for (const seed of seeds) expect(await simulate({ seed })).toEqual(await simulate({ seed }));
});

test("two worlds at once do not disturb each other", async () => {
  const [first, second] = [firstSeed(), firstSeed() + 1];
  const together = await Promise.all([simulate({ seed: first }), simulate({ seed: second })]);
  expect(together).toEqual([await simulate({ seed: first }), await simulate({ seed: second })]);
});

test("a world that ends earlier is the beginning of one that goes on", async () => {
  const [short, long] = await Promise.all(
    [5, 30].map((steps) => simulate({ seed: firstSeed(), steps, faultsEvery: false })),
  );
  expect(short?.log).not.toBe(long?.log);
  expect(long?.processes).toBeGreaterThanOrEqual(1);
});
