import fc from "fast-check";
import { expect, test } from "vitest";
import { played, quiet, troubled } from "../runtime/support/play.ts";

/** Asks that are in the log, calls that are, and results; then what the line says must be in order. */
function check(journal: readonly string[]): void {
  const calls = new Set<string>();
  const open = new Set<string>();
  let asked = false;
  for (const line of journal) {
    if (line.startsWith("ask ")) asked = true;
    const [, list] = /^calls (\S+)/.exec(line) ?? [];
    for (const call of list?.split(",") ?? []) {
      calls.add(call);
      open.add(call);
    }
    const [, result] = /^result (\S+)/.exec(line) ?? [];
    if (result !== undefined) open.delete(result);
    const [, ran] = /^run (\S+)/.exec(line) ?? [];
    if (ran !== undefined) expect(calls).toContain(ran);
    if (line === "model") expect({ asked, open: [...open] }).toEqual({ asked: true, open: [] });
  }
}

test("an ask is durable before a model is called, an answer before its tools run, results before the next call", async () => {
  await fc.assert(
    fc.asyncProperty(quiet, async (play) => {
      const { journal } = await played(play);
      check(journal);
      expect(journal).toContain("model");
    }),
    { numRuns: 40 },
  );
});

test("and so it is where writes fail: nothing is done on a word that may be lost", async () => {
  await fc.assert(
    fc.asyncProperty(troubled, async (play) => {
      const { journal } = await played({ ...play, troubles: play.troubles.map(([number]) => [number, false]) });
      check(journal);
    }),
    { numRuns: 40 },
  );
});
