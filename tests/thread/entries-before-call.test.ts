import { type EntryInput, type JsonObject, Thread } from "heddle";
import { describe, expect, test } from "vitest";
import { assistant, errorOf, note, textsOf, toolCall, toolResult, user } from "./builders.ts";

const seqsBefore = (callId: string, ...entries: EntryInput[]) =>
  Thread.create({ id: "thread_a" })
    .append(entries)
    .entriesBeforeCall(callId)
    .map(({ seq }) => seq);

const recorded = (basisLastSeq: unknown): JsonObject => ({ call: { basisLastSeq } as JsonObject });

describe("entriesBeforeCall", () => {
  test("goes by the basis recorded with the call, not by where its answer stands", () => {
    const steered = [user("2+2?"), user("quick!"), assistant("4", { callId: "k1" }, recorded(0))];
    expect(seqsBefore("k1", ...steered)).toEqual([0]);
    expect(seqsBefore("k1", assistant("hello", { callId: "k1" }, recorded(-1)))).toEqual([]);
  });

  test("finds the basis on any entry of the call", () => {
    const round = [
      user("2+2?"),
      note("x"),
      toolCall("t1", { callId: "k1" }),
      assistant("4", { callId: "k1" }, recorded(0)),
    ];
    expect(seqsBefore("k1", ...round)).toEqual([0]);
  });

  test.each([[1.5], ["0"], [null], [-2], [3], [99]])("takes no basis that cannot be one: %j", (basis) => {
    const odd = [
      user("a"),
      note("b"),
      toolCall("t1", { callId: "k1" }),
      assistant("c", { callId: "k1" }, recorded(basis)),
    ];
    expect(seqsBefore("k1", ...odd)).toEqual([0, 1]);
  });

  test("in a log without basis goes to the first entry that the model made", () => {
    const call = { callId: "k1" };
    const round = [user("2+2?", call), toolCall("t1", call), toolCall("t2", call), toolResult("t2", call)];
    expect(seqsBefore("k1", ...round, toolResult("t1", call), assistant("4", { callId: "k2" }))).toEqual([0]);
    expect(seqsBefore("k2", ...round, toolResult("t1", call), assistant("4", { callId: "k2" }))).toEqual([
      0, 1, 2, 3, 4,
    ]);
  });

  test("keeps apart calls whose parallel results came in late", () => {
    const log = [
      user("both"),
      toolCall("t1", { callId: "k1" }),
      toolCall("t2", { callId: "k1" }),
      toolResult("t1", { callId: "k1" }),
      assistant("half", { callId: "k2" }),
      toolResult("t2", { callId: "k1" }),
      assistant("whole", { callId: "k3" }),
    ];
    expect([1, 2, 3].map((n) => seqsBefore(`k${n}`, ...log).length)).toEqual([1, 4, 6]);
  });

  test("reads the AI kinds too: the answer is the model's, a tool's result is not", () => {
    const ai = (role: string): EntryInput => ({
      kind: "ai_message",
      payload: { role, content: "x" },
      refs: { callId: "k1" },
    });
    expect(seqsBefore("k1", user("a"), ai("tool"), ai("assistant"))).toEqual([0, 1]);
    expect(seqsBefore("k1", user("a"), { kind: "error", refs: { callId: "k1" } })).toEqual([0]);
  });

  test("gives entries, the same ones as the thread has", () => {
    const thread = Thread.create().append([note("a"), assistant("b", { callId: "k" })]);
    expect(thread.entriesBeforeCall("k")[0]).toBe(thread.at(0));
    expect(textsOf(thread.upTo(0))).toEqual(["a"]);
  });

  test("knows only the calls of its own version", () => {
    const before = Thread.create({ id: "thread_a" }).append(user("a"));
    const after = before.append(assistant("b", { callId: "k" }));
    expect(after.entriesBeforeCall("k")).toHaveLength(1);
    expect(errorOf(() => before.entriesBeforeCall("k"))).toMatchObject({ code: "call_not_found" });
  });

  test("of an unknown call is an error that names it", () => {
    const thread = Thread.create({ id: "thread_a" }).append([
      user("a"),
      toolResult("t", { callId: "k" }),
      assistant("b"),
    ]);
    for (const callId of ["nobody", "k", ""]) {
      const error = errorOf(() => thread.entriesBeforeCall(callId));
      expect(error).toMatchObject({ name: "ThreadError", code: "call_not_found" });
      expect(error.message).toContain(JSON.stringify(callId));
    }
    for (const callId of [undefined, null, 5, 5n, Symbol("k"), {}] as never[]) {
      expect(errorOf(() => thread.entriesBeforeCall(callId))).toMatchObject({ code: "invalid_query", path: "callId" });
    }
  });
});
