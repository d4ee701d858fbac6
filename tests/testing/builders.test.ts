import { Thread } from "heddle";
import { assistant, inLane, note, notes, replace, summary, switchTo, toolCall, toolResult, user } from "heddle/testing";
import { expect, test } from "vitest";

test("builders make entries a thread takes", () => {
  const thread = Thread.create().append([
    user("hi", { id: "ask", refs: { requestId: "r1" } }),
    toolCall("c1", "add", { a: 2, b: 2 }),
    toolResult("c1", "add", 4),
    assistant("4", { at: 7 }),
    summary(0, 3),
    switchTo("research"),
    inLane("default", user("back")),
    replace("research", 5),
    note(),
    ...notes(2),
  ]);
  expect(thread.toArray().map(({ kind }) => kind)).toEqual([
    "message",
    "tool_call",
    "tool_result",
    "message",
    "summary",
    "ai_context_operation",
    "message",
    "ai_context_operation",
    "note",
    "note",
    "note",
  ]);
  expect(thread.at(0)).toMatchObject({
    id: "ask",
    refs: { requestId: "r1" },
    payload: { role: "user", content: "hi" },
  });
  expect(thread.at(3)?.at).toBe(7);
  expect(thread.at(4)?.payload).toEqual({ fromSeq: 0, toSeq: 3, content: "what was said" });
  expect(thread.at(5)?.payload).toMatchObject({ contextRef: "research", operation: { type: "switch" } });
  expect(thread.at(6)?.payload).toEqual({ role: "user", content: "back", contextRef: "default" });
  expect(thread.at(7)?.payload).toMatchObject({ contextRef: "research", operation: { type: "replace", baseSeq: 5 } });
});

test("each operation has an id of its own", () => {
  expect(switchTo("a").payload?.["opId"]).not.toBe(switchTo("a").payload?.["opId"]);
});
