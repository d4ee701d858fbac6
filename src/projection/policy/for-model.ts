import { readFields } from "./checks.ts";
import { complete } from "./complete.ts";
import type { ContextPolicy, ContextPolicyInput } from "./fields.ts";
import { limitsOf, type ModelLimits } from "./model-limits.ts";

/** Enough for nearly every answer. Models that can write more rarely do. */
const LARGEST_RESERVE = 16_000;

/**
 * A policy for a model, with its whole context window as maxInputTokens. The reserve is the model's largest answer, at
 * most 16 000 and at most a quarter of maxInputTokens. A model that is not in the table gets the general defaults (8000
 * and 2000). Use the overrides to set others.
 *
 * @example
 * forModel("anthropic:claude-sonnet-4").maxInputTokens; // 200000
 * forModel("openai/gpt-5.1", { maxInputTokens: 50_000 }).reserveOutputTokens; // 12500
 */
export function forModel(model: string, overrides: ContextPolicyInput = {}): ContextPolicy {
  const limits = limitsOf(model);
  return limits === undefined ? complete(overrides) : within(limits, overrides);
}

/** A policy for a window. The reserve is at most a quarter of it. */
export function within(
  { window, output = LARGEST_RESERVE }: ModelLimits,
  overrides: ContextPolicyInput,
): ContextPolicy {
  const given = readFields(overrides, "");
  const room = typeof given["maxInputTokens"] === "number" ? given["maxInputTokens"] : window;
  const reserveOutputTokens = Math.min(output, LARGEST_RESERVE, Math.floor(room / 4));
  return complete(given, { maxInputTokens: window, reserveOutputTokens });
}
