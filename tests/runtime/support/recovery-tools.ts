import { type AgentConfig, type AnyAgent, defineAgent as define, project, type ThreadStore } from "heddle";
import { validateMessages } from "heddle/providers";
import { expect } from "vitest";

/** An agent whose types do not matter. */
export function defineAgent(config: object): AnyAgent {
  return define(config as AgentConfig) as AnyAgent;
}

/** What a thread shows is legal for every provider. */
export async function toAll(store: ThreadStore, threadId: string): Promise<void> {
  const thread = await store.load(threadId);
  if (thread === undefined) throw new Error(`no thread ${threadId}`);
  const { messages } = project({ thread });
  for (const provider of ["openai-chat", "openai-responses", "anthropic", "gemini"] as const) {
    const violations = validateMessages(messages, provider).filter(({ rule }) => rule !== "trailing_assistant");
    expect(violations).toEqual([]);
  }
}
