import fc from "fast-check";
import { createProjector, explain, type ProjectionInput, project } from "heddle";
import { expect, test } from "vitest";
import { outcome } from "../projection/support/outcome.ts";
import { anyInput, anyPolicy } from "../projection/support/threads.ts";
import { expectOften } from "../support/case-budget.ts";

/** One more step of one of the conversations: so many entries more, or a fork that goes back so many. */
const step = fc.record({
  which: fc.nat({ max: 1 }),
  more: fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 0, max: 3 }) }, fc.integer({ min: -6, max: 8 })),
  withPending: fc.boolean(),
  /** Whether to take another policy, for once. */
  isOdd: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  isRebuilt: fc.boolean(),
});

test("a projector that has seen a thread grow answers as one that never saw it", () => {
  let cases = 0;
  let shown = 0;
  fc.assert(
    fc.property(
      fc.tuple(anyInput, anyInput),
      anyPolicy,
      fc.array(step, { maxLength: 30, size: "max" }),
      (inputs, other, steps) => {
        cases++;
        const projector = createProjector();
        const reached = [0, 0];
        for (const { which, more, withPending, isOdd, isRebuilt } of steps) {
          const { thread, pending, ...rest } = inputs[which] ?? inputs[0];
          const length = Math.max(0, Math.min(thread.rev, (reached[which] ?? 0) + more));
          reached[which] = length;
          const grown = thread.upTo(length - 1);
          const branched = grown
            .fork({ atSeq: length - 1 })
            .append({ id: `branch_${shown}`, kind: "message", payload: { role: "user", content: "Else?" } });
          const input: ProjectionInput = {
            ...rest,
            ...(isOdd && { policy: other }),
            thread: isRebuilt && more < 0 ? branched : grown,
            ...(withPending && { pending }),
          };
          const scratch = outcome(() => project(input));
          expect(outcome(() => projector.project(input))).toEqual(scratch);
          if (more % 2 === 1) expect(outcome(() => projector.explain(input))).toEqual(outcome(() => explain(input)));
          shown += "value" in scratch ? 1 : 0;
        }
      },
    ),
    { numRuns: 60 },
  );
  expectOften(shown, cases, 5);
});
