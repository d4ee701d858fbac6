import { convertToModelMessages, type ModelMessage, type UIMessage, validateUIMessages } from "ai";
import { Thread } from "heddle";
import { toUIMessages } from "heddle/ai-sdk";
import { describe, expect, test } from "vitest";

const call = (toolCallId: string, more: object = {}) => {
  return { type: "tool-call", toolCallId, toolName: "find", input: { q: toolCallId }, ...more };
};
const result = (toolCallId: string, output: object) => {
  return { type: "tool-result", toolCallId, toolName: "find", output };
};

/** Model messages as a page shows them. */
function asUI(list: readonly object[]): readonly UIMessage[] {
  const thread = Thread.fromMessages([{ role: "user", content: "Go" }, ...list], { format: "model-messages" });
  const messages = thread.toMessages({ format: "ui-messages" }) as unknown as UIMessage[];
  expect(toUIMessages(thread)).toEqual(messages.map(withUndecided));
  return messages;
}

/** No process waits for an approval that was imported, so a page shows that it has not run. */
function withUndecided(message: UIMessage): UIMessage {
  const parts = message.parts.map((part) => {
    if (!("state" in part) || part.state !== "approval-requested") return part;
    const { approval: _, ...open } = part;
    const errorText = "This call was imported before it was decided. It has not run.";
    return { ...open, state: "output-error", errorText } as UIMessage["parts"][number];
  });
  return { ...message, parts };
}

function partsOf(list: readonly object[]): readonly unknown[] {
  const messages = asUI(list);
  expect(messages.length).toBe(2);
  return messages[1]?.parts.filter(({ type }) => type !== "step-start") ?? [];
}

const called = { type: "tool-find", toolCallId: "c1", input: { q: "c1" } };

describe("model messages as UI messages have", () => {
  test("the outputs of tools as they were", () => {
    for (const output of [
      { type: "json", value: { a: [1, null] } },
      { type: "json", value: [1] },
      { type: "json", value: 7 },
      { type: "json", value: false },
      { type: "json", value: null },
      { type: "json", value: "7" },
      { type: "text", value: '{"a":1}' },
      { type: "text", value: "sunny" },
    ]) {
      const parts = partsOf([
        { role: "assistant", content: [call("c1")] },
        { role: "tool", content: [result("c1", output)] },
      ]);
      expect(parts).toEqual([{ ...called, state: "output-available", output: output.value }]);
    }
  });

  test("the calls that their provider ran", () => {
    const content = [
      call("c1", { providerExecuted: true }),
      result("c1", { type: "json", value: { hits: 2 } }),
      call("c2", { providerExecuted: true }),
      result("c2", { type: "error-json", value: { code: 5 } }),
      { type: "text", text: "Two." },
      { type: "custom", kind: "openai.compaction" },
    ];
    const ran = { type: "tool-find", providerExecuted: true };
    expect(partsOf([{ role: "assistant", content }])).toEqual([
      { ...ran, toolCallId: "c1", input: { q: "c1" }, state: "output-available", output: { hits: 2 } },
      { ...ran, toolCallId: "c2", input: { q: "c2" }, state: "output-error", errorText: '{"code":5}' },
      { type: "text", text: "Two." },
      { type: "custom", kind: "openai.compaction" },
    ]);
  });

  test("approvals, asked for and decided, with their ids", () => {
    const asked = { role: "assistant", content: [call("c1"), request("a1", "c1", { signature: "s" })] };
    const approval = { id: "a1", signature: "s" };
    const approved = { role: "tool", content: [response("a1", true, "Fine.")] };
    const denied = { role: "tool", content: [response("a1", false, "No.")] };
    const ran = { role: "tool", content: [result("c1", { type: "json", value: 1 })] };
    const refused = { role: "tool", content: [result("c1", { type: "execution-denied", reason: "No." })] };
    const yes = { ...approval, approved: true, reason: "Fine." };
    const no = { ...approval, approved: false, reason: "No." };
    expect(partsOf([asked])).toEqual([{ ...called, state: "approval-requested", approval }]);
    expect(partsOf([asked, approved])).toEqual([{ ...called, state: "approval-responded", approval: yes }]);
    expect(partsOf([asked, denied])).toEqual([{ ...called, state: "approval-responded", approval: no }]);
    expect(partsOf([asked, approved, ran])).toEqual([
      { ...called, state: "output-available", output: 1, approval: yes },
    ]);
    expect(partsOf([asked, denied, refused])).toEqual([{ ...called, state: "output-denied", approval: no }]);
  });
});

const request = (approvalId: string, toolCallId: string, more: object = {}) => {
  return { type: "tool-approval-request", approvalId, toolCallId, ...more };
};
const response = (approvalId: string, approved: boolean, reason: string) => {
  return { type: "tool-approval-response", approvalId, approved, reason };
};

describe("between the two formats of the AI SDK", () => {
  const lists: readonly (readonly object[])[] = [
    [
      { role: "assistant", content: [call("c1"), request("a1", "c1")] },
      { role: "tool", content: [response("a1", true, "Fine.")] },
    ],
    [
      { role: "assistant", content: [{ type: "text", text: "Look." }, call("c1"), call("c2")] },
      {
        role: "tool",
        content: [result("c1", { type: "json", value: { a: 1 } }), result("c2", { type: "text", value: "x" })],
      },
    ],
    [
      {
        role: "assistant",
        content: [call("c1", { providerExecuted: true }), result("c1", { type: "json", value: { hits: 2 } })],
      },
    ],
  ];

  test("a list says what the AI SDK makes of it", async () => {
    for (const list of lists) {
      const ui = (await validateUIMessages({ messages: asUI(list) as UIMessage[] })) as UIMessage[];
      const model = await convertToModelMessages(ui);
      expect(without(model)).toEqual([{ role: "user", content: [{ type: "text", text: "Go" }] }, ...list]);
      const taken = Thread.fromMessages(ui, { format: "ui-messages" });
      const written = taken.toMessages({ format: "model-messages" });
      expect(written.slice(1)).toEqual(without(model).slice(1));
    }
  });
});

/** Undefined fields say nothing. */
function without(messages: readonly ModelMessage[]): readonly unknown[] {
  return JSON.parse(JSON.stringify(messages)) as readonly unknown[];
}
