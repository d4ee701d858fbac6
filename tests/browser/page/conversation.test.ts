import { Thread } from "heddle";
import { expect, test } from "vitest";
import { conversation } from "../../../studio-ui/chat/conversation.ts";

test("a result stands with its call, whichever vocabulary wrote them", () => {
  const thread = Thread.create().append([
    { kind: "message", payload: { role: "user", content: "Both?" } },
    { kind: "tool_call", payload: { id: "c1", name: "add", arguments: { a: 1 } } },
    {
      kind: "tool_result",
      payload: { toolCallId: "c1", name: "add", result: { ok: false, error: { type: "x", message: "no" } } },
    },
    {
      kind: "ai_message",
      payload: {
        contextRef: "default",
        role: "assistant",
        content: "",
        toolCalls: [{ id: "c2", name: "mul", arguments: {} }],
      },
    },
    {
      kind: "ai_message",
      payload: { contextRef: "default", role: "tool", toolCallId: "c2", name: "mul", content: "8" },
    },
  ]);
  const tools = conversation(thread.toArray()).flatMap((item) => (item.type === "assistant" ? item.tools : []));
  expect(tools).toMatchObject([
    { toolCallId: "c1", result: { seq: 2, isError: true } },
    { toolCallId: "c2", result: { seq: 4, isError: false, content: "8" } },
  ]);
});

test("a result whose call is not there is a line of its own", () => {
  const thread = Thread.create().append({
    kind: "tool_result",
    payload: { toolCallId: "gone", name: "add", result: 4 },
  });
  expect(conversation(thread.toArray())).toMatchObject([{ type: "line", seq: 0 }]);
});
