import fc from "fast-check";
import { expect, test } from "vitest";
import { freshSeed } from "../simulation/first-seed.ts";
import { report } from "../support/report.ts";
import { shareOfTheTimeMs } from "./duration.ts";
import { type Compared, compared } from "./earlier/compare.ts";
import { NAMED_DIFFERENCES } from "./earlier/differences.ts";
import { played } from "./earlier/play.ts";
import { earlierRuntime, type Runtime, TODAY } from "./earlier/runtimes.ts";
import { stories } from "./earlier/story.ts";

/** The least number of stories. The story of each is made from its seed. */
const STORIES = 2_000;

test("each difference between the earlier runtime and today's is found in its story", async () => {
  const earlier = await earlierRuntime();
  for (const { name, seed } of NAMED_DIFFERENCES) {
    const { named } = await comparedAt(seed, earlier);
    expect([...named], `${name}: HEDDLE_SEED=${seed}`).toContain(name);
  }
});

// HEDDLE_SEED=<seed> begins with that story, and HEDDLE_STORIES=1 plays it alone.
test("equal stories give the log of the earlier runtime, except for named differences", async () => {
  const earlier = await earlierRuntime();
  const asked = process.env["HEDDLE_STORIES"];
  const end = performance.now() + (asked === undefined ? shareOfTheTimeMs() : 0);
  const found = new Map<string, number>();
  const unexplained: object[] = [];
  let count = 0;
  for (; count < Number(asked ?? STORIES) || performance.now() < end; count++) {
    const seed = freshSeed() + count;
    const result = await comparedAt(seed, earlier);
    for (const name of result.named) found.set(name, (found.get(name) ?? 0) + 1);
    if (result.unexplained !== undefined) unexplained.push({ seed, facts: result.unexplained });
  }
  report({ seed: freshSeed(), stories: count, differing: [...found].map(([name, times]) => `${name}: ${times}`) });
});

async function comparedAt(seed: number, earlier: Runtime): Promise<Compared> {
  const [story] = fc.sample(stories, { seed, numRuns: 1 });
  if (story === undefined) throw new Error("fast-check made no story");
  return compared(await played(earlier, story), await played(TODAY, story), NAMED_DIFFERENCES);
}
