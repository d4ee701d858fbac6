import type { Message } from "../../thread/message.ts";

/** The wire formats whose rules are known. */
export type ProviderApi = "openai-chat" | "openai-responses" | "anthropic" | "gemini";

export interface Rule {
  readonly providers: readonly ProviderApi[];
  /** The problem of a message that violates the rule. */
  readonly trouble: string;
  /** The index of the first message that violates the rule for a provider, or -1. */
  readonly find: (messages: readonly Message[], provider: ProviderApi) => number;
}

export const EVERY_PROVIDER: readonly ProviderApi[] = ["openai-chat", "openai-responses", "anthropic", "gemini"];

/** A rule for all providers. Some do not enforce it, but a list that follows it can be sent to all. */
export function everywhere(trouble: string, find: Rule["find"]): Rule {
  return { providers: EVERY_PROVIDER, trouble, find };
}

export function only(provider: ProviderApi, trouble: string, find: Rule["find"]): Rule {
  return { providers: [provider], trouble, find };
}
