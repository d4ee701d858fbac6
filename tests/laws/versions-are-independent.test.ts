import fc from "fast-check";
import { Thread } from "heddle";
import type { Ports } from "heddle/core";
import { expect, test } from "vitest";

/** Ids and times come from the entry's own text, so that a run does not depend on what ran before it. */
const still: Ports = { clock: () => 1, ids: (prefix) => `${prefix}_still` };
const grow = (thread: Thread, text: string) => thread.append({ id: `entry_${text}`, at: 2, payload: { text } });

const start = (length: number): Thread =>
  Array.from({ length }, (_, n) => `root-${n}`).reduce(grow, Thread.create({ id: "thread_root", ...still }));

/** How each branch leaves the trunk, and the order in which the branches take turns to grow. */
const branch = fc.record({ at: fc.nat(), how: fc.constantFrom("append", "up to", "fork") });
const plan = fc.record({
  length: fc.integer({ min: 0, max: 5 }),
  branches: fc.array(branch, { minLength: 1, maxLength: 4 }),
  turns: fc.array(fc.nat(), { maxLength: 20 }),
});

function leave(trunk: Thread, { at, how }: { at: number; how: string }, index: number): Thread {
  const atSeq = (at % (trunk.rev + 1)) - 1;
  if (how === "append") return trunk;
  return how === "up to" ? trunk.upTo(atSeq) : trunk.fork({ atSeq, id: `thread_${index}` });
}

test("branches that grow by turns, trunk and all, are what each would have become alone", () => {
  fc.assert(
    fc.property(plan, ({ length, branches, turns }) => {
      const trunk = start(length);
      const together = branches.map((branch, index) => leave(trunk, branch, index));
      const texts = branches.map((): string[] => []);
      for (const [turn, picked] of turns.entries()) {
        const index = picked % branches.length;
        together[index] = grow(together[index] ?? trunk, `${turn}`);
        texts[index]?.push(`${turn}`);
      }
      const alone = branches.map((branch, index) =>
        (texts[index] ?? []).reduce(grow, leave(start(length), branch, index)),
      );
      expect(JSON.stringify(together)).toBe(JSON.stringify(alone));
      expect(JSON.stringify(trunk)).toBe(JSON.stringify(start(length)));
    }),
    { numRuns: 300 },
  );
});

test("branches share the entries of their common past, the very same objects", () => {
  fc.assert(
    fc.property(plan, ({ length, branches }) => {
      const trunk = start(length);
      for (const [index, branch] of branches.entries()) {
        const grown = grow(grow(leave(trunk, branch, index), "a"), "b");
        expect(grown.rev).toBeGreaterThan(1);
        for (const { seq } of grown.slice(0, grown.lastSeq - 2)) expect(grown.at(seq)).toBe(trunk.at(seq));
      }
    }),
  );
});
