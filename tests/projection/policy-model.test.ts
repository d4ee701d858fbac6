import { describe, expect, test } from "vitest";
import { PolicyError } from "../../src/projection/error.ts";
import { MODEL_TABLE } from "../../src/projection/policy/model-table.ts";
import { ContextPolicy, limitsOf } from "../../src/projection/policy/policy.ts";

describe("the limits of a model", () => {
  test.each([
    ["anthropic:claude-sonnet-4", 200_000],
    ["anthropic/claude-sonnet-4", 200_000],
    ["anthropic:claude-sonnet-4-20250514", 200_000],
    ["anthropic:claude-3-5-haiku-latest", 200_000],
    ["anthropic:claude-sonnet-4-6", 1_000_000],
    ["openrouter/anthropic/claude-sonnet-4.6", 1_000_000],
    ["amazon-bedrock:us.anthropic.claude-sonnet-4-20250514-v1:0", 200_000],
    ["Anthropic:Claude-Sonnet-4", 200_000],
    ["openai:gpt-5.1", 400_000],
    ["openai/gpt-5.1-2025-11-13", 400_000],
    ["openai:gpt-4o-mini-2024-07-18", 128_000],
    ["openai.responses:gpt-5.1", 400_000],
    ["azure:gpt-4o", 128_000],
    ["gpt-4.1", 1_047_576],
    ["google:gemini-2.5-pro", 1_048_576],
    ["vertex/gemini-2.5-pro", 1_048_576],
    ["x-ai/grok-4-0709", 256_000],
    ["mistral:mistral-large-latest", 128_000],
    ["groq:openai/gpt-oss-120b", 131_072],
    ["deepseek:deepseek-chat", 64_000],
  ])("%s has a window of %i", (model, window) => {
    expect(limitsOf(model)?.window).toBe(window);
  });

  test.each([
    "",
    ":",
    "/",
    "openai:",
    "openai:gpt-5.77",
    "openai:gpt-50",
    "ollama:my-model",
    "constructor:name",
    "__proto__",
    "claude",
  ])("%j is not known", (model) => {
    expect(limitsOf(model)).toBeUndefined();
  });

  test("every name in the table is found, with its own limits", () => {
    for (const [provider, rows] of Object.entries(MODEL_TABLE)) {
      for (const [name, window] of rows) expect(limitsOf(`${provider}:${name}`)?.window).toBe(window);
    }
  });
});

describe("the policy for a model", () => {
  test("has the whole window, and reserves tokens for a long answer", () => {
    expect(ContextPolicy.forModel("anthropic:claude-sonnet-4")).toEqual(
      ContextPolicy.create({ maxInputTokens: 200_000, reserveOutputTokens: 16_000 }),
    );
  });

  test("reserves no more than the model can write, or a quarter of a small window", () => {
    expect(ContextPolicy.forModel("openai:gpt-4-turbo").reserveOutputTokens).toBe(4096);
    expect(ContextPolicy.forModel("openai:gpt-4").reserveOutputTokens).toBe(2048);
    expect(ContextPolicy.forModel("openai:gpt-5.1", { maxInputTokens: 20_000 }).reserveOutputTokens).toBe(5000);
  });

  test("can be overridden, and is checked like any other", () => {
    const policy = ContextPolicy.forModel("openai:gpt-5.1", { reserveOutputTokens: 50, keepLastTurns: 8 });
    expect(policy).toMatchObject({ maxInputTokens: 400_000, reserveOutputTokens: 50, keepLastTurns: 8 });
    expect(() => ContextPolicy.forModel("openai:gpt-5.1", { maxInputTokens: -1 })).toThrow(PolicyError);
    expect(() => ContextPolicy.forModel("openai:gpt-5.1", JSON.parse("null"))).toThrow(PolicyError);
    expect(() => ContextPolicy.forModel("openai:gpt-5.1", { reserveOutputTokens: 400_000 })).toThrow(PolicyError);
  });

  test("is the default where the model is not known", () => {
    expect(ContextPolicy.forModel("nobody:knows")).toEqual(ContextPolicy.create());
    expect(ContextPolicy.forModel("nobody:knows", { maxTurns: 2 })).toEqual(ContextPolicy.create({ maxTurns: 2 }));
  });

  test("is possible for every model in the table", () => {
    for (const [provider, rows] of Object.entries(MODEL_TABLE)) {
      for (const [name] of rows) {
        const policy = ContextPolicy.forModel(`${provider}/${name}`);
        expect(policy.reserveOutputTokens).toBeGreaterThan(0);
        expect(policy.reserveOutputTokens * 4).toBeLessThanOrEqual(policy.maxInputTokens);
      }
    }
  });
});
