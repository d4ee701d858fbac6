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

test("a decision says who, when and why; an approval from another chat has no decision or that of the chat", () => {
  const call = (id: string, approval?: object) => ({
    id,
    name: "pay",
    arguments: { euros: 20 },
    ...(approval && { approval }),
  });
  const message = (toolCalls: readonly object[]) => ({
    contextRef: "default",
    role: "assistant",
    content: "",
    toolCalls,
  });
  const thread = Thread.create({ clock: () => 7 }).append([
    {
      kind: "ai_message",
      payload: message([
        call("c1"),
        call("c2", { id: "a2" }),
        call("c3", { id: "a3", approved: false, reason: "Too much." }),
      ]) as never,
      refs: { requestId: "req_1" },
    },
    {
      kind: "approval_requested",
      payload: { contextRef: "default", toolCallId: "c1", name: "pay", arguments: {} } as never,
    },
    {
      kind: "approval_resolved",
      payload: {
        ...{ contextRef: "default", toolCallId: "c1", approved: true, by: "ada", reason: "Fine." },
        editedArguments: { euros: 5 },
      } as never,
    },
  ]);
  const [answer] = conversation(thread.toArray());
  expect(answer).toMatchObject({
    ...{ type: "assistant", id: "req_1" },
    tools: [
      {
        ...{ approval: "approved", arguments: { euros: 5 } },
        decision: { seq: 2, at: 7, by: "ada", reason: "Fine.", isEdited: true },
      },
      { approval: "asked" },
      { approval: "denied", decision: { seq: 0, reason: "Too much.", isEdited: false } },
    ],
  });
});

test("a switch between branches is no line of the chat; one that begins another conversation is", () => {
  const said = (contextRef: string, content: string) =>
    ({ kind: "ai_message", payload: { contextRef, role: "user", content } }) as const;
  const to = (contextRef: string, more = {}) =>
    ({
      kind: "ai_context_operation",
      payload: { contextRef, operation: { type: "switch", reason: "manual", ...more } },
    }) as never;
  const thread = Thread.create().append([
    said("default", "Hi"),
    to("second", { from: "default", atSeq: 0 }),
    said("second", "And?"),
    to("default"),
    to("fresh"),
  ]);
  expect(conversation(thread.toArray()).map(({ type, seq }) => [type, seq])).toEqual([
    ["user", 0],
    ["user", 2],
    ["line", 4],
  ]);
});
