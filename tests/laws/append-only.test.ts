import fc from "fast-check";
import { type EntryInput, Thread } from "heddle";
import { expect, test } from "vitest";

/** A version of a thread, and beside it the plain array that says what it must answer for ever. */
interface Version {
  readonly thread: Thread;
  readonly said: readonly Said[];
  readonly text: string;
}

interface Said {
  readonly id: string;
  readonly kind: string;
  readonly payload: { readonly n: number };
  readonly refs: { readonly requestId: string };
}

/** Which version an operation starts from: any of those made so far. */
const which = fc.nat();
const said = fc.record({
  id: fc.integer({ min: 0, max: 1e9 }).map((n) => `entry_${n}`),
  kind: fc.constantFrom("message", "tool_call", "note"),
  payload: fc.record({ n: fc.nat({ max: 3 }) }),
  refs: fc.record({ requestId: fc.constantFrom("r1", "r2") }),
});
const batch = fc.uniqueArray(said, { maxLength: 4, selector: ({ id }) => id });

type Operation =
  | { readonly type: "append"; readonly which: number; readonly batch: readonly Said[] }
  | { readonly type: "append again" | "refused batch" | "ask" | "spoil"; readonly which: number }
  | { readonly type: "up to" | "fork"; readonly which: number; readonly at: number };

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("append" as const), which, batch }) },
  fc.record({ type: fc.constantFrom("append again", "refused batch", "ask", "spoil"), which }),
  fc.record({ type: fc.constantFrom("up to", "fork"), which, at: fc.nat() }),
);

test("nothing that happens later changes what a version answers", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 30 }), (operations) => {
      const versions = [version(Thread.create({ id: "thread_a" }), [])];
      for (const operation of operations) {
        const from = versions[operation.which % versions.length] ?? expect.fail("there is always a version");
        const next = perform(operation, from);
        if (next !== undefined) versions.push(next);
      }
      for (const each of versions) check(each);
    }),
    { numRuns: 200 },
  );
});

function perform(operation: Operation, { thread, said }: Version): Version | undefined {
  switch (operation.type) {
    case "append": {
      const fresh = operation.batch.filter(({ id }) => said.every((known) => known.id !== id));
      return version(thread.append(fresh), [...said, ...fresh]);
    }
    case "append again":
      return version(thread.append(said), said);
    case "refused batch":
      expect(() => thread.append([{ id: "entry_x" }, { payload: { bad: Number.NaN } }])).toThrow("NaN");
      return undefined;
    case "up to": {
      const length = operation.at % (said.length + 1);
      return version(thread.upTo(length - 1), said.slice(0, length));
    }
    case "fork": {
      const length = operation.at % (said.length + 1);
      return version(thread.fork({ atSeq: length - 1 }), said.slice(0, length));
    }
    case "ask":
      thread.filterByKind(["note", "message"]);
      thread.filterByRef("requestId", "r1");
      return undefined;
    case "spoil":
      for (const list of [thread.toArray(), thread.filterByKind("note"), thread.filterByRef("requestId", "r1")])
        list.pop();
      return undefined;
  }
}

function version(thread: Thread, said: readonly (Said & EntryInput)[]): Version {
  return { thread, said, text: JSON.stringify(thread) };
}

function check({ thread, said, text }: Version): void {
  const expected = said.map(({ id, kind, payload, refs }, seq) => ({
    id,
    seq,
    at: expect.any(Number),
    kind,
    payload,
    refs,
  }));
  expect(JSON.stringify(thread)).toBe(text);
  expect(thread.toArray()).toEqual(expected);
  expect(thread).toMatchObject({ rev: said.length, entryCount: said.length, lastSeq: said.length - 1, firstSeq: 0 });
  expect(thread.last()).toEqual(expected.at(-1));
  for (const seq of [...expected.keys(), said.length, said.length + 1]) expect(thread.at(seq)).toEqual(expected[seq]);
  expect(thread.slice(1, 3)).toEqual(expected.slice(1, 4));
  expect(thread.filterByKind("note")).toEqual(expected.filter(({ kind }) => kind === "note"));
  expect(thread.filterByKind(["note", "message"])).toEqual(expected.filter(({ kind }) => kind !== "tool_call"));
  expect(thread.filterByRef("requestId", "r1")).toEqual(expected.filter(({ refs }) => refs.requestId === "r1"));
}
