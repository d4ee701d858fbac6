import { validateUIMessages } from "ai";
import { project, Thread, ThreadError } from "heddle";
import { toUIMessages } from "heddle/ai-sdk";
import type { MessageFormat } from "heddle/core";
import { describe, expect, test } from "vitest";
import { told } from "../../projection/given.ts";

function taken(list: readonly unknown[], format?: MessageFormat): Thread {
  return Thread.fromMessages(list, { format });
}

function shown(thread: Thread): string[] {
  return told(project({ thread, policy: { maxInputTokens: 1_000_000, thinking: "keep" } }));
}

function refusal(list: unknown, format?: unknown): ThreadError {
  try {
    Thread.fromMessages(list as unknown[], { format: format as MessageFormat });
  } catch (error) {
    if (ThreadError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("It was taken in.");
}

describe("UI messages of AI SDK 4", () => {
  const invocation = { toolCallId: "c1", toolName: "weather", args: { city: "Bern" } };
  const list = [
    {
      id: "m1",
      role: "user",
      content: "Weather?",
      parts: [{ type: "text", text: "Weather?" }],
      experimental_attachments: [{ name: "map.png", contentType: "image/png", url: "data:image/png;base64,aGk=" }],
    },
    {
      id: "m2",
      role: "assistant",
      content: "Sunny.",
      createdAt: "2025-01-01T00:00:00.000Z",
      parts: [
        { type: "step-start" },
        {
          type: "reasoning",
          reasoning: "Hm.",
          details: [
            { type: "text", text: "Hm.", signature: "sig" },
            { type: "redacted", data: "xx" },
          ],
        },
        { type: "tool-invocation", toolInvocation: { state: "result", ...invocation, result: { sky: "blue" } } },
        { type: "step-start" },
        { type: "text", text: "Sunny." },
        { type: "source", source: { sourceType: "url", id: "s1", url: "https://example.com", title: "A page" } },
        { type: "file", mimeType: "image/png", data: "aGk=" },
        { type: "tool-invocation", toolInvocation: { state: "call", ...invocation, toolCallId: "c2" } },
        { type: "tool-invocation", toolInvocation: { state: "partial-call", ...invocation, toolCallId: "c3" } },
      ],
    },
  ];

  test("are shown with their calls, results, thinking and files, and come back as they were", () => {
    const thread = taken(list);
    expect(shown(thread)).toEqual([
      expect.stringContaining("user: Weather?"),
      expect.stringContaining("-> weather(c1)"),
      'tool c1: {"sky":"blue"}',
      expect.stringContaining("assistant: Sunny."),
      expect.stringContaining("tool c2: "),
    ]);
    const messages = JSON.stringify(project({ thread, policy: { maxInputTokens: 10_000, thinking: "keep" } }).messages);
    for (const text of [
      '"signature":"sig"',
      '"redactedData":"xx"',
      '"mediaType":"image/png"',
      '"filename":"map.png"',
    ]) {
      expect(messages).toContain(text);
    }
    expect(thread.toMessages()).toEqual(list);
  });

  test("are given to a page as its version knows them", async () => {
    const messages = toUIMessages(taken(list));
    expect(messages.map(({ id }) => id)).toEqual(["m1", "m2"]);
    expect(messages[0]?.parts).toMatchObject([{ type: "text" }, { type: "file", filename: "map.png" }]);
    expect(messages[1]?.parts).toMatchObject([
      { type: "step-start" },
      { type: "reasoning", text: "Hm." },
      { type: "reasoning", text: "" },
      { type: "tool-weather", toolCallId: "c1", state: "output-available", output: { sky: "blue" } },
      { type: "step-start" },
      { type: "text", text: "Sunny." },
      { type: "source-url", sourceId: "s1", url: "https://example.com" },
      { type: "file", mediaType: "image/png" },
      { type: "tool-weather", toolCallId: "c2", state: "input-available" },
    ]);
    await validateUIMessages({ messages });
  });
});

describe("UI messages of AI SDK 4 without parts", () => {
  const user = { id: "u", role: "user", content: "weather?" };
  const invocation = { state: "result", step: 0, toolCallId: "t1", toolName: "w", args: {}, result: { rain: true } };
  const parts = [
    { type: "tool-invocation", toolInvocation: invocation },
    { type: "text", text: "Rain." },
  ];
  const answer = { id: "a", role: "assistant", content: "Rain." };
  const mixed = [user, { ...answer, parts }];
  const early = [user, { ...answer, reasoning: "Hm.", toolInvocations: [invocation] }];

  test.each([
    ["only in the user's message", mixed],
    ["in no message", early],
    ["but an empty list", [user, { ...answer, parts: [], toolInvocations: [invocation] }]],
  ])("keep their calls and results: parts %s", async (_, list) => {
    for (const thread of [taken(list), taken(list, "ui-messages")]) {
      const lines = shown(thread).join("\n");
      for (const text of ["user: weather?", "-> w(t1)", 'tool t1: {"rain":true}', "Rain."])
        expect(lines).toContain(text);
      expect(thread.toMessages()).toEqual(list);
      const messages = toUIMessages(thread);
      expect(messages.flatMap(({ parts }) => parts)).toContainEqual(
        expect.objectContaining({ type: "tool-w", state: "output-available", output: { rain: true } }),
      );
      await validateUIMessages({ messages });
    }
  });

  test("keep their steps, their thinking and the text of a call that waits", () => {
    const second = { state: "call", step: 1, toolCallId: "t2", toolName: "w", args: {} };
    const thread = taken([user, { ...early[1], toolInvocations: [invocation, second] }]);
    expect(shown(thread)).toEqual([
      "user: weather?",
      expect.stringContaining("-> w(t1)"),
      'tool t1: {"rain":true}',
      expect.stringMatching(/Rain\..*-> w\(t2\)/),
      expect.stringContaining("tool t2: "),
    ]);
    expect(JSON.stringify(thread.toArray().map(({ payload }) => payload))).toContain('"type":"thinking","text":"Hm."');
  });

  test("of plain text are taken when the format is named", () => {
    const list = [user, answer];
    expect(shown(taken(list, "ui-messages"))).toEqual(["user: weather?", "assistant: Rain."]);
    expect(taken(list, "ui-messages").toMessages()).toEqual(list);
  });

  test("are refused in a list of another format, and messages of another format in theirs", () => {
    for (const list of [mixed, early]) {
      for (const format of ["neutral", "openai-chat", "anthropic", "model-messages"] as const) {
        const error = refusal(list, format);
        expect([error.code, error.path]).toEqual(["invalid_message", "messages[1]"]);
        expect(error.message).toContain("Pass format ui-messages");
      }
    }
    const call = { id: "t1", name: "w", arguments: {} };
    for (const foreign of [
      { role: "assistant", content: "", toolCalls: [call] },
      { role: "assistant", content: null, tool_calls: [] },
      { role: "user", content: [{ type: "text", text: "Hi" }] },
    ]) {
      expect(refusal([...mixed, foreign])).toMatchObject({ code: "invalid_message", path: "messages[2].parts" });
    }
    expect(refusal([...early, { ...answer, toolInvocations: ["t1"] }])).toMatchObject({
      path: "messages[2].toolInvocations[0]",
    });
  });
});
