import fc from "fast-check";
import { type Entry, type EntryInput, type Refs, Thread } from "heddle";
import type { RefValue } from "heddle/core";
import { expect, test } from "vitest";

const kind = fc.constantFrom("message", "note", "constructor", "__proto__", "x");
const key = fc.constantFrom("requestId", "iteration", "constructor", "toString");
const value = fc.constantFrom<RefValue>("r1", "1", 1, 0, -0, "", true, "true", false, null, "null");
const entry = fc.record({ kind, refs: fc.dictionary(key, value) as fc.Arbitrary<Refs> });

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ entries: fc.array(entry, { maxLength: 5 }), which: fc.nat() }) },
  fc.record({ bulk: fc.integer({ min: 60, max: 150 }), which: fc.nat() }), // above 64 a branch refers to its parent
  fc.record({ kinds: fc.array(kind, { maxLength: 3 }), which: fc.nat() }),
  fc.record({ key, value, which: fc.nat() }),
  fc.record({ atSeq: fc.nat(), which: fc.nat() }),
);

test("on every version, at any moment, an index answers what a filter over all entries answers", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const versions = [Thread.create()];
      for (const step of steps) {
        const thread = versions[step.which % versions.length] ?? expect.fail("there is always a version");
        if ("bulk" in step) versions.push(thread.append(Array.from({ length: step.bulk }, bulkEntry)));
        else if ("entries" in step) versions.push(thread.append(step.entries));
        else if ("atSeq" in step) versions.push(thread.fork({ atSeq: (step.atSeq % (thread.rev + 1)) - 1 }));
        else if ("kinds" in step)
          expect(thread.filterByKind(step.kinds)).toEqual(ofKinds(thread.toArray(), step.kinds));
        else expect(thread.filterByRef(step.key, step.value)).toEqual(withRef(thread.toArray(), step.key, step.value));
      }
      for (const thread of versions) {
        expect(thread.toArray().map(({ seq }) => seq)).toEqual([...Array(thread.rev).keys()]);
        expect(thread.append(thread.toArray())).toBe(thread);
        expect(thread.filterByKind("note")).toEqual(ofKinds(thread.toArray(), ["note"]));
        expect(thread.filterByRef("requestId", "r1")).toEqual(withRef(thread.toArray(), "requestId", "r1"));
      }
    }),
    { numRuns: 200 },
  );
});

function bulkEntry(_: unknown, n: number): EntryInput {
  return { kind: n % 3 === 0 ? "note" : "message", refs: n % 2 === 0 ? { requestId: "r1" } : { iteration: 1 } };
}

function ofKinds(entries: readonly Entry[], kinds: readonly string[]): Entry[] {
  return entries.filter(({ kind }) => kinds.includes(kind));
}

function withRef(entries: readonly Entry[], key: string, value: RefValue): Entry[] {
  return entries.filter(({ refs }) => Object.hasOwn(refs, key) && refs[key] === value);
}
