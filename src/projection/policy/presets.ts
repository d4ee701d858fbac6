import { complete } from "./complete.ts";
import type { ContextPolicy, ContextPolicyInput } from "./fields.ts";
import { DEFAULT_KINDS } from "./kinds.ts";

/**
 * For small models and quick answers: 6000 tokens, two turns kept.
 *
 * @example
 * const policy = ContextPolicy.shortContext({ reserveOutputTokens: 1000 });
 */
export function shortContext(overrides: ContextPolicyInput = {}): ContextPolicy {
  return complete(overrides, { maxInputTokens: 6000, keepLastTurns: 2 });
}

/**
 * For long conversations: 100 000 tokens, ten turns kept.
 *
 * @example
 * const policy = ContextPolicy.longContext({ summarization: "request_new" });
 */
export function longContext(overrides: ContextPolicyInput = {}): ContextPolicy {
  return complete(overrides, { maxInputTokens: 100_000, keepLastTurns: 10 });
}

/**
 * For agents that mostly call tools: five turns kept, no summaries.
 *
 * @example
 * const policy = ContextPolicy.toolFocused({ toolResults: { keepLast: 10 } });
 */
export function toolFocused(overrides: ContextPolicyInput = {}): ContextPolicy {
  const includeKinds = DEFAULT_KINDS.filter((kind) => kind !== "summary");
  return complete(overrides, { keepLastTurns: 5, includeKinds, summarization: "none" });
}
