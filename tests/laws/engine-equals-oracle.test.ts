import fc from "fast-check";
import { project } from "heddle";
import { expect, test } from "vitest";
import { naiveProject } from "../projection/support/oracle/naive.ts";
import { outcome } from "../projection/support/outcome.ts";
import { anyGarbageInput, anyInput } from "../projection/support/threads.ts";
import { always, attempt } from "../projection/support/trial.ts";

test("a projection is what the obvious, slow implementation of the rules gives", () => {
  always(project, (projection, input) => expect(projection).toEqual(naiveProject(input)), 600);
});

test("it says as the oracle does how much is as it was in the projection before", () => {
  let same = 0;
  always(project, (_, input) => {
    const { thread } = input;
    const earlier = { ...input, thread: thread.upTo(Math.max(-1, thread.lastSeq - 2)), pending: undefined };
    const previous = attempt(project, earlier);
    if (previous === undefined) return;
    const { meta } = project({ ...input, previous });
    expect(meta).toEqual(naiveProject({ ...input, previous }).meta);
    expect(meta.stablePrefix).toBeLessThanOrEqual(previous.messages.length);
    same += meta.stablePrefix ?? 0;
  });
  expect(same).toBeGreaterThan(300);
});

test.each([
  ["entries that can be read", anyInput],
  ["entries that cannot", anyGarbageInput],
])("it refuses where the oracle refuses, for the same reason: %s", (_, inputs) => {
  let refused = 0;
  fc.assert(
    fc.property(inputs, (input) => {
      const expected = outcome(() => naiveProject(input));
      expect(outcome(() => project(input))).toEqual(expected);
      refused += "refused" in expected ? 1 : 0;
    }),
    { numRuns: 400 },
  );
  expect(refused).toBeGreaterThan(10);
});
