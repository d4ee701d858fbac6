import fc from "fast-check";
import type { EntryInput } from "heddle";
import { expect, test } from "vitest";
import { activeLane } from "../../src/lanes/active-lane.ts";
import { implementations } from "../projection/support/implementations.ts";
import { outcome } from "../projection/support/outcome.ts";
import { anyInput } from "../projection/support/threads.ts";
import { attempt } from "../projection/support/trial.ts";
import { expectOften } from "../support/case-budget.ts";

test.each(implementations)("%s: an entry that is pending is shown as it will be once committed", (_, project) => {
  const seen = { cases: 0, shown: 0, cut: 0 };
  fc.assert(
    fc.property(anyInput, ({ pending: planned, ...rest }) => {
      seen.cases++;
      const input = { ...rest, lane: activeLane(rest.thread) };
      const { thread } = input;
      for (const entry of (Array.isArray(planned) ? planned : [planned]).filter(isEntry)) {
        if (showsNothing(() => project({ ...input, pending: [entry] }))) continue;
        const waiting = attempt(project, { ...input, pending: [entry] });
        const committed = attempt(project, { ...input, thread: thread.append(entry) });
        expect(waiting === undefined).toBe(committed === undefined);
        if (waiting === undefined || committed === undefined) continue;
        expect(waiting.messages).toEqual(committed.messages);
        expect(waiting.meta.view.startSeq).toBe(committed.meta.view.startSeq);
        expect(waiting.meta.fingerprint).toBe(committed.meta.fingerprint);
        seen.shown++;
        seen.cut += committed.meta.truncated ? 1 : 0;
      }
    }),
    { numRuns: 1000 },
  );
  expectOften(seen.shown, seen.cases, 0.03);
  expectOften(seen.cut, seen.cases, 0.01);
});

/** In the log it may stand, but nobody can have meant to ask with it. */
function showsNothing(call: () => unknown): boolean {
  const answer = outcome(call);
  return "refused" in answer && answer.refused === "invalid_input";
}

function isEntry(item: unknown): item is EntryInput {
  return typeof item === "object" && item !== null && "kind" in item;
}
