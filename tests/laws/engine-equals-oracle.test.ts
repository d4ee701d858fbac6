import fc from "fast-check";
import { project } from "heddle";
import { expect, test } from "vitest";
import { naiveProject } from "../projection/support/oracle/naive.ts";
import { outcome } from "../projection/support/outcome.ts";
import { anyGarbageInput, anyInput } from "../projection/support/threads.ts";
import { always, attempt } from "../projection/support/trial.ts";
import { expectOften } from "../support/case-budget.ts";

test("a projection is what the obvious, slow implementation of the rules gives", () => {
  always(project, (projection, input) => expect(projection).toEqual(naiveProject(input)), 600);
});

test("it says as the oracle does how much is as it was in the projection before", () => {
  const seen = { cases: 0, same: 0 };
  always(project, (_, input) => {
    seen.cases++;
    const { thread } = input;
    const earlier = { ...input, thread: thread.upTo(Math.max(-1, thread.lastSeq - 2)), pending: undefined };
    const previous = attempt(project, earlier);
    if (previous === undefined) return;
    const { meta } = project({ ...input, previous });
    expect(meta).toEqual(naiveProject({ ...input, previous }).meta);
    expect(meta.stablePrefix).toBeLessThanOrEqual(previous.messages.length);
    seen.same += meta.stablePrefix ?? 0;
  });
  expectOften(seen.same, seen.cases, 2);
});

test.each([
  ["entries that can be read", anyInput],
  ["entries that cannot", anyGarbageInput],
])("it refuses where the oracle refuses, for the same reason: %s", (_, inputs) => {
  const seen = { cases: 0, refused: 0 };
  fc.assert(
    fc.property(inputs, (input) => {
      seen.cases++;
      const expected = outcome(() => naiveProject(input));
      expect(outcome(() => project(input))).toEqual(expected);
      seen.refused += "refused" in expected ? 1 : 0;
    }),
    { numRuns: 400 },
  );
  expectOften(seen.refused, seen.cases, 1 / 40);
});
