import { expect, test } from "vitest";
import { waitingCalls } from "../../src/agent/react/agent.ts";
import type { Live } from "../../src/runtime/live/live.ts";
import { firstSeed } from "../simulation/first-seed.ts";
import { expectSameAfterRestarts } from "../simulation/restarts/expect-same.ts";
import { isSoak, runCases } from "../support/case-budget.ts";

test("a process that starts after any commit has the value of the one before, except for a list of fields", async () => {
  const lives: Live[] = [];
  await runCases(isSoak ? 300 : 8, async (index) => {
    const story = await expectSameAfterRestarts(firstSeed() + index);
    lives.push(...story);
  });
  const seen = (is: (live: Live) => boolean): number => lives.filter(is).length;
  expect(seen(({ agent }) => agent.flight.deferred.length > 0)).toBeGreaterThan(0);
  expect(seen(({ agent }) => waitingCalls(agent).length > 0)).toBeGreaterThan(0);
  expect(seen(({ agent }) => agent.flight.steers.length > 0)).toBeGreaterThan(0);
  expect(seen(({ work }) => work.length > 0)).toBeGreaterThan(0);
  expect(seen(({ asks }) => asks.some(({ row }) => row === "waits"))).toBeGreaterThan(0);
  expect(seen(({ given }) => given?.context !== undefined)).toBeGreaterThan(0);
});
