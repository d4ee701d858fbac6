import { type EntryInput, type Reader, Thread, transcript } from "heddle";
import { foldLane } from "heddle/core";
import { assistant, inLane, note, summary, switchTo, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ai, context, given, refusalOf, shown, told } from "./given.ts";

const saidIn = (...entries: readonly EntryInput[]) =>
  transcript(given(...entries)).map(({ seq: _s, at: _a, lane: _l, ...said }) => said);

describe("a transcript", () => {
  test("says the same whichever vocabulary wrote it", () => {
    const conversation = saidIn(
      user("go"),
      toolCall("a", "look", { n: 1 }),
      toolResult("a", "look", { ok: true, value: "A" }),
      assistant("found"),
    );
    const agent = saidIn(
      ai("user", "go"),
      ai("assistant", "", { toolCalls: [{ id: "a", name: "look", arguments: { n: 1 } }] }),
      ai("tool", "A", { toolCallId: "a", name: "look" }),
      ai("assistant", "found"),
    );
    expect(agent).toEqual(conversation);
    expect(conversation).toEqual([
      { type: "user", content: "go" },
      { type: "assistant", content: "", toolCalls: [{ id: "a", name: "look", arguments: { n: 1 } }] },
      { type: "tool_result", toolCallId: "a", name: "look", content: "A", isError: false },
      { type: "assistant", content: "found" },
    ]);
  });

  test("equals the written messages, nothing repaired and nothing left out", () => {
    expect(
      saidIn(user(" "), toolResult("x", "look", "nobody asked"), ai("system", "Be quick."), toolCall("a", "look", {})),
    ).toEqual([
      { type: "user", content: " " },
      { type: "tool_result", toolCallId: "x", name: "look", content: "nobody asked", isError: false },
      { type: "system", content: "Be quick." },
      { type: "assistant", content: "", toolCalls: [{ id: "a", name: "look", arguments: {} }] },
    ]);
  });

  test("says where and when, and for which call and request", () => {
    const entry = user("go", { at: 42, refs: { callId: "m1", requestId: "r1" } });
    expect(transcript(given(note(), entry))).toEqual([
      { seq: 1, at: 42, lane: "default", callId: "m1", requestId: "r1", type: "user", content: "go" },
    ]);
    expect(transcript(given(ai("user", "go", { requestId: "r2" })))).toMatchObject([{ requestId: "r2" }]);
  });

  test("has summaries and what changed the lane in their places", () => {
    expect(
      saidIn(
        user("one"),
        summary(0, 9, "S"),
        context([{ role: "user", content: "anew" }], { baseSeq: 0 }),
        switchTo("side"),
      ),
    ).toEqual([
      { type: "user", content: "one" },
      { type: "summary", fromSeq: 0, toSeq: 1, content: "S" },
      { type: "boundary", operation: "replace", baseSeq: 0, messages: 1 },
      { type: "boundary", operation: "switch" },
    ]);
  });

  test.each([undefined, null, {}, { entries: "none" }])(
    "has no new beginning where a replace has %j as its context: the lane stays as it was",
    (resultContext) => {
      const operation = { type: "replace", reason: "manual", ...(resultContext !== undefined && { resultContext }) };
      const broken = { kind: "ai_context_operation", payload: { contextRef: "default", operation } };
      expect(saidIn(user("one"), broken)).toEqual([{ type: "user", content: "one" }]);
      expect(told(shown([user("one"), broken, user("two")]))).toEqual(["user: one", "user: two"]);
      expect(foldLane(given(user("one"), broken), "default").anchor).toBeUndefined();
    },
  );

  test("is of all lanes, or of one", () => {
    const thread = given(user("one"), inLane("side", user("two")), switchTo("side"), user("three"));
    expect(transcript(thread).map(({ lane, seq }) => [seq, lane])).toEqual([
      [0, "default"],
      [1, "side"],
      [2, "side"],
      [3, "side"],
    ]);
    expect(transcript(thread, { lane: "default" }).map(({ seq }) => seq)).toEqual([0]);
  });

  test("may be of one model call only", () => {
    const of = (callId: string) => ({ refs: { callId } });
    const thread = given(
      user("go"),
      toolCall("a", "look", {}, of("m1")),
      toolResult("a", "look", "A", of("m1")),
      assistant("found", of("m2")),
    );
    expect(transcript(thread, { callId: "m1" }).map(({ seq, type }) => [seq, type])).toEqual([
      [1, "assistant"],
      [2, "tool_result"],
    ]);
  });

  test("reads your own kinds where you say how", () => {
    const weather: Reader = { version: 1, read: ({ celsius }) => ({ type: "user", content: `${celsius}` }) };
    const thread = given(note(), { kind: "weather", payload: { celsius: 21 } });
    expect(transcript(thread)).toEqual([]);
    expect(transcript(thread, { readers: { weather } })).toMatchObject([{ seq: 1, type: "user", content: "21" }]);
  });

  test("refuses a thread of which only the end is loaded, unless a part is asked for", () => {
    const whole = given(user("a"), assistant("b"), user("c"));
    const base = { activeLane: "default", lanes: { default: { measure: 2 } } };
    const tail = Thread.fromJSON({ ...whole.toJSON(), firstSeq: 1, base, entries: whole.slice(1, 2) });
    expect(() => transcript(tail)).toThrow(expect.objectContaining({ code: "entry_not_loaded", seq: 0 }));
    expect(transcript(tail, { partial: true }).map(({ seq }) => seq)).toEqual([1, 2]);
  });

  test("refuses what it cannot read", () => {
    expect(refusalOf(() => transcript(given({ kind: "message", payload: { role: "user" } })))).toMatchObject({
      code: "entry_unreadable",
      seq: 0,
    });
    expect(refusalOf(() => transcript(given({ ...user("hi"), v: 2 })))).toMatchObject({
      code: "entry_too_new",
      seq: 0,
    });
  });

  test("refuses an unknown role with the code that a projection has for it", () => {
    const thread = given({ kind: "message", payload: { role: "critic", content: "hi" } });
    expect(refusalOf(() => transcript(thread))).toMatchObject({ code: "unknown_role", seq: 0 });
  });

  test("of an empty thread is empty", () => {
    expect(transcript(Thread.create())).toEqual([]);
  });
});
