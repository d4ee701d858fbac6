import fc from "fast-check";
import { expect, test } from "vitest";
import { played, quiet, troubled } from "../runtime/support/play.ts";
import { proveAll } from "../runtime/support/stage.ts";

test("a past call is rebuilt from the log and proven to be what was sent, whatever came after it", async () => {
  let proven = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(quiet, troubled), async (play) => {
      const { on, requests } = await played(play);
      if (requests.length > 0) proven += await proveAll(on.store, on.threadId);
    }),
    { numRuns: 60 },
  );
  expect(proven).toBeGreaterThan(60);
});
