import { generateText, jsonSchema, tool } from "ai";
import { type Message, project, Thread } from "heddle";
import type { AssistantMessage, PartMetadata } from "heddle/core";
import {
  type AISDKAssistantPart,
  type AISDKMessage,
  toAISDKPrompt,
  toModelMessages,
  toModelPrompt,
  validateMessages,
} from "heddle/providers";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import {
  assistant,
  call,
  failed,
  hinted,
  pixel,
  result,
  sealed,
  signed,
  system,
  thought,
  user,
  webImage,
} from "./support/messages.ts";

describe("toAISDKPrompt", () => {
  test("keeps every part of an answer, in order, with its metadata", () => {
    const metadata: PartMetadata = { openai: { itemId: "ws_1" } };
    const answer: AssistantMessage = assistant(
      [
        thought("Hm", signed),
        { type: "text", text: "First." },
        { type: "tool_call", id: "c1" },
        { type: "provider_call", id: "p1", name: "web_search", arguments: { query: "Bern" }, metadata },
        { type: "provider_result", id: "p1", name: "web_search", result: [1], isError: true },
        { type: "custom", kind: "openai.compaction", metadata },
        { type: "source", url: "https://example.com" },
        pixel,
      ],
      { ...call("c1"), metadata: hinted },
    );
    expect(toAISDKPrompt([answer])[0]?.content).toEqual([
      { type: "reasoning", text: "Hm", providerOptions: signed },
      { type: "text", text: "First." },
      { type: "tool-call", toolCallId: "c1", toolName: "weather", input: { city: "Bern" }, providerOptions: hinted },
      {
        type: "tool-call",
        toolCallId: "p1",
        toolName: "web_search",
        input: { query: "Bern" },
        providerExecuted: true,
        providerOptions: metadata,
      },
      { type: "tool-result", toolCallId: "p1", toolName: "web_search", output: { type: "error-json", value: [1] } },
      { type: "custom", kind: "openai.compaction", providerOptions: metadata },
      { type: "file", mediaType: "image/png", data: { type: "data", data: expect.any(String) } },
    ]);
  });

  test("takes the metadata of a call from its place when the call has none", () => {
    const list = [assistant([{ type: "tool_call", id: "a", metadata: hinted }], call("a"))];
    expect(partsOf(toAISDKPrompt(list)[0])[0]).toMatchObject({ type: "tool-call", providerOptions: hinted });
  });

  test("puts the results of one step into one message, errors as errors", () => {
    const json = '{"error":{"type":"timeout"}}';
    const list = [assistant("", call("a"), call("b"), call("c")), result("a"), failed("b"), failed("c", json)];
    expect(partsOf(toAISDKPrompt(list)[1]).map((part) => ("output" in part ? part.output : part))).toEqual([
      { type: "text", value: "sunny" },
      { type: "error-text", value: "boom" },
      { type: "error-json", value: { type: "timeout" } },
    ]);
  });

  test("leaves out thinking of other providers, when the provider is named", () => {
    const list = [assistant([thought("A", signed), thought("O", sealed), { type: "text", text: "Hi" }])];
    const texts = (provider?: "anthropic" | "openai" | "google") =>
      partsOf(toAISDKPrompt(list, provider === undefined ? {} : { provider })[0]).map((part) =>
        "text" in part ? part.text : "",
      );
    expect([texts(), texts("anthropic"), texts("openai"), texts("google")]).toEqual([
      ["A", "O", "Hi"],
      ["A", "Hi"],
      ["O", "Hi"],
      ["Hi"],
    ]);
  });

  test("gives a prompt of its own: writing into it changes no message", () => {
    const deep = Object.freeze({ city: Object.freeze({ name: "Bern" }) });
    const [message] = toAISDKPrompt([assistant("", call("a", deep))]);
    const part = message?.role === "assistant" ? message.content[0] : undefined;
    expect(part).toMatchObject({ input: { city: { name: "Bern" } } });
    expect(part !== undefined && "input" in part && part.input !== deep && !Object.isFrozen(part.input)).toBe(true);
  });

  test("a URL that is none is refused", () => {
    const list = [user([{ type: "file", mediaType: "image/png", data: { url: "a.png" } }])];
    expect(() => toAISDKPrompt(list)).toThrow(expect.objectContaining({ code: "file_unsendable" }));
    expect(toAISDKPrompt([user([webImage])])[0]?.content).toMatchObject([{ data: { type: "url" } }]);
  });
});

