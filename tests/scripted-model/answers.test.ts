import { APICallError, type LanguageModelV4Content, type LanguageModelV4StreamPart } from "@ai-sdk/provider";
import fc from "fast-check";
import { type ScriptedPart, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { failureOf, generated, inner, streamed } from "./support/asking.ts";

describe("an answer", () => {
  test("of text is one text, whole or as a stream", async () => {
    const model = scriptedModel(["4", "4"]);
    expect(await generated(model)).toEqual({
      content: [{ type: "text", text: "4" }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
      response: { id: "response_1", modelId: "scripted-model" },
      warnings: [],
    });
    expect(await streamed(model)).toEqual([
      { type: "stream-start", warnings: [] },
      { type: "response-metadata", id: "response_2", modelId: "scripted-model" },
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "4" },
      { type: "text-end", id: "0" },
      {
        type: "finish",
        finishReason: { unified: "stop", raw: "stop" },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
      },
    ]);
  });

  test("comes in exactly the deltas of the script, also empty ones", async () => {
    const model = scriptedModel([{ text: ["str", "", "eam"] }]);
    expect(inner(await streamed(model)).map((part) => ("delta" in part ? part.delta : part.type))).toEqual([
      "text-start",
      "str",
      "",
      "eam",
      "text-end",
    ]);
  });

  test("brings Anthropic's signature in an empty delta and other metadata at the end", async () => {
    const metadata = { anthropic: { signature: "s" }, openai: { itemId: "i" } };
    const script = [{ thinking: "hm", text: "4", metadata }];
    expect(inner(await streamed(scriptedModel(script))).slice(0, 4)).toEqual([
      { type: "reasoning-start", id: "0" },
      { type: "reasoning-delta", id: "0", delta: "hm" },
      { type: "reasoning-delta", id: "0", delta: "", providerMetadata: { anthropic: { signature: "s" } } },
      { type: "reasoning-end", id: "0", providerMetadata: { openai: { itemId: "i" } } },
    ]);
    expect((await generated(scriptedModel(script))).content).toEqual([
      { type: "reasoning", text: "hm", providerMetadata: metadata },
      { type: "text", text: "4" },
    ]);
  });

  test("without thinking gives its metadata to the text", async () => {
    const model = scriptedModel([{ text: "4", metadata: { openai: { itemId: "i" } } }]);
    expect((await generated(model)).content).toEqual([
      { type: "text", text: "4", providerMetadata: { openai: { itemId: "i" } } },
    ]);
  });

  test("calls tools: arguments as JSON text, ids counted for each model, a thought signature on the call", async () => {
    const call = { name: "add", arguments: { a: 2 } };
    const script = [
      { calls: [call, { name: "now", metadata: { google: { thoughtSignature: "t" } } }] },
      { calls: [call] },
    ];
    const model = scriptedModel(script);
    const first = await generated(model);
    expect(first.finishReason.unified).toBe("tool-calls");
    expect(first.content).toEqual([
      { type: "tool-call", toolCallId: "call_1", toolName: "add", input: '{"a":2}' },
      {
        type: "tool-call",
        toolCallId: "call_2",
        toolName: "now",
        input: "{}",
        providerMetadata: { google: { thoughtSignature: "t" } },
      },
    ]);
    expect(inner(await streamed(model))).toEqual([
      { type: "tool-input-start", id: "call_3", toolName: "add" },
      { type: "tool-input-delta", id: "call_3", delta: '{"a":2}' },
      { type: "tool-input-end", id: "call_3" },
      { type: "tool-call", toolCallId: "call_3", toolName: "add", input: '{"a":2}' },
    ]);
    expect((await generated(scriptedModel(script))).content).toEqual(first.content);
  });

  test("may call with an id of its own and with text that is not JSON, in pieces", async () => {
    const model = scriptedModel([{ calls: [{ id: "c", name: "add", input: ['{"a', ": 2"] }] }]);
    expect(inner(await streamed(model))).toMatchObject([
      { type: "tool-input-start", id: "c" },
      { delta: '{"a' },
      { delta: ": 2" },
      { type: "tool-input-end" },
      { type: "tool-call", toolCallId: "c", input: '{"a: 2' },
    ]);
  });

  test("has the usage it is given, and for the rest one token for four characters", async () => {
    const model = scriptedModel([
      { thinking: "12345", text: "1234", usage: { inputTokens: 100, cacheReadTokens: 60, cacheWriteTokens: 10 } },
      { text: "1234", usage: { outputTokens: 50, reasoningTokens: 20 } },
    ]);
    expect((await generated(model)).usage).toEqual({
      inputTokens: { total: 100, noCache: 30, cacheRead: 60, cacheWrite: 10 },
      outputTokens: { total: 3, text: 1, reasoning: 2 },
    });
    const messages = [
      { role: "system" as const, content: "12345678" },
      { role: "user" as const, content: "12345" },
    ];
    expect((await generated(model, messages)).usage).toEqual({
      inputTokens: { total: 4, noCache: 4, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 50, text: 30, reasoning: 20 },
    });
  });

  test("ends for the reason it is given", async () => {
    const [finish] = (await streamed(scriptedModel([{ text: "4", finishReason: "length" }]))).slice(-1);
    expect(finish).toMatchObject({ type: "finish", finishReason: { unified: "length" } });
  });

  test("may be made of what was asked, also later", async () => {
    const model = scriptedModel([
      ({ lastUser }) => `You said ${lastUser}.`,
      async ({ tools }) => ({ text: ["Tools: ", tools.join(", ")] }),
    ]);
    expect((await generated(model, "ho")).content).toEqual([{ type: "text", text: "You said ho." }]);
    const tools = [{ type: "function" as const, name: "add", inputSchema: {} }];
    expect((await generated(model, "ho", { tools })).content).toEqual([{ type: "text", text: "Tools: add" }]);
  });
});

describe("an error", () => {
  test("refuses the call", async () => {
    const gone = new Error("gone");
    const model = scriptedModel([{ error: gone }, { error: gone }]);
    expect(await failureOf(generated(model))).toBe(gone);
    expect(await failureOf(streamed(model))).toBe(gone);
    model.assertComplete();
  });

  test("with a status is the APICallError of the AI SDK", async () => {
    const model = scriptedModel([
      { error: { status: 429, retryAfterMs: 20, message: "Slow down." } },
      { error: { status: 400 } },
    ]);
    const slow = await failureOf(streamed(model));
    expect(APICallError.isInstance(slow)).toBe(true);
    expect(slow).toMatchObject({
      name: "AI_APICallError",
      message: "Slow down.",
      statusCode: 429,
      isRetryable: true,
      responseHeaders: { "retry-after-ms": "20" },
    });
    expect(await failureOf(generated(model))).toMatchObject({
      statusCode: 400,
      isRetryable: false,
      responseHeaders: {},
    });
  });

  test("behind some deltas breaks the stream there, a lost connection by throwing", async () => {
    const metadata = { anthropic: { signature: "s" } }; // the empty delta it comes in does not count
    const model = scriptedModel([{ thinking: "hm", metadata, text: ["a", "b"], error: new Error("gone"), after: 2 }]);
    const { stream } = await model.doStream({ prompt: [] });
    const parts: unknown[] = [];
    const failure = await failureOf(
      (async () => {
        for await (const part of stream) parts.push(part);
      })(),
    );
    expect(failure).toMatchObject({ message: "gone" });
    expect(parts.at(-1)).toEqual({ type: "text-delta", id: "1", delta: "a" });
  });

  test("that a provider reports in mid-stream is a part, and the stream finishes with it", async () => {
    const parts = await streamed(scriptedModel([{ text: ["a", "b"], error: { status: 529 }, after: 1 }]));
    expect(parts.slice(-3)).toMatchObject([
      { type: "text-delta", delta: "a" },
      { type: "error", error: { statusCode: 529 } },
      { type: "finish", finishReason: { unified: "error" } },
    ]);
  });

  test("behind no delta still lets the stream begin", async () => {
    const parts = await streamed(scriptedModel([{ text: "a", error: { status: 529 }, after: 0 }]));
    expect(parts.map(({ type }) => type)).toEqual(["stream-start", "response-metadata", "error", "finish"]);
  });
});

test("whatever is scripted, the stream put together is what doGenerate gives", async () => {
  const deltas = fc.oneof(fc.string(), fc.array(fc.string(), { maxLength: 3 }));
  const metadata = fc.dictionary(
    fc.constantFrom("anthropic", "openai", "google"),
    fc.dictionary(fc.string(), fc.string()),
  );
  const part: fc.Arbitrary<ScriptedPart> = fc.oneof(
    fc.record({ thinking: deltas, metadata }, { requiredKeys: ["thinking"] }),
    fc.record({ text: deltas, metadata }, { requiredKeys: ["text"] }),
    fc.record({ name: fc.constantFrom("add", "now"), input: deltas, metadata }, { requiredKeys: ["name"] }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 5 }), async (parts) => {
      const whole = await generated(scriptedModel([{ parts }]));
      const stream = await streamed(scriptedModel([{ parts }]));
      expect(putTogether(stream)).toEqual(whole.content);
      expect(stream.at(-1)).toEqual({ type: "finish", usage: whole.usage, finishReason: whole.finishReason });
    }),
  );
});

