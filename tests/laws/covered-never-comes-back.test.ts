import fc from "fast-check";
import { explain } from "heddle";
import { expect, test } from "vitest";
import { activeLane } from "../../src/lanes/active-lane.ts";
import { coveredSeqs } from "../projection/support/asked.ts";
import { anyInput } from "../projection/support/threads.ts";
import { expectOften } from "../support/case-budget.ts";

test("what a summary has covered is never shown again, unless a replace came or it is the ask that is still open", () => {
  const seen = { cases: 0, covered: 0 };
  fc.assert(
    fc.property(anyInput, ({ pending: _pending, ...rest }) => {
      seen.cases++;
      const policy = { ...rest.policy, maxInputTokens: 100_000, reserveOutputTokens: 0 };
      const input = { ...rest, policy, lane: rest.lane ?? activeLane(rest.thread) };
      const summarized = new Set<number>();
      for (const { seq, payload } of input.thread.toArray()) {
        const explained = explain({ ...input, thread: input.thread.upTo(seq) });
        const operation = payload["operation"];
        if (typeof operation === "object" && operation !== null && "type" in operation) summarized.clear();
        for (const { seq, status, rule } of explained) {
          if (status === "summarised") summarized.add(seq);
          const isBack = ["shown", "cleared", "repaired"].includes(status) && rule !== "head_of_cut_request";
          if (summarized.has(seq)) expect(isBack, `entry ${seq}: ${status}, ${rule}`).toBe(false);
        }
        seen.covered += summarized.size;
      }
    }),
    { numRuns: 100 },
  );
  expectOften(seen.covered, seen.cases, 0.3);
});

test("what the rules say is covered stays covered as the thread grows, until a replace", () => {
  fc.assert(
    fc.property(anyInput, ({ pending: _pending, ...rest }) => {
      const input = { ...rest, lane: rest.lane ?? activeLane(rest.thread) };
      let before: readonly number[] = [];
      for (const { seq, payload } of input.thread.toArray()) {
        const covered = coveredSeqs({ ...input, thread: input.thread.upTo(seq) });
        if (payload["operation"] === undefined) expect(covered).toEqual(expect.arrayContaining([...before]));
        before = covered;
      }
    }),
    { numRuns: 100 },
  );
});
