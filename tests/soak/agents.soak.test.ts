import { simulate } from "heddle/testing";
import { expect, test } from "vitest";
import { freshSeed } from "../simulation/first-seed.ts";
import { report } from "../support/report.ts";
import { shareOfTheTimeMs } from "./duration.ts";

const WORLDS = 100_000;

test("in a hundred thousand simulations, or as many as there is time for, the laws hold after every step", async () => {
  const end = performance.now() + shareOfTheTimeMs();
  let [worlds, entries, kills, faults] = [0, 0, 0, 0];
  for (; worlds < WORLDS && performance.now() < end; worlds++) {
    const world = await simulate({ seed: freshSeed() + worlds, steps: worlds % 10 === 0 ? 200 : 30 });
    entries += world.entries;
    kills += world.kills;
    faults += world.faults;
  }
  report({ seed: freshSeed(), worlds, entries, kills, faults });
  expect(entries).toBeGreaterThan(worlds);
});
