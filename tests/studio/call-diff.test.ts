import fc from "fast-check";
import type { RebuiltCallView } from "heddle/studio";
import { expect, test } from "vitest";
import { changesOf, commonStart } from "../../src/studio/call-diff.ts";

/** Of a call only its messages count here; each is made of entries of its own. */
function shown(contents: readonly string[], from: number): RebuiltCallView {
  const messages = contents.map((content) => ({ role: "user" as const, content }));
  const provenance = contents.map((_, index) => ({ segment: "history" as const, seqs: [from + index], tokens: 1 }));
  return { messages, provenance } as unknown as RebuiltCallView; // nothing else is looked at
}

const list = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 12 });

/** The length of the longest common subsequence, as its definition says. */
function longest(a: readonly string[], b: readonly string[]): number {
  const [first, ...rest] = a;
  if (first === undefined) return 0;
  const at = b.indexOf(first);
  return Math.max(longest(rest, b), at < 0 ? 0 : 1 + longest(rest, b.slice(at + 1)));
}

test("a diff lists each message of both lists once, in order, and as many as possible as the same", () => {
  fc.assert(
    fc.property(list, list, (a, b) => {
      const changes = changesOf(shown(a, 0), shown(b, 1000));
      expect(changes.flatMap((change) => change.a ?? [])).toEqual(a.map((_, index) => index));
      expect(changes.flatMap((change) => change.b ?? [])).toEqual(b.map((_, index) => index));
      const same = changes.filter(({ kind }) => kind === "same");
      expect(same.length).toBe(longest(a, b));
      for (const { a: left, b: right } of same) expect(a[left ?? -1]).toBe(b[right ?? -1]);
    }),
  );
});

test("a message of the same entries that reads otherwise has changed, and is not one gone and one come", () => {
  const changes = changesOf(shown(["a", "b", "c"], 0), shown(["a", "x", "c", "d"], 0));
  expect(changes.map(({ kind }) => kind)).toEqual(["same", "changed", "same", "added"]);
  expect(changes[1]).toMatchObject({ a: 1, b: 1 });
});

test("messages that both lists begin with stay the same in the diff", () => {
  fc.assert(
    fc.property(list, list, (a, b) => {
      const [before, after] = [shown(a, 0), shown(b, 1000)];
      const common = commonStart(before.messages, after.messages);
      const start = changesOf(before, after).slice(0, common);
      expect(start).toEqual(start.map((_, index) => ({ index, kind: "same", a: index, b: index })));
      expect(start).toHaveLength(common);
    }),
  );
});
