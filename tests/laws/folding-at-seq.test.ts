import fc from "fast-check";
import { project, Thread } from "heddle";
import { foldLane } from "heddle/core";
import { expect, test } from "vitest";
import { implementations } from "../projection/support/implementations.ts";
import { outcome } from "../projection/support/outcome.ts";
import { anyInput, anyThread } from "../projection/support/threads.ts";

test("a lane folded at a seq is the lane of the thread as it was then", () => {
  fc.assert(
    fc.property(anyThread, fc.nat(), fc.constantFrom("default", "side", "deep"), (thread, at, lane) => {
      const atSeq = (at % (thread.rev + 1)) - 1;
      expect(foldLane(thread, lane, { atSeq })).toEqual(foldLane(thread.upTo(atSeq), lane));
      expect(foldLane(thread, lane, { atSeq: thread.lastSeq })).toEqual(foldLane(thread, lane));
    }),
    { numRuns: 300 },
  );
});

test.each(implementations)("%s: what came later changes nothing in the view of what was before", (_, project) => {
  fc.assert(
    fc.property(anyInput, fc.nat(), ({ thread, ...rest }, at) => {
      const atSeq = (at % (thread.rev + 1)) - 1;
      const alone = Thread.create({ id: thread.id }).append(thread.slice(0, atSeq));
      const earlier = outcome(() => project({ ...rest, thread: thread.upTo(atSeq) }));
      expect(earlier).toEqual(outcome(() => project({ ...rest, thread: alone })));
    }),
    { numRuns: 200 },
  );
});

test("a thread that has grown projects as before at each of its earlier ends", () => {
  fc.assert(
    fc.property(anyInput, fc.nat(), ({ thread, ...rest }, at) => {
      const earlier = thread.upTo((at % (thread.rev + 1)) - 1);
      const before = outcome(() => project({ ...rest, thread: earlier }));
      outcome(() => project({ ...rest, thread }));
      expect(outcome(() => project({ ...rest, thread: earlier }))).toEqual(before);
    }),
    { numRuns: 100 },
  );
});
