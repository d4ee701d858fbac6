import fc from "fast-check";
import { expect, test } from "vitest";
import { choices, type Game, play } from "../agent/support/play.ts";

test("two runs of an agent with equal ports and equal signals give equal bytes", () => {
  fc.assert(
    fc.property(choices, (given) => {
      expect(bytesOf(play(given))).toBe(bytesOf(play(given)));
    }),
    { numRuns: 60 },
  );
});

function bytesOf({ agent, moves }: Game): string {
  return JSON.stringify([agent.thread, moves.map(({ directives }) => directives)]);
}
