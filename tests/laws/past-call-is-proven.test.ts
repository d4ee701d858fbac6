import fc from "fast-check";
import { test } from "vitest";
import { played, quiet, troubled } from "../runtime/support/play.ts";
import { proveAll } from "../runtime/support/stage.ts";
import { expectOften } from "../support/case-budget.ts";

test("a past call is rebuilt from the log and proven to be what was sent, whatever came after it", async () => {
  const seen = { cases: 0, proven: 0 };
  await fc.assert(
    fc.asyncProperty(fc.oneof(quiet, troubled), async (play) => {
      seen.cases++;
      const { on, requests } = await played(play);
      if (requests.length > 0) seen.proven += await proveAll(on.store, on.threadId);
    }),
    { numRuns: 60 },
  );
  expectOften(seen.proven, seen.cases, 1);
});
