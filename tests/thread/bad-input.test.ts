import { type EntryInput, HeddleError, Thread } from "heddle";
import { describe, expect, test } from "vitest";
import { errorOf, notes } from "./builders.ts";

const thread = notes(3);
const before = JSON.stringify(thread);

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

const throwing = (field: string) =>
  Object.defineProperty({}, field, {
    enumerable: true,
    get: () => {
      throw new Error("no");
    },
  });
const cycle: unknown[] = [];
cycle.push(cycle);

const hostile: [string, unknown][] = [
  ["undefined", undefined],
  ["null", null],
  ["true", true],
  ["a fraction", 1.5],
  ["NaN", Number.NaN],
  ["a negative", -7],
  ["a large number", 2 ** 60],
  ["text", "x"],
  ["a lone surrogate", "\ud800"],
  ["a bigint", 5n],
  ["a symbol", Symbol("x")],
  ["a function", () => 5],
  ["an object", { a: 1 }],
  ["an object that is no text", Object.create(null)],
  ["a list", [1, "a"]],
  ["a hole", new Array(3)],
  ["a cycle", cycle],
  ["a date", new Date()],
  ["a map", new Map([["kind", "x"]])],
  ["a thread", thread],
  ["a __proto__ key", JSON.parse('{"__proto__":{"kind":"x"}}')],
  ["a revoked proxy", revoked({})],
  ["a revoked list", revoked([])],
  ...[
    "kind",
    "id",
    "payload",
    "refs",
    "at",
    "v",
    "metadata",
    "clock",
    "ids",
    "atSeq",
    "format",
    "entries",
    "constructor",
  ].map((field): [string, unknown] => [`a ${field} that throws`, throwing(field)]),
];

const calls: [string, (value: never) => unknown][] = [
  ["create", (value) => Thread.create(value)],
  ["create id", (id) => Thread.create({ id })],
  ["create metadata", (metadata) => Thread.create({ metadata })],
  ["create clock", (clock) => Thread.create({ clock }).append({})],
  ["create ids", (ids) => Thread.create({ ids }).append({})],
  ["fromJSON", (value) => Thread.fromJSON(value)],
  ["fromJSON options", (value) => Thread.fromJSON(thread.toJSON(), value)],
  ...["id", "rev", "createdAt", "updatedAt", "metadata", "firstSeq", "base", "entries"].map(
    (field): [string, (value: never) => unknown] => [
      `fromJSON ${field}`,
      (value) => Thread.fromJSON({ ...thread.toJSON(), [field]: value }),
    ],
  ),
  ["fromJSON entry", (value) => Thread.fromJSON({ ...thread.toJSON(), entries: [value] })],
  ["append", (value) => thread.append(value)],
  ["append list", (value) => thread.append([{}, value])],
  ...["id", "at", "v", "kind", "payload", "refs"].map((field): [string, (value: never) => unknown] => [
    `append ${field}`,
    (value) => thread.append({ [field]: value }),
  ]),
  ["append ref", (value) => thread.append({ refs: { value } })],
  ["at", (value) => thread.at(value)],
  ["slice from", (value) => thread.slice(value, 2)],
  ["slice to", (value) => thread.slice(0, value)],
  ["filterByKind", (value) => thread.filterByKind(value)],
  ["filterByKind list", (value) => thread.filterByKind([value])],
  ["filterByRef key", (value) => thread.filterByRef(value, "x")],
  ["filterByRef value", (value) => thread.filterByRef("x", value)],
  ["upTo", (value) => thread.upTo(value)],
  ["entriesBeforeCall", (value) => thread.entriesBeforeCall(value)],
  ["fork", (value) => thread.fork(value)],
  ["fork atSeq", (atSeq) => thread.fork({ atSeq })],
  ["fork id", (id) => thread.fork({ atSeq: 0, id })],
  ["fork metadata", (metadata) => thread.fork({ atSeq: 0, metadata })],
];

/** What came of a call: a new thread, an answer, or the code of a HeddleError; anything else thrown is a bug. */
function outcome(call: () => unknown): string {
  try {
    const value = call();
    return Thread.isThread(value) ? `thread of ${value.rev}` : "answer";
  } catch (error) {
    if (!HeddleError.isInstance(error)) throw error;
    if (error.code === "") throw error;
    return "error";
  }
}

describe("whatever is passed in", () => {
  test.each(calls)("%s works or throws an error of ours, and the thread stays as it was", (_, call) => {
    for (const [name, value] of hostile) {
      expect(
        outcome(() => call(value as never)),
        name,
      ).toMatch(/^(thread of \d+|answer|error)$/);
      expect(JSON.stringify(thread), name).toBe(before);
    }
  });

  test.each(calls)("%s never makes a thread that cannot be written and read again", (_, call) => {
    for (const [name, value] of hostile) {
      const made = quietly(() => call(value as never));
      if (Thread.isThread(made)) {
        expect(JSON.stringify(Thread.fromJSON(JSON.parse(JSON.stringify(made)))), name).toBe(JSON.stringify(made));
      }
    }
    expect.hasAssertions();
    expect(JSON.stringify(thread)).toBe(before);
  });
});

