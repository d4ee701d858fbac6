import fc from "fast-check";
import {
  type ExplainedEntry,
  explain,
  memoryStore,
  ProjectionError,
  type ProjectionInput,
  project,
  projectFromStore,
  type Thread,
  ThreadError,
} from "heddle";
import { expect, test } from "vitest";
import { anyInput } from "../projection/support/threads.ts";
import { expectOften } from "../support/case-budget.ts";

type Outcome = { readonly value: unknown } | { readonly refused: string };

test("a window read from a store is the window over the whole thread", async () => {
  const seen = { cases: 0, shown: 0 };
  await fc.assert(
    fc.asyncProperty(anyInput, async ({ thread, ...rest }) => {
      fc.pre(thread.rev > 0);
      seen.cases++;
      await using store = await stored(thread);
      const expected = await outcome(() => project({ ...rest, thread }));
      expect(await outcome(() => projectFromStore(store.store, thread.id, rest))).toEqual(expected);
      seen.shown += "value" in expected ? 1 : 0;
    }),
    { numRuns: 200 },
  );
  expectOften(seen.shown, seen.cases, 0.3);
});

test("a tail of any length gives the window of the whole thread, or says what must be loaded", async () => {
  const seen = { cases: 0, short: 0, enough: 0, lanes: 0 };
  await fc.assert(
    fc.asyncProperty(anyInput, fc.integer({ min: 1, max: 12 }), async ({ thread, ...rest }, last) => {
      fc.pre(thread.rev > 0);
      seen.cases++;
      await using store = await stored(thread);
      const expected = await outcome(() => project({ ...rest, thread }));
      let lanes: readonly string[] = [];
      for (let rows = last; ; ) {
        const tail = (await store.store.load(thread.id, { last: rows, lanes })) ?? expect.fail("it was stored");
        const lane = laneNeededBy({ ...rest, thread: tail });
        if (lane !== undefined) {
          expect([lane, lanes]).toEqual([rest.lane, []]);
          lanes = [lane];
          seen.lanes++;
          continue;
        }
        const needed = neededBy({ ...rest, thread: tail });
        if (needed === undefined) {
          expect(await outcome(() => project({ ...rest, thread: tail }))).toEqual(expected);
          if ("value" in expected) expectSameExplained({ ...rest, thread }, { ...rest, thread: tail });
          seen.enough += tail.firstSeq > 0 ? 1 : 0;
          return;
        }
        expect(needed).toBeGreaterThanOrEqual(0);
        expect(needed).toBeLessThan(tail.firstSeq);
        rows = thread.rev - needed;
        seen.short++;
      }
    }),
    { numRuns: 300 },
  );
  expectOften(seen.short, seen.cases, 0.1);
  expectOften(seen.enough, seen.cases, 0.1);
  expectOften(seen.lanes, seen.cases, 0.02);
});

/** Every entry is in one row, in order, and what is shown has the rows of the whole thread. */
function expectSameExplained(whole: ProjectionInput, tail: ProjectionInput): void {
  const rows = explain(tail);
  let next = 0;
  for (const { seq, fromSeq, toSeq, status, rule, tokens } of rows) {
    expect(seq).toBe(next);
    const isLoaded = status !== "not_loaded";
    expect([fromSeq, isLoaded, toSeq === undefined, rule === "before_loaded"]).toEqual(
      isLoaded ? [undefined, true, true, false] : [seq, false, false, true],
    );
    if (!isLoaded) expect(tokens).toBe(0);
    next = (toSeq ?? seq) + 1;
  }
  expect(next).toBe(whole.thread.rev);
  const shown = (explained: readonly ExplainedEntry[]) =>
    explained.filter(({ status }) => ["shown", "cleared", "repaired"].includes(status));
  expect(shown(rows)).toEqual(shown(explain(whole)));
}

async function stored(thread: Thread) {
  const store = memoryStore();
  const entries = thread.toArray().map(({ seq: _seq, ...entry }) => entry);
  await store.append(thread.id, entries);
  return { store, [Symbol.asyncDispose]: () => store.close() };
}

function neededBy(input: ProjectionInput): number | undefined {
  try {
    project(input);
  } catch (error) {
    if (ProjectionError.isInstance(error) && error.code === "tail_too_short") return error.neededFromSeq;
  }
  return undefined;
}

function laneNeededBy(input: ProjectionInput): string | undefined {
  try {
    project(input);
  } catch (error) {
    if (ThreadError.isInstance(error) && error.code === "lane_not_loaded") return error.lane;
  }
  return undefined;
}

async function outcome(call: () => unknown): Promise<Outcome> {
  try {
    return { value: await call() };
  } catch (error) {
    if (!ProjectionError.isInstance(error)) throw error; // a crash is no answer
    return { refused: error.code };
  }
}
