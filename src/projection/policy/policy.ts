import { complete } from "./complete.ts";
import type { ContextPolicyInput, ContextPolicy as Policy } from "./fields.ts";
import { forModel } from "./for-model.ts";
import { hashOf } from "./hash.ts";
import { longContext, shortContext, toolFocused } from "./presets.ts";
import { resolvePolicy } from "./resolve.ts";

/** The rules for what a model is shown: complete, valid, frozen, plain JSON. Made by `ContextPolicy.create` and presets. */
export type ContextPolicy = Policy;

/**
 * Makes policies. An invalid one throws a PolicyError that names the field.
 *
 * @example
 * const policy = ContextPolicy.create({ maxInputTokens: 32_000, reserveOutputTokens: 4000 });
 * const roomy = ContextPolicy.forModel("anthropic:claude-sonnet-4", { keepLastTurns: 8 });
 */
export const ContextPolicy = Object.freeze({
  /** Validates, fills in the defaults and freezes. A complete policy is returned unchanged. */
  create: (input: ContextPolicyInput = {}): Policy => complete(input),
  shortContext,
  longContext,
  toolFocused,
  forModel,
  resolve: resolvePolicy,
  hashOf,
});
