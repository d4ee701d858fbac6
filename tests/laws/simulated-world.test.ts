import { simulate } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { firstSeed } from "../simulation/first-seed.ts";
import { expectOften, runCases } from "../support/case-budget.ts";

const WORLDS = 500;

describe("in a simulation with all faults the laws hold after every step", () => {
  test("in five hundred simulations, or as many as there is time for", async () => {
    const sum = {
      completed: 0,
      failed: 0,
      cancelled: 0,
      kills: 0,
      faults: 0,
      toolRuns: 0,
      rebuiltCalls: 0,
      comparedAgents: 0,
    };
    const worlds = await runCases(WORLDS, async (index) => {
      const { requests, ...counts } = await simulate({ seed: firstSeed() + index });
      for (const [name, count] of Object.entries({ ...requests, ...counts })) {
        if (Object.hasOwn(sum, name)) sum[name as keyof typeof sum] += Number(count); // looked at the line before
      }
    });
    // Nothing was proven in a world in which nothing happens.
    for (const [what, count] of Object.entries(sum)) expectOften(count, worlds, 0.2, what);
  });

  test.each<[seed: number, steps: number, readFaultsEvery: number | false]>([
    [1219260871, 30, false],
    [5005386, 30, false],
    [5007233, 30, false],
    [20000470, 200, false],
    [20002680, 200, false],
    [20029716, 30, false],
    [40002147, 30, 40],
    [50000533, 30, 40],
    [70006990, 200, 40],
  ])("world %i, in which one was broken once", async (seed, steps, readFaultsEvery) => {
    expect((await simulate({ seed, steps, readFaultsEvery })).entries).toBeGreaterThan(0);
  });
});
