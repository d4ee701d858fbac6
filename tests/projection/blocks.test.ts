import type { EntryInput } from "heddle";
import { assistant, note, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ai, shown, told } from "./given.ts";

const INTERRUPTED = '{"error":{"type":"interrupted","message":"The call was interrupted; its outcome is unknown."}}';

describe("an exchange", () => {
  test.each([
    ["first", ["a", "b", "c"]],
    ["last", ["c", "b", "a"]],
    ["anyhow", ["b", "c", "a"]],
  ])("of parallel calls are in call order when they finish %s", (_, finished) => {
    const results = finished.map((id) => toolResult(id, "look", `found ${id}`));
    const projection = shown([user("look"), ...["a", "b", "c"].map((id) => toolCall(id, "look", {})), ...results]);
    expect(told(projection)).toEqual([
      "user: look",
      "assistant: -> look(a), look(b), look(c)",
      "tool a: found a",
      "tool b: found b",
      "tool c: found c",
    ]);
  });

  test("comes before a user message that was committed in the middle of it", () => {
    const projection = shown([
      user("look"),
      toolCall("a", "look", {}),
      user("and hurry"),
      toolCall("b", "look", {}),
      toolResult("b", "look", "B"),
      toolResult("a", "look", "A"),
    ]);
    expect(told(projection)).toEqual([
      "user: look",
      "assistant: -> look(a)",
      "tool a: A",
      "user: and hurry",
      "assistant: -> look(b)",
      "tool b: B",
    ]);
    expect(projection.provenance.map(({ seqs }) => seqs)).toEqual([[0], [1], [5], [2], [3], [4]]);
  });

  test("is one for all entries of one model call, whatever came between them", () => {
    const of = (callId: string) => ({ refs: { callId } });
    const projection = shown([
      user("look"),
      assistant("First this. ", of("m1")),
      toolCall("a", "look", {}, of("m1")),
      user("hurry"),
      assistant("Then that.", of("m1")),
      toolCall("b", "look", {}, of("m1")),
      toolResult("a", "look", "A", of("m1")),
      toolResult("b", "look", "B", of("m1")),
    ]);
    expect(told(projection)).toEqual([
      "user: look",
      "assistant: First this. <tool_call>Then that. -> look(a), look(b)",
      "tool a: A",
      "tool b: B",
      "user: hurry",
    ]);
  });

  test("takes in the text right before its calls and notes between them, and ends with the first result", () => {
    const projection = shown([
      user("look"),
      assistant("Let me see."),
      note(),
      toolCall("a", "look", {}),
      note(),
      toolCall("b", "look", {}),
      toolResult("a", "look", "A"),
      toolCall("c", "look", {}),
    ]);
    expect(told(projection)).toEqual([
      "user: look",
      "assistant: Let me see. -> look(a), look(b)",
      "tool a: A",
      `tool b: ${INTERRUPTED}`,
      "assistant: -> look(c)",
      `tool c: ${INTERRUPTED}`,
    ]);
    expect(projection.meta.repaired.calls).toEqual([5, 7]);
  });

  test("is joined by calls alone where no model call is named: a text, or an ai_message, begins a new one", () => {
    const call = (id: string) => ai("assistant", "", { toolCalls: [{ id, name: "look", arguments: {} }] });
    const answers = (...entries: readonly EntryInput[]) =>
      told(shown([user("look"), ...entries])).filter((line) => line.startsWith("assistant"));
    expect(answers(call("a"), call("b"))).toEqual(["assistant: -> look(a)", "assistant: -> look(b)"]);
    expect(answers(toolCall("a", "look", {}), call("b"))).toEqual(["assistant: -> look(a)", "assistant: -> look(b)"]);
    expect(answers(toolCall("a", "look", {}), assistant("Hm."))).toEqual(["assistant: -> look(a)", "assistant: Hm."]);
  });
});

describe("a result", () => {
  const call = [user("look"), toolCall("a", "look", {})];

  test("of text goes as it is, of anything else as JSON, of an error as JSON and marked", () => {
    const said = (result: Parameters<typeof toolResult>[2]) =>
      shown([...call, toolResult("a", "look", result)]).messages.at(-1);
    expect(said({ ok: true, value: "text" })).toMatchObject({ content: "text" });
    expect(said({ ok: true, value: { n: 1 } })).toMatchObject({ content: '{"n":1}' });
    expect(said("bare")).toMatchObject({ content: "bare" });
    expect(said(null)).toMatchObject({ content: "null" });
    expect(said({ ok: "maybe" })).toMatchObject({ content: '{"ok":"maybe"}' });
    expect(said("bare")).not.toHaveProperty("isError");
    expect(said({ ok: false, error: { type: "timeout", message: "too slow" } })).toMatchObject({
      content: '{"error":{"type":"timeout","message":"too slow"}}',
      isError: true,
    });
  });

  test("counts once: the first wins, and one without a call is left out", () => {
    const projection = shown([
      ...call,
      toolResult("x", "look", "nobody asked"),
      toolResult("a", "look", "first"),
      toolResult("a", "look", "second"),
    ]);
    expect(told(projection).slice(1)).toEqual(["assistant: -> look(a)", "tool a: first"]);
    expect(projection.meta.dropped).toEqual([2, 4]);
  });
});

describe("a message", () => {
  test("that is blank is left out", () => {
    const parts = ai("user", [{ type: "text", text: " \n" }]);
    const thinking = ai("assistant", "", { thinking: "Hm." });
    const projection = shown([user("hi"), assistant(""), user(" \t\n"), parts, thinking, ai("assistant", [])]);
    expect(told(projection)).toEqual(["user: hi"]);
    expect(projection.meta.dropped).toEqual([1, 2, 3, 4, 5]);
  });

  test("loses the blank ones of its texts", () => {
    const content = [
      { type: "text", text: "" },
      { type: "text", text: "hi" },
    ];
    expect(shown([ai("user", content)]).messages).toEqual([{ role: "user", content: [{ type: "text", text: "hi" }] }]);
  });

  test("of the system in mid-history is shown in the user's role, with a label", () => {
    const projection = shown([user("hi"), ai("system", "The loom is closed."), assistant("Hello")]);
    expect(told(projection)).toEqual(["user: hi", "user: System message:\nThe loom is closed.", "assistant: Hello"]);
    expect(projection.provenance[1]?.rule).toBe("relabelled");
  });
});

describe("a stand-in for the user's message", () => {
  test("opens a history that would begin with the model", () => {
    const projection = shown([assistant("Hello, I am new."), user("hi")]);
    expect(told(projection)).toEqual(["user: (continued)", "assistant: Hello, I am new.", "user: hi"]);
    expect(projection.provenance[0]).toMatchObject({ seqs: [], rule: "stand_in" });
    expect(projection.meta.repaired.standIns).toBe(1);
  });

  test("comes between an answer and calls of the next one", () => {
    const projection = shown([
      user("hi"),
      assistant("Hello", { refs: { callId: "m1" } }),
      toolCall("a", "look", {}, { refs: { callId: "m2" } }),
      toolResult("a", "look", "A"),
    ]);
    expect(told(projection)).toEqual([
      "user: hi",
      "assistant: Hello",
      "user: (continued)",
      "assistant: -> look(a)",
      "tool a: A",
    ]);
  });
});

test("whitespace at the end of an answer is cut only where it ends the list", () => {
  expect(told(shown([user("hi"), assistant("Hello \n")]))).toEqual(["user: hi", "assistant: Hello"]);
  expect(told(shown([user("hi"), assistant("Hello \n"), user("so?")]))[1]).toBe("assistant: Hello \n");
});
