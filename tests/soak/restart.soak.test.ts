import { expect, test } from "vitest";
import { freshSeed } from "../simulation/first-seed.ts";
import { EXCEPTIONS } from "../simulation/restarts/exceptions.ts";
import { expectSameAfterRestarts, used } from "../simulation/restarts/expect-same.ts";
import { report } from "../support/report.ts";
import { again } from "./duration.ts";

/** Fields that these stories have at no commit. They have no store that fails, and no output. */
const NEVER = ["agent.flight.cutSeq", "agent.flight.ending", "agent.flight.retry", "agent.flight.systemPrompt"].concat([
  ...["nextRetryMs", "request.object", "resumes", "stopping"],
]);

test("a process that starts after any commit of a generated story has the value of the one before", async () => {
  let commits = 0;
  await again(async (round) => {
    commits += (await expectSameAfterRestarts(freshSeed() + round)).length;
  });
  report({ seed: freshSeed(), commits });
  expect(Object.keys(EXCEPTIONS).filter((path) => !used.has(path) && !NEVER.includes(path))).toEqual([]);
});
