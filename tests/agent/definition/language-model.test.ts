import { ContextPolicy, project, Thread } from "heddle";
import { describe, expect, test } from "vitest";
import { metadataKey, modelIdentity, qualifiedModelName } from "../../../src/agent/definition/language-model.ts";

const NAMES: readonly (readonly [provider: string, modelId: string, name: string, owner: string])[] = [
  ["openai.responses", "gpt-5.1", "openai:gpt-5.1", "openai"],
  ["openai.chat", "gpt-5.1", "openai:gpt-5.1", "openai"],
  ["anthropic.messages", "claude-sonnet-4-5", "anthropic:claude-sonnet-4-5", "anthropic"],
  ["google.generative-ai", "gemini-2.5-pro", "google:gemini-2.5-pro", "google"],
  ["google.vertex.chat", "gemini-2.5-pro", "google:gemini-2.5-pro", "vertex"],
  ["vertex.anthropic.messages", "claude-sonnet-4@20250514", "vertex:claude-sonnet-4@20250514", "anthropic"],
  [
    "amazon-bedrock",
    "us.anthropic.claude-sonnet-4-20250514-v1:0",
    "amazon-bedrock:us.anthropic.claude-sonnet-4-20250514-v1:0",
    "bedrock",
  ],
  ["azure.responses", "gpt-5.1", "azure:gpt-5.1", "azure"],
  ["groq.chat", "openai/gpt-oss-120b", "groq:openai/gpt-oss-120b", "groq"],
  ["openrouter", "anthropic/claude-sonnet-4.5", "openrouter:anthropic/claude-sonnet-4.5", "openrouter"],
];

describe("the name of a model", () => {
  test.each(NAMES)("of %s and %s is %s", (provider, modelId, name, owner) => {
    expect([qualifiedModelName({ provider, modelId }), metadataKey({ provider, modelId })]).toEqual([name, owner]);
  });

  test.each(NAMES)("of %s and %s has its window in the table", (provider, modelId) => {
    expect(ContextPolicy.forModel(qualifiedModelName({ provider, modelId })).maxInputTokens).toBeGreaterThan(100_000);
  });

  const odd = [
    ["my/own:api", "m"],
    [".x", ""],
  ] as const;
  test.each([...NAMES.map(([provider, modelId]) => [provider, modelId] as const), ...odd])(
    "of %s and %s is the one that may read its thinking again",
    (provider, modelId) => {
      const model = qualifiedModelName({ provider, modelId });
      const made = modelIdentity({ provider, modelId });
      const said = [
        { type: "thinking", text: "Hm", provider: made.provider, model: made.modelId },
        { type: "text", text: "Yes?" },
      ];
      const policy = { maxInputTokens: 8000, thinking: "auto" } as const;
      const asked = Thread.create().append({ kind: "message", payload: { role: "user", content: "Hi" } });
      const { fingerprint } = project({ thread: asked, model, policy }).meta;
      const answer = { role: "assistant", content: said, call: { model, fingerprint } };
      const thread = asked.append({ kind: "message", payload: answer });
      expect(project({ thread, model, policy }).messages[1]?.content).toEqual(said);
      expect(project({ thread, model: "other:model", policy }).messages[1]?.content).toBe("Yes?");
    },
  );
});
