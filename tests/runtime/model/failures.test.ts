import { APICallError, LoadAPIKeyError, NoSuchModelError } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { classifyModelError, TOO_LONG } from "../../../src/runtime/model/failure.ts";

const SECRET = "sk-live-1234567890abcdefghij";

const ABORT = new DOMException("This operation was aborted", "AbortError");

/** As the packages of the AI SDK throw it. */
function answered(statusCode: number, body: unknown = {}, headers: Record<string, string> = {}): APICallError {
  const { error } = body as { error?: { message?: string } };
  return new APICallError({
    message: error?.message ?? "Bad",
    url: `https://example.com/v1?key=${SECRET}`,
    requestBodyValues: { messages: ["my secret plan"] },
    statusCode,
    responseHeaders: headers,
    responseBody: JSON.stringify(body),
    data: body,
  });
}

function openAI(statusCode: number, message: string, code: string | null = null, type = "invalid_request_error") {
  return answered(statusCode, { error: { message, type, param: null, code } });
}

function anthropic(statusCode: number, type: string, message = "No") {
  return answered(statusCode, { type: "error", error: { type, message } });
}

function google(code: number, status: string, message = "No", details: readonly object[] = []) {
  return answered(code, { error: { code, message, status, details } });
}

/** What servers really say; the places where they say it are issue threads and documentation. */
const QUOTES: readonly (readonly [who: string, error: unknown])[] = [
  ["Anthropic", anthropic(400, "invalid_request_error", "prompt is too long: 207791 tokens > 200000 maximum")],
  [
    "Anthropic with max_tokens",
    anthropic(
      400,
      "invalid_request_error",
      "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
    ),
  ],
  ["Anthropic, bytes", anthropic(413, "request_too_large", "Request exceeds the maximum size")],
  [
    "OpenAI Chat",
    openAI(
      400,
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
      "context_length_exceeded",
    ),
  ],
  [
    "OpenAI Responses",
    openAI(
      400,
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
      "context_length_exceeded",
    ),
  ],
  [
    "OpenAI Responses, in the stream",
    { message: "Your input exceeds the context window of this model.", code: "context_length_exceeded", type: "error" },
  ],
  [
    "OpenAI, more than a minute's tokens",
    openAI(
      429,
      "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.",
      "rate_limit_exceeded",
      "tokens",
    ),
  ],
  [
    "Azure",
    openAI(
      400,
      "This model's maximum context length is 16385 tokens. However, your messages resulted in 17000 tokens.",
      "context_length_exceeded",
    ),
  ],
  [
    "Gemini",
    google(
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
    ),
  ],
  [
    "Mistral",
    answered(400, {
      object: "error",
      message:
        "Prompt contains 300000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
      type: "invalid_request_prompt",
      code: "3051",
    }),
  ],
  [
    "Bedrock",
    Object.assign(new Error("Input is too long for requested model."), {
      name: "ValidationException",
      $metadata: { httpStatusCode: 400 },
    }),
  ],
  ["Groq", openAI(400, "Please reduce the length of the messages or completion.", "context_length_exceeded")],
  [
    "Groq, more than a minute's tokens",
    openAI(
      413,
      "Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.",
      "rate_limit_exceeded",
      "tokens",
    ),
  ],
  [
    "xAI",
    answered(400, {
      code: "Client specified an invalid argument",
      error: "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    }),
  ],
  [
    "DeepSeek",
    openAI(
      400,
      "This model's maximum context length is 65536 tokens. However, you requested 69648 tokens (69648 in the messages, 0 in the completion). Please reduce the length of the messages or completion.",
    ),
  ],
  [
    "OpenRouter",
    answered(400, {
      error: {
        code: 400,
        message:
          "This endpoint's maximum context length is 204800 tokens. However, you requested about 205432 tokens (81684 of text input, 3748 of tool input, 120000 in the output). Please reduce the length of either one",
      },
    }),
  ],
  [
    "vLLM",
    answered(400, {
      object: "error",
      message:
        "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
      type: "BadRequestError",
      param: null,
      code: 400,
    }),
  ],
  [
    "vLLM, older",
    answered(400, {
      object: "error",
      message: "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    }),
  ],
  [
    "llama.cpp",
    answered(400, {
      error: {
        code: 400,
        message:
          "the request exceeds the available context size. try increasing the context size or enable context shift",
        type: "exceed_context_size_error",
        n_prompt_tokens: 14429,
        n_ctx: 8192,
      },
    }),
  ],
  [
    "llama.cpp, older",
    answered(500, {
      error: {
        code: 500,
        message: "the request exceeds the available context size, try increasing it",
        type: "server_error",
      },
    }),
  ],
  ["llama-cpp-python", answered(400, { error: { message: "Requested tokens (2285) exceed context window of 2048" } })],
  ["Ollama", answered(400, { error: "prompt too long; exceeded max context length by 4096 tokens" })],
  ["Ollama, embedded", answered(500, { error: "the input length exceeds the context length" })],
  [
    "LM Studio",
    answered(400, {
      error: "The number of tokens to keep from the initial prompt is greater than the context length.",
    }),
  ],
  [
    "LM Studio, newer",
    answered(400, {
      error:
        "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough.",
    }),
  ],
  [
    "Cohere",
    answered(400, {
      message:
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt",
    }),
  ],
  [
    "Cerebras",
    openAI(400, "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000"),
  ],
  ["Moonshot", openAI(400, "Your request exceeded model token limit: 262144 (requested: 300000)")],
  ["MiniMax", openAI(400, "invalid params, context window exceeds limit")],
];

describe("messages that are too long", () => {
  test.each(QUOTES)("are recognized by the message of %s", (_, error) => {
    expect(classifyModelError(error)).toMatchObject({ code: "model_context_too_long", retryable: false });
  });

  test("too many bytes are an error of bytes, because a context of fewer tokens may have as many", () => {
    const bytes = classifyModelError(anthropic(413, "request_too_large", "Request exceeds the maximum size"));
    expect(bytes).toMatchObject({ code: "model_context_too_long", message: expect.stringContaining("more bytes") });
    const tokens = classifyModelError(
      anthropic(413, "invalid_request_error", "prompt is too long: 210000 tokens > 200000"),
    );
    expect(tokens.message).toContain("context window");
  });

  test.each([
    ["Anthropic", 207_791, 200_000],
    ["Anthropic with max_tokens", 190_000, 180_000],
    ["OpenAI Chat", 204_308, 128_000],
    ["OpenAI, more than a minute's tokens", 40_000, 30_000],
    ["Azure", 17_000, 16_385],
    ["Gemini", 1_200_293, 1_048_576],
    ["Mistral", 300_000, 131_072],
    ["Groq, more than a minute's tokens", 14_810, 6000],
    ["xAI", 136_973, 131_072],
    ["DeepSeek", 69_648, 65_536],
    ["OpenRouter", 85_432, 84_800],
    ["vLLM", 9591, 6384],
    ["vLLM, older", 5000, 4096],
    ["llama.cpp", 14_429, 8192],
    ["llama-cpp-python", 2285, 2048],
    ["LM Studio, newer", 10_136, 7866],
    ["Cohere", 4292, 4081],
    ["Cerebras", 42_328, 40_000],
    ["Moonshot", 300_000, 262_144],
  ])("say how long they are and may be, in the words of %s", (who, promptTokens, maxPromptTokens) => {
    const [, error] = QUOTES.find(([name]) => name === who) ?? expect.fail(who);
    expect(classifyModelError(error)).toMatchObject({ promptTokens, maxPromptTokens });
  });

  test("say only the limit where the words have no more, and nothing where the numbers make no sense", () => {
    const words = (message: string) => classifyModelError(openAI(400, message, "context_length_exceeded"));
    const only = words("This model's maximum context length is 8192 tokens.");
    expect([only.promptTokens, only.maxPromptTokens]).toEqual([undefined, 8192]);
    const odd = words("prompt is too long: 5 tokens > 200000 maximum");
    expect([odd.promptTokens, odd.maxPromptTokens]).toEqual([undefined, 200_000]);
    const none = words("Your input exceeds the context window of this model.");
    expect([none.promptTokens, none.maxPromptTokens]).toEqual([undefined, undefined]);
  });

  test("have no pattern without a known provider message", () => {
    const texts = QUOTES.map(([, error]) => {
      const { message = "", responseBody = "" } = error as { message?: string; responseBody?: string };
      return `${message} ${JSON.stringify(error)} ${responseBody}`;
    });
    expect(
      TOO_LONG.filter(({ pattern }) => !texts.some((text) => pattern.test(text))).map(({ provider }) => provider),
    ).toEqual([]);
  });

  test.each([
    [
      "Bedrock that throttles",
      Object.assign(new Error("Too many tokens, please wait before trying again."), { name: "ThrottlingException" }),
    ],
    [
      "a limit by the minute",
      openAI(429, "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000."),
    ],
  ])("are not what %s speaks of", (_, error) => {
    expect(classifyModelError(error)).toMatchObject({ code: "model_rate_limited", retryable: true });
  });
});

describe("classifyModelError", () => {
  test.each<readonly [string, boolean, string, unknown]>([
    ["model_auth", false, "a wrong key", openAI(401, `Incorrect API key provided: ${SECRET}.`, "invalid_api_key")],
    [
      "model_auth",
      false,
      "Gemini's wrong key",
      google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    ],
    ["model_auth", false, "a missing permission", anthropic(403, "permission_error")],
    [
      "model_auth",
      false,
      "an empty account",
      anthropic(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
    ],
    [
      "model_auth",
      false,
      "OpenAI's empty account",
      openAI(429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
    ],
    ["model_auth", false, "no key at all", new LoadAPIKeyError({ message: "OpenAI API key is missing." })],
    [
      "model_rate_limited",
      true,
      "OpenAI's limit",
      openAI(429, "Rate limit reached", "rate_limit_exceeded", "requests"),
    ],
    ["model_rate_limited", true, "Anthropic's limit", anthropic(429, "rate_limit_error")],
    [
      "model_rate_limited",
      true,
      "Gemini's limit",
      google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details."),
    ],
    ["model_rate_limited", true, "a limit in a stream", { type: "rate_limit_error", message: "Slow" }],
    ["model_overloaded", true, "Anthropic's overload", anthropic(529, "overloaded_error", "Overloaded")],
    [
      "model_overloaded",
      true,
      "Gemini's overload",
      google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    ],
    ["model_overloaded", true, "an overload in a stream", { type: "overloaded_error", message: "Overloaded" }],
    ["model_unavailable", true, "a broken server", openAI(500, "The server had an error", null, "server_error")],
    ["model_unavailable", true, "a bad gateway", answered(502)],
    [
      "model_unavailable",
      true,
      "no network",
      Object.assign(new TypeError("fetch failed"), {
        cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
      }),
    ],
    ["model_unavailable", true, "a connection that broke", new TypeError("terminated")],
    [
      "model_error",
      true,
      "a piece that is no JSON",
      Object.assign(new Error("JSON parsing failed: SyntaxError: Unterminated string in JSON at position 6"), {
        name: "AI_JSONParseError",
      }),
    ],
    [
      "model_error",
      true,
      "a first piece of Claude's that is no JSON",
      new Error("Expected a normalized Anthropic stream error"),
    ],
    [
      "model_unavailable",
      true,
      "a timeout of the package",
      new DOMException("The operation timed out.", "TimeoutError"),
    ],
    [
      "model_not_found",
      false,
      "a model that is none",
      openAI(404, "The model `gpt-9` does not exist", "model_not_found"),
    ],
    [
      "model_not_found",
      false,
      "a model the package lacks",
      new NoSuchModelError({ modelId: "m", modelType: "languageModel" }),
    ],
    ["model_not_found", false, "Anthropic's unknown model", anthropic(404, "not_found_error", "model: claude-9")],
    ["model_bad_request", false, "a bad request", openAI(400, "Invalid value: my secret plan", "invalid_value")],
    [
      "model_bad_request",
      false,
      "a tool schema Gemini refuses",
      google(400, "INVALID_ARGUMENT", "Invalid JSON payload received"),
    ],
    [
      "model_refused",
      false,
      "Azure's filter",
      openAI(
        400,
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "content_filter",
      ),
    ],
    [
      "model_refused",
      false,
      "OpenAI's filter",
      openAI(
        400,
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
        "invalid_prompt",
      ),
    ],
    ["model_unavailable", true, "an abort of the package", ABORT],
    [
      "model_error",
      true,
      "an answer that is no JSON",
      Object.assign(new Error("JSON parsing failed"), { name: "AI_JSONParseError" }),
    ],
    ["model_error", false, "anything else", new Error("boom")],
    ["model_error", false, "a word", "boom"],
    ["model_error", false, "nothing", undefined],
    ["model_error", true, "what says itself that it may pass", Object.assign(new Error("boom"), { isRetryable: true })],
  ])("says %s (retryable: %s) of %s", (code, retryable, _, error) => {
    expect(classifyModelError(error)).toMatchObject({ code, retryable });
  });

  test("says model_stream_interrupted of a connection that breaks in a stream, and keeps what a provider says of itself", () => {
    const inStream = (error: unknown) => classifyModelError(error, undefined, true).code;
    expect(inStream(new TypeError("terminated"))).toBe("model_stream_interrupted");
    expect(inStream(ABORT)).toBe("model_stream_interrupted");
    expect(inStream(Object.assign(new Error("read"), { code: "ECONNRESET" }))).toBe("model_stream_interrupted");
    expect(inStream(Object.assign(new Error("terminated"), { statusCode: 503 }))).toBe("model_unavailable");
    expect(inStream({ type: "overloaded_error", message: "connection error" })).toBe("model_overloaded");
    expect(inStream(new Error("boom"))).toBe("model_error");
    const unfinished = Object.assign(new Error("Response stream ended without a finish reason."), {
      name: "AI_InvalidResponseDataError",
    });
    expect(classifyModelError(unfinished)).toMatchObject({ code: "model_stream_interrupted", retryable: true });
  });

  test("says status and code of the provider and none of its words: no key, no request", () => {
    const errors = [
      openAI(401, `Incorrect API key provided: ${SECRET}.`, "invalid_api_key"),
      openAI(400, "Bad: my secret plan", SECRET),
    ];
    const messages = errors.map((error) => classifyModelError(error).message);
    expect(messages[0]).toContain("(401 invalid_api_key)");
    expect(messages.join()).not.toMatch(/sk-live|secret plan|example\.com/);
  });

  test("survives errors that cannot be read, or contain themselves", () => {
    const self: { cause?: unknown } = {};
    self.cause = self;
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const getter = {
      get message(): string {
        throw new Error("no");
      },
    };
    for (const error of [self, proxy, getter, [self, self]]) expect(classifyModelError(error).code).toBe("model_error");
  });
});

describe("the wait a provider asks for", () => {
  const now = Date.parse("2026-11-21T12:00:00Z");
  test.each<readonly [string, Record<string, string>, number | undefined]>([
    ["in seconds", { "retry-after": "20" }, 20_000],
    ["in parts of a second", { "retry-after": "0.5" }, 500],
    ["in milliseconds, which win", { "retry-after-ms": "1500", "retry-after": "20" }, 1500],
    ["as a date", { "Retry-After": "Sat, 21 Nov 2026 12:00:30 GMT" }, 30_000],
    ["as a date that is past", { "retry-after": "Sat, 21 Nov 2026 11:00:00 GMT" }, 0],
    ["in words nobody knows", { "retry-after": "soon" }, undefined],
    ["never", {}, undefined],
  ])("is told %s", (_, headers, expected) => {
    expect(classifyModelError(answered(429, {}, headers), () => now).retryAfterMs).toBe(expected);
  });

  test("is in Gemini's body", () => {
    const error = google(429, "RESOURCE_EXHAUSTED", "Quota", [{ "@type": "RetryInfo", retryDelay: "37.2s" }]);
    expect(classifyModelError(error).retryAfterMs).toBe(37_200);
  });

  test("means nothing without a clock when it is a date, and nothing for what will not pass", () => {
    const date = { "retry-after": "Sat, 21 Nov 2026 12:00:30 GMT" };
    expect(classifyModelError(answered(429, {}, date)).retryAfterMs).toBeUndefined();
    expect(classifyModelError(answered(400, {}, { "retry-after": "20" }))).not.toHaveProperty("retryAfterMs");
  });

  test("comes with the provider's own word on whether to try again", () => {
    expect(classifyModelError(answered(503, {}, { "x-should-retry": "false" })).retryable).toBe(false);
    expect(classifyModelError(answered(400, {}, { "x-should-retry": "true" })).retryable).toBe(true);
  });
});
