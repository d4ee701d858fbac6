import { Thread } from "heddle";
import { describe, expect, test } from "vitest";
import { assistant, errorOf, note, notes, textsOf, toolCall, toolResult, user } from "./builders.ts";

const seqs = (entries: readonly { seq: number }[]) => entries.map(({ seq }) => seq);

const thread = Thread.create({ id: "thread_q" }).append([
  user("2+2?", { requestId: "r1" }),
  toolCall("c1", { requestId: "r1", iteration: 1 }),
  toolResult("c1", { requestId: "r1", iteration: 1 }),
  assistant("4", { requestId: "r1", iteration: 2 }),
  user("and 3+3?", { requestId: "r2" }),
  note("a thought"),
]);

describe("reading by place", () => {
  test("last and at give entries, and undefined where there is none", () => {
    expect(thread.last()).toBe(thread.at(5));
    expect(thread.at(0)?.payload).toEqual({ role: "user", content: "2+2?" });
    expect([thread.at(6), thread.at(-1), thread.at(1e9)]).toEqual([undefined, undefined, undefined]);
  });

  test("slice includes both ends and stays within the thread", () => {
    expect(seqs(thread.slice(1, 3))).toEqual([1, 2, 3]);
    expect(seqs(thread.slice(2, 2))).toEqual([2]);
    expect(seqs(thread.slice(-5, 1))).toEqual([0, 1]);
    expect(seqs(thread.slice(4, 99))).toEqual([4, 5]);
    expect(seqs(thread.slice(0, Number.POSITIVE_INFINITY))).toEqual([0, 1, 2, 3, 4, 5]);
    expect([thread.slice(3, 2), thread.slice(9, 12), thread.slice(0, -1)]).toEqual([[], [], []]);
  });

  test("toArray gives all of them, a new list each time", () => {
    expect(seqs(thread.toArray())).toEqual([0, 1, 2, 3, 4, 5]);
    expect(thread.toArray()).not.toBe(thread.toArray());
  });

  test("a place that is no whole number is an error", () => {
    for (const call of [() => thread.at(1.5), () => thread.slice(0, Number.NaN), () => thread.upTo(0.5)]) {
      expect(errorOf(call)).toMatchObject({ name: "ThreadError", code: "seq_out_of_range" });
    }
  });
});

describe("filterByKind", () => {
  test("gives the entries of one kind, or of several, in their order", () => {
    expect(seqs(thread.filterByKind("message"))).toEqual([0, 3, 4]);
    expect(seqs(thread.filterByKind(["tool_result", "tool_call", "message", "message"]))).toEqual([0, 1, 2, 3, 4]);
    expect(thread.filterByKind("summary")).toEqual([]);
    expect(thread.filterByKind([])).toEqual([]);
  });

  test("knows no kinds that are only names of JavaScript's own", () => {
    for (const kind of ["constructor", "__proto__", "toString", ""]) expect(thread.filterByKind(kind)).toEqual([]);
    const odd = thread.append([{ kind: "constructor" }, { kind: "__proto__" }]);
    expect(seqs(odd.filterByKind("__proto__"))).toEqual([7]);
    expect(seqs(odd.filterByKind("constructor"))).toEqual([6]);
  });
});

describe("filterByRef", () => {
  test("gives the entries that carry the ref", () => {
    expect(seqs(thread.filterByRef("requestId", "r1"))).toEqual([0, 1, 2, 3]);
    expect(seqs(thread.filterByRef("iteration", 1))).toEqual([1, 2]);
    expect(thread.filterByRef("requestId", "r3")).toEqual([]);
    expect(thread.filterByRef("nobody", "r1")).toEqual([]);
  });

  test("distinguishes numbers, text, booleans and null", () => {
    const values = [1, "1", true, "true", null, "null", 0, ""];
    const mixed = Thread.create().append(values.map((x) => note("", { x })));
    expect(values.map((x) => seqs(mixed.filterByRef("x", x)))).toEqual(values.map((_, seq) => [seq]));
    expect(seqs(mixed.filterByRef("x", -0))).toEqual([6]);
  });

  test("knows no refs that are only names of JavaScript's own", () => {
    const odd = thread.append(note("", { constructor: "mine" } as never));
    expect(seqs(odd.filterByRef("constructor", "mine"))).toEqual([6]);
    const none = ["constructor", "toString", "__proto__"].flatMap((key) => thread.filterByRef(key, "mine"));
    expect(none).toEqual([]);
  });
});

describe("an older version", () => {
  test("is asked after newer ones were, and still sees only its own", () => {
    const newer = thread.append([user("more", { requestId: "r1" })]);
    expect(seqs(newer.filterByKind("message"))).toEqual([0, 3, 4, 6]);
    expect(seqs(thread.filterByKind("message"))).toEqual([0, 3, 4]);
    expect(seqs(newer.filterByRef("requestId", "r1"))).toEqual([0, 1, 2, 3, 6]);
    expect(seqs(thread.filterByRef("requestId", "r1"))).toEqual([0, 1, 2, 3]);
    expect(seqs(thread.upTo(2).filterByRef("requestId", "r1"))).toEqual([0, 1, 2]);
    expect(thread.slice(5, 9)).toHaveLength(1);
  });

  test("branches, and each branch sees its own", () => {
    const left = thread.append(user("left", { side: "l" }));
    const right = thread.append([note("x"), user("right", { side: "r" })]);
    expect(seqs(left.filterByKind("message"))).toEqual([0, 3, 4, 6]);
    expect(seqs(right.filterByKind("message"))).toEqual([0, 3, 4, 7]);
    expect([left.filterByRef("side", "r"), right.filterByRef("side", "l")]).toEqual([[], []]);
  });
});

describe("upTo", () => {
  test("is the thread as it was when that entry was its last", () => {
    const versions = [notes(0)];
    for (const n of [0, 1, 2, 3]) versions.push((versions[n] ?? notes(0)).append(note(String(n))));
    const now = versions[4] ?? notes(0);
    for (const then of versions) expect(JSON.stringify(now.upTo(then.lastSeq))).toBe(JSON.stringify(then));
  });

  test("of the last seq is the same value, of -1 the empty thread", () => {
    const three = notes(3);
    expect(three.upTo(2)).toBe(three);
    expect(three.upTo(-1)).toMatchObject({ id: "thread_a", rev: 0, lastSeq: -1, updatedAt: three.createdAt });
  });

  test("is independent of later appends", () => {
    const three = notes(3);
    expect(textsOf(three.upTo(0).append(note("new")))).toEqual(["0", "new"]);
    expect(textsOf(three.upTo(-1).append(note("first")))).toEqual(["first"]);
    expect(textsOf(three)).toEqual(["0", "1", "2"]);
  });

  test("outside the thread is an error that says how far it goes", () => {
    for (const seq of [3, -2, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(errorOf(() => notes(3).upTo(seq))).toMatchObject({ code: "seq_out_of_range", seq });
    }
    expect(errorOf(() => notes(3).upTo(7)).message).toBe(
      "Seq 7 is not between -1 and 2, the last entry of thread thread_a.",
    );
  });
});