test("toModelMessages writes what is only text as text", () => {
  const list = [
    system("Be brief."),
    user("Hi"),
    assistant([{ type: "text", text: "Hi", metadata: hinted }]),
    user([pixel]),
  ];
  expect(toModelMessages(list)).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
    { role: "assistant", content: [{ type: "text", text: "Hi", providerOptions: hinted }] },
    { role: "user", content: [expect.objectContaining({ type: "file" })] },
  ]);
});

function partsOf(message: AISDKMessage | undefined): readonly AISDKAssistantPart[] {
  return message === undefined || message.role === "system" ? [] : message.content;
}

describe("toModelPrompt", () => {
  test.each([
    ["no list", undefined, {}, "invalid_message", "Thread.fromMessages|a list"],
    ["an item that is no message", [null], { provider: "openai" }, "invalid_message", "messages\\[0\\]"],
    ["a foreign role", [{ role: "foo", content: "x" }], {}, "invalid_message", "messages\\[0\\]"],
    ["calls of OpenAI", [{ role: "assistant", content: null, tool_calls: [] }], {}, "invalid_message", "fromMessages"],
    ["a provider of another name", [], { provider: "openai.responses" }, "invalid_options", "openai-chat"],
  ])("refuses %s with a code and what to do", (_, messages, options, code, text) => {
    for (const make of [toAISDKPrompt, toModelMessages, toModelPrompt]) {
      expect(() => make(messages as never, options as never)).toThrow(
        expect.objectContaining({ code, message: expect.stringMatching(text) }),
      );
    }
  });

  test.each([
    ["openai", "text/plain", false],
    ["openai", "application/pdf", true],
    ["openai-chat", "text/csv", false],
    ["openai-chat", "audio/wav", true],
    ["anthropic", "text/plain", true],
    ["anthropic", "text/csv", false],
    ["google", "text/csv", true],
    [undefined, "text/csv", true],
  ] as const)("for %s keeps a file of type %s: %s; else its text is in its place", (provider, mediaType, isKept) => {
    const file = { type: "file", mediaType, filename: "a.bin", data: { base64: btoa("Looms.") } } as const;
    const messages: Message[] = [
      { role: "user", content: [file] },
      { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "read", arguments: {} }] },
      { role: "tool", toolCallId: "c1", name: "read", content: [file] },
    ];
    const text = JSON.stringify(toModelPrompt(messages, { provider }));
    const asText = provider === "anthropic" && isKept ? 1 : 0; // the result
    expect(text.match(/"type":"file"/g)?.length ?? 0).toBe(isKept ? 2 - asText : 0);
    expect(text.match(/Looms\./g)?.length ?? 0).toBe(isKept ? asText : 2);
    expect(text.split(`[a.bin, ${mediaType}]`).length - 1).toBe(isKept ? 0 : 2);
  });

  const thread = Thread.fromMessages(
    [
      { role: "system", content: "Be brief." },
      { role: "user", content: "One" },
      { role: "assistant", content: "1" },
      { role: "user", content: "Two" },
    ],
    { format: "openai-chat" },
  );

  test("is what generateText of the AI SDK takes, with the prompt and the summary of a projection", async () => {
    const summary = { content: "They counted to one.", fromSeq: 1, toSeq: 2 };
    const summarized = thread.append({ kind: "summary", payload: summary } as never); // as an agent writes it
    expect(JSON.stringify(project({ thread: summarized }).messages)).toContain("They counted to one.");
    for (const one of [thread, summarized]) {
      const model = scriptedModel(["2"]);
      const { messages } = project({ thread: one });
      expect(messages.some(({ role }) => role === "system")).toBe(true);
      const { text } = await generateText({ model, ...toModelPrompt(messages) });
      expect(text).toBe("2");
      expect(model.requests[0]?.options["prompt"]).toEqual(toAISDKPrompt(messages));
    }
  });

  test("keeps an approval that was granted, so that the AI SDK runs the tool", async () => {
    const call = { type: "tool-call", toolCallId: "c1", toolName: "pay", input: { n: 1 } };
    const list = [
      { role: "user", content: "Pay" },
      { role: "assistant", content: [call, { type: "tool-approval-request", approvalId: "a1", toolCallId: "c1" }] },
      { role: "tool", content: [{ type: "tool-approval-response", approvalId: "a1", approved: true }] },
    ];
    const approval = { id: "a1", approved: true };
    const part = { type: "tool-pay", toolCallId: "c1", input: { n: 1 }, state: "approval-responded", approval };
    const ui = [
      { id: "1", role: "user", parts: [{ type: "text", text: "Pay" }] },
      { id: "2", role: "assistant", parts: [part] },
    ];
    for (const [format, messages] of [
      ["model-messages", list],
      ["ui-messages", ui],
    ] as const) {
      const approved = Thread.fromMessages(messages, { format });
      const projected = project({ thread: approved }).messages;
      expect(validateMessages(projected, "anthropic")).toEqual([]);
      expect(toModelPrompt(projected).messages).toEqual(list);
      expect(JSON.stringify(toAISDKPrompt(projected))).toContain("has not run yet");
      const paid: unknown[] = [];
      const execute = (input: unknown): string => {
        paid.push(input);
        return "paid";
      };
      const pay = tool({ inputSchema: jsonSchema({ type: "object" }), needsApproval: true, execute } as never);
      const { text } = await generateText({
        model: scriptedModel(["Paid."]),
        tools: { pay },
        ...toModelPrompt(projected),
      } as never);
      expect([text, paid]).toEqual(["Paid.", [{ n: 1 }]]);
      const later = approved.append({ kind: "message", payload: { role: "user", content: "And?" } });
      expect(JSON.stringify(toModelPrompt(project({ thread: later }).messages))).not.toContain("tool-approval");
      const before = JSON.stringify(project({ thread: approved, rules: "heddle/1" }).messages);
      expect([before.includes("was interrupted"), before.includes("a1")]).toEqual([true, false]);
    }
  });

  test("keeps the cache marks of the prompt, and has no instructions where there is no prompt", async () => {
    const { messages } = project({ thread });
    const marked = toModelPrompt(messages, { cache: true });
    expect(marked.instructions).toMatchObject([{ role: "system", providerOptions: { anthropic: {} } }]);
    const model = scriptedModel(["2"]);
    await generateText({ model, ...marked });
    expect(model.requests[0]?.options["prompt"]).toMatchObject(toAISDKPrompt(messages, { cache: true }));
    const plain: readonly Message[] = [{ role: "user", content: "Hi" }];
    expect(toModelPrompt(plain)).toEqual({ messages: [{ role: "user", content: "Hi" }] });
  });
});

test("a PDF of a result has a name with an ending for OpenAI", () => {
  const pdf = { type: "file", mediaType: "application/pdf", data: { base64: "AQID" } } as const;
  const messages: readonly Message[] = [
    { role: "user", content: "Read." },
    { role: "assistant", content: "", toolCalls: [{ id: "a", name: "read", arguments: {} }] },
    { role: "tool", toolCallId: "a", name: "read", content: [pdf, { ...pdf, filename: "b.pdf" }] },
  ];
  const names = (provider: "openai" | "anthropic") =>
    [...JSON.stringify(toAISDKPrompt(messages, { provider })).matchAll(/"filename":"(.*?)"/g)].map(([, name]) => name);
  expect(names("openai")).toEqual(["file.pdf", "b.pdf"]);
  expect(names("anthropic")).toEqual(["b.pdf"]);
});
