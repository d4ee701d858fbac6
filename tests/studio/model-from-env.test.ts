import { assistantAgent, modelFromEnv } from "heddle/studio";
import { expect, test, vi } from "vitest";

test("without a key there is no model", async () => {
  expect(await modelFromEnv({})).toBeUndefined();
  expect(await modelFromEnv({ ANTHROPIC_API_KEY: "" })).toBeUndefined();
});

test.each([
  [{ ANTHROPIC_API_KEY: "k" }, /^anthropic/, "claude-sonnet-5"],
  [{ OPENAI_API_KEY: "k" }, /^openai/, "gpt-5"],
  [{ GOOGLE_GENERATIVE_AI_API_KEY: "k" }, /^google/, "gemini-3-flash"],
  [{ OPENAI_BASE_URL: "http://localhost:1/v1", HEDDLE_MODEL: "org/llama" }, /^openai-compatible/, "org/llama"],
  [{ OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://localhost:1/v1" }, /^openai-compatible/, "default"],
  [{ ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", HEDDLE_MODEL: "openai:gpt-5-mini" }, /^openai/, "gpt-5-mini"],
  [{ ANTHROPIC_API_KEY: "k", HEDDLE_MODEL: "claude-opus-5" }, /^anthropic/, "claude-opus-5"],
])("%j gives a model", async (env, provider, modelId) => {
  const model = await modelFromEnv(env);
  expect(model).toMatchObject({ provider: expect.stringMatching(provider), modelId });
  expect(assistantAgent(model ?? expect.fail("there is none")).name).toBe("assistant");
});

test("a package that is missing is named with the command that installs it, and the key is not", async () => {
  vi.doMock("@ai-sdk/anthropic", () => {
    throw new Error("Cannot find package");
  });
  const error = await modelFromEnv({ ANTHROPIC_API_KEY: "secret-key" }).catch((thrown: unknown) => thrown);
  vi.doUnmock("@ai-sdk/anthropic");
  expect(error).toMatchObject({
    code: "provider_missing",
    message: expect.stringContaining("npm install @ai-sdk/anthropic"),
  });
  expect(String(error)).not.toContain("secret-key");
});
