import fc from "fast-check";
import type { Message } from "heddle";
import { expect, test } from "vitest";
import { diffMessages, sameMessages } from "../../../studio-ui/saw/diff.ts";

const lists = fc.array(
  fc.constantFrom("a", "b", "c").map((content): Message => ({ role: "user", content })),
  { maxLength: 12 },
);

test("a diff names every message of both lists once, in order, and calls the same only what is", () => {
  fc.assert(
    fc.property(lists, lists, (before, after) => {
      const changes = diffMessages(before, after);
      expect(changes.flatMap(({ a }) => (a === undefined ? [] : [a]))).toEqual(before.map((_, index) => index));
      expect(changes.flatMap(({ b }) => (b === undefined ? [] : [b]))).toEqual(after.map((_, index) => index));
      for (const { kind, a = -1, b = -1 } of changes) {
        if (kind === "same") expect(after[b]).toEqual(before[a]);
        if (kind === "changed") expect(after[b]).not.toEqual(before[a]);
      }
    }),
  );
});

test("what two lists begin with together stays the same in their diff", () => {
  fc.assert(
    fc.property(lists, lists, (before, after) => {
      const shared = sameMessages(before, after);
      const kinds = diffMessages(before, after).slice(0, shared);
      expect(kinds).toEqual(Array.from({ length: shared }, (_, i) => ({ kind: "same", a: i, b: i })));
    }),
  );
});
