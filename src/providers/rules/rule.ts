import type { Message } from "../../thread/message.ts";

/** The wire formats whose rules are known. */
export type ProviderApi = "openai-chat" | "openai-responses" | "anthropic" | "gemini";

export interface Rule {
  readonly providers: readonly ProviderApi[];
  /** What is wrong with the message that breaks it. */
  readonly trouble: string;
  /** The index of the first message that breaks it for a provider, or -1. */
  readonly find: (messages: readonly Message[], provider: ProviderApi) => number;
}

export const EVERY_PROVIDER: readonly ProviderApi[] = ["openai-chat", "openai-responses", "anthropic", "gemini"];

/** A rule that every provider has, or that keeps a list fit for every provider. */
export function everywhere(trouble: string, find: Rule["find"]): Rule {
  return { providers: EVERY_PROVIDER, trouble, find };
}

export function only(provider: ProviderApi, trouble: string, find: Rule["find"]): Rule {
  return { providers: [provider], trouble, find };
}
