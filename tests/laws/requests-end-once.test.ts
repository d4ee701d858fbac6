import fc from "fast-check";
import { expect, test } from "vitest";
import { played, troubled } from "../runtime/support/play.ts";
import { expectWhole } from "../runtime/support/stage.ts";

test("every request ends with exactly one terminal event, which is its last, also where writes fail", async () => {
  await fc.assert(
    fc.asyncProperty(troubled, async (play) => {
      const { on, requests } = await played(play);
      for (const { request, events } of requests) {
        expectWhole(events);
        const end = await request.result.then(
          () => "request_completed",
          ({ code }: { code: string }) => code,
        );
        expect(events.at(-1)?.kind).toBe(end);
        expect(request.state).toBe("done");
      }
      const { ok } = requests.length === 0 ? { ok: true } : await on.store.verify(on.threadId);
      expect(ok).toBe(true);
    }),
    { numRuns: 60 },
  );
});
