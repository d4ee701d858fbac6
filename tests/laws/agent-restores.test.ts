import fc from "fast-check";
import { expect, test } from "vitest";
import { restore } from "../../src/agent/react/restore.ts";
import { choices, play } from "../agent/support/play.ts";

test("the agent that is restored from the thread knows what the one knew that wrote it, after every signal", () => {
  fc.assert(
    fc.property(choices, (given) => {
      for (const { after } of play(given).moves) {
        expect(restore(after.settings, after.thread, after.ports).state).toEqual(after.state);
      }
    }),
    { numRuns: 150 },
  );
});
