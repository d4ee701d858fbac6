import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import type { Message } from "heddle";
import { describe, expect, test } from "vitest";
import type { ProviderModel } from "../../../src/agent/definition/language-model.ts";
import { callModel } from "../../../src/runtime/model/call.ts";
import { callOf, modelErrorOf } from "./support/fakes.ts";

// The packages as they are published, with a wire that answers what we say.

type Fetch = typeof fetch;

interface Wire {
  readonly fetch: Fetch;
  readonly bodies: string[];
}

function wire(respond: () => Response): Wire {
  const bodies: string[] = [];
  return {
    bodies,
    fetch: async (_url, init) => {
      bodies.push(String(init?.body));
      return respond();
    },
  };
}

function events(...list: readonly object[]): () => Response {
  const lines = list.map((data) => {
    const { type } = data as { type?: string };
    return `${type === undefined ? "" : `event: ${type}\n`}data: ${JSON.stringify(data)}\n\n`;
  });
  return () => new Response(lines.join(""), { headers: { "content-type": "text/event-stream" } });
}

const anthropic = events(
  {
    type: "message_start",
    message: {
      id: "msg_1",
      model: "claude-x",
      role: "assistant",
      type: "message",
      content: [],
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm" } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "SIGNED" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Look:" } },
  { type: "content_block_stop", index: 1 },
  {
    type: "content_block_start",
    index: 2,
    content_block: { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
  },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"city":"Bern"}' } },
  { type: "content_block_stop", index: 2 },
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 20 } },
  { type: "message_stop" },
);

const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "SEALED" };
const functionCall = { type: "function_call", id: "fc_1", call_id: "call_1", name: "weather", status: "completed" };
const openai = events(
  { type: "response.created", response: { id: "resp_1", created_at: 0, model: "gpt-5-2026" } },
  { type: "response.output_item.added", output_index: 0, item: { ...reasoning, encrypted_content: null } },
  { type: "response.reasoning_summary_part.added", item_id: "rs_1", summary_index: 0 },
  { type: "response.reasoning_summary_text.delta", item_id: "rs_1", summary_index: 0, delta: "Hm" },
  { type: "response.reasoning_summary_part.done", item_id: "rs_1", summary_index: 0 },
  {
    type: "response.output_item.done",
    output_index: 0,
    item: { ...reasoning, summary: [{ type: "summary_text", text: "Hm" }] },
  },
  { type: "response.output_item.added", output_index: 1, item: { ...functionCall, arguments: "" } },
  { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 1, delta: '{"city":"Bern"}' },
  { type: "response.output_item.done", output_index: 1, item: { ...functionCall, arguments: '{"city":"Bern"}' } },
  {
    type: "response.completed",
    response: { usage: { input_tokens: 9, output_tokens: 20, output_tokens_details: { reasoning_tokens: 8 } } },
  },
);

const google = events(
  { candidates: [{ content: { role: "model", parts: [{ text: "Hm", thought: true }] }, index: 0 }] },
  {
    candidates: [
      {
        content: {
          role: "model",
          parts: [{ functionCall: { name: "weather", args: { city: "Bern" } }, thoughtSignature: "SIGNED" }],
        },
        finishReason: "STOP",
        index: 0,
      },
    ],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 12, thoughtsTokenCount: 8, totalTokenCount: 29 },
  },
);

const settings = { baseURL: "https://wire.example/v1", apiKey: "none" };
const PACKAGES: readonly (readonly [
  string,
  () => Response,
  (fetch: Fetch) => ProviderModel,
  secret: string,
  usage: object,
])[] = [
  [
    "anthropic",
    anthropic,
    (fetch) => createAnthropic({ ...settings, fetch })("claude-sonnet-4-5"),
    "SIGNED",
    { inputTokens: 9, outputTokens: 20 },
  ],
  [
    "openai",
    openai,
    (fetch) => createOpenAI({ ...settings, fetch }).responses("gpt-5"),
    "SEALED",
    { inputTokens: 9, outputTokens: 20, reasoningTokens: 8 },
  ],
  [
    "google",
    google,
    (fetch) => createGoogle({ ...settings, fetch })("gemini-3-pro-preview"),
    "SIGNED",
    { inputTokens: 9, outputTokens: 20, reasoningTokens: 8 },
  ],
];

const tools = [{ name: "weather", inputSchema: { type: "object", properties: { city: { type: "string" } } } }];
const ask: Message = { role: "user", content: "How is the weather?" };

describe.each(PACKAGES)("the package of %s", (_, respond, modelOf, secret, usage) => {
  test("gives an answer with its call and what seals its thinking, and gets both back with the result", async () => {
    const line = wire(respond);
    const model = modelOf(line.fetch);
    const answer = await callModel(callOf(model, { messages: [ask], tools }));
    expect(answer).toMatchObject({ finishReason: "tool-calls", usage });
    expect(answer.toolCalls).toMatchObject([{ name: "weather", arguments: { city: "Bern" } }]);
    expect(JSON.stringify(answer)).toContain(secret);
    const [call] = answer.toolCalls;
    const result: Message = { role: "tool", toolCallId: call?.id ?? "", name: "weather", content: "sunny" };
    await callModel(callOf(model, { messages: [ask, { role: "assistant", ...answer }, result], tools }));
    expect(line.bodies[1]).toContain(secret);
    expect(line.bodies[1]).toContain("sunny");
  });

  test("gives errors that are understood", async () => {
    const refuse = (status: number, body: object, headers: Record<string, string> = {}) =>
      modelErrorOf(callModel(callOf(modelOf(wire(() => Response.json(body, { status, headers })).fetch))));
    const error = (message: string, type: string) => ({
      type: "error",
      error: { message, type, code: type, status: type },
    });
    const limited = await refuse(429, error("Slow down", "rate_limit_error"), { "retry-after": "3" });
    expect(limited).toMatchObject({ code: "model_rate_limited", retryable: true, retryAfterMs: 3000 });
    const key = await refuse(401, error("Bad key sk-12345", "authentication_error"));
    expect(key.code).toBe("model_auth");
    expect(key.message).not.toContain("12345");
    const long = await refuse(
      400,
      error("Your input exceeds the context window of this model.", "invalid_request_error"),
    );
    expect(long.code).toBe("model_context_too_long");
  });

  test("is heard when the network is gone, and when it is aborted", async () => {
    const failing = modelOf(async () => {
      throw new TypeError("fetch failed", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) });
    });
    expect(await modelErrorOf(callModel(callOf(failing)))).toMatchObject({
      code: "model_unavailable",
      retryable: true,
    });
    const controller = new AbortController();
    const hanging = modelOf(
      (_url, init) =>
        new Promise((_, reject) => {
          init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
          controller.abort();
        }),
    );
    expect((await modelErrorOf(callModel(callOf(hanging, { signal: controller.signal })))).code).toBe("model_aborted");
  });
});