describe("wrong arguments say what and where", () => {
  const entry = (input: unknown) => () => thread.append(input as EntryInput);
  const never = (value: unknown) => value as never;

  test.each<[string, () => unknown, string, string]>([
    ["no entry", entry(undefined), "invalid_entry", "entry"],
    ["a text", entry("hello"), "invalid_entry", "entry"],
    ["a thread", entry(thread), "invalid_entry", "entry"],
    ["a list in a list", entry([[{}]]), "invalid_entry", "entries[0]"],
    ["a revoked entry", entry(revoked({})), "invalid_entry", "entry"],
    ["a revoked one in a list", entry([{}, revoked({})]), "invalid_entry", "entries[1]"],
    ["an entry that throws", entry(throwing("payload")), "invalid_entry", "entry"],
    ["a revoked list", entry(revoked([])), "invalid_entry", "entry"],
    ["an id of white space", entry({ id: " " }), "invalid_id", "entry.id"],
    ["a time with a fraction", entry({ at: 1.5 }), "invalid_entry", "entry.at"],
    ["a time as a date", entry({ at: new Date() }), "invalid_entry", "entry.at"],
    ["version 0", entry({ v: 0 }), "invalid_entry", "entry.v"],
    ["no kind", entry({ kind: "" }), "invalid_entry", "entry.kind"],
    ["a long kind", entry({ kind: "k".repeat(129) }), "invalid_entry", "entry.kind"],
    ["a kind of two lines", entry({ kind: "a\nb" }), "invalid_entry", "entry.kind"],
    ["refs as text", entry({ refs: "r1" }), "invalid_refs", "entry.refs"],
    ["a ref that is a list", entry({ refs: { requestId: ["r"] } }), "invalid_refs", "entry.refs.requestId"],
    ["a ref of NaN", entry({ refs: { n: Number.NaN } }), "invalid_refs", "entry.refs.n"],
    ["a ref of half a character", entry({ refs: { n: "\ud800" } }), "invalid_refs", "entry.refs.n"],
    ["a ref __proto__", entry({ refs: JSON.parse('{"__proto__":1}') }), "invalid_refs", "entry.refs"],
    ["a ref with a symbol key", entry({ refs: { [Symbol("x")]: 1 } }), "invalid_refs", "entry.refs"],
    ["refs that throw", entry({ refs: throwing("a") }), "invalid_refs", "entry.refs"],
    ["options as text", () => Thread.create(never("x")), "invalid_options", "options"],
    ["options of null", () => Thread.create(never(null)), "invalid_options", "options"],
    ["options that throw", () => Thread.create(throwing("id")), "invalid_options", "options"],
    ["no fork options", () => thread.fork(never(undefined)), "invalid_options", "options"],
    ["no atSeq", () => thread.fork(never({})), "seq_out_of_range", "seq"],
    ["a place as text", () => thread.at(never("1")), "seq_out_of_range", "seq"],
    ["a place as a symbol", () => thread.at(never(Symbol("x"))), "seq_out_of_range", "seq"],
    ["a bound as text", () => thread.slice(0, never("2")), "seq_out_of_range", "seq"],
    ["no bounds", () => thread.slice(never(undefined), never(undefined)), "seq_out_of_range", "seq"],
    ["no kinds", () => thread.filterByKind(never(undefined)), "invalid_query", "kinds"],
    ["a kind that is a number", () => thread.filterByKind(never(["a", 5])), "invalid_query", "kinds"],
    ["no ref key", () => thread.filterByRef(never(undefined), "x"), "invalid_query", "key"],
    ["no ref value", () => thread.filterByRef("requestId", never(undefined)), "invalid_query", "value"],
    ["a ref value that is an object", () => thread.filterByRef("requestId", never({})), "invalid_query", "value"],
  ])("%s", (_, call, code, path) => {
    const error = errorOf(call);
    expect(error).toMatchObject({ name: "ThreadError", code, path });
    expect(error.message.length).toBeGreaterThan(10);
  });
});

test("a getter that throws is the cause of the error", () => {
  const cause = errorOf(() => thread.append(throwing("payload"))).cause;
  expect(cause).toEqual(new Error("no"));
  expect(errorOf(() => Thread.create(throwing("id"))).cause).toEqual(cause);
});

function quietly(call: () => unknown): unknown {
  try {
    return call();
  } catch {
    return undefined;
  }
}