/** As an agent reads a stream: by ids, metadata merged, and the input of a call checked against its deltas. */
function putTogether(stream: readonly LanguageModelV4StreamPart[]): readonly LanguageModelV4Content[] {
  const blocks: { id: string; type: "text" | "reasoning" | "input"; text: string; metadata: object }[] = [];
  const content: LanguageModelV4Content[] = [];
  for (const part of stream) {
    const block = "id" in part ? blocks.findLast(({ id }) => id === part.id) : undefined;
    if (block !== undefined && "providerMetadata" in part)
      block.metadata = { ...block.metadata, ...part.providerMetadata };
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        blocks.push({ id: part.id, type: part.type === "text-start" ? "text" : "reasoning", text: "", metadata: {} });
        break;
      case "tool-input-start":
        blocks.push({ id: part.id, type: "input", text: "", metadata: {} });
        break;
      case "text-delta":
      case "reasoning-delta":
      case "tool-input-delta":
        if (block !== undefined) block.text += part.delta;
        break;
      case "text-end":
      case "reasoning-end":
        if (block === undefined || block.type === "input") throw new Error(`${part.id} never began`);
        content.push({
          type: block.type,
          text: block.text,
          ...(Object.keys(block.metadata).length > 0 && { providerMetadata: { ...block.metadata } }),
        });
        break;
      case "tool-call":
        expect(blocks.findLast(({ id }) => id === part.toolCallId)?.text).toBe(part.input);
        content.push(part);
        break;
      default:
    }
  }
  return content;
}
