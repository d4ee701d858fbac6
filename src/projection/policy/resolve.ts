import { complete } from "./complete.ts";
import type { ContextPolicy, ContextPolicyInput } from "./fields.ts";
import { forModelWithin } from "./for-model.ts";

/** A million tokens in every call cost more than most people expect: who wants them says so. */
const AGENT_CAP = 100_000;

export interface PolicySources {
  /** What a single request asks for. */
  readonly request?: ContextPolicyInput | undefined;
  /** What was set on the running agent. */
  readonly state?: ContextPolicyInput | undefined;
  readonly definition?: ContextPolicyInput | undefined;
  readonly model?: string | undefined;
  /** The longest answer the agent allows; the reserve is at least that. */
  readonly maxOutputTokens?: number | undefined;
}

/**
 * The policy of an agent's call: the request's, else the agent state's, else the definition's, else the model's with
 * maxInputTokens at most 100 000, else the default. The first that is given counts as a whole: policies are not mixed.
 *
 * @example
 * resolvePolicy({ request: { maxTurns: 2 }, model: "openai:gpt-5" }).maxInputTokens; // 8000
 * resolvePolicy({ model: "openai:gpt-5" }).maxInputTokens; // 100000
 */
export function resolvePolicy(sources: PolicySources): ContextPolicy {
  const { request, state, definition, model, maxOutputTokens = 0 } = sources;
  const given = request ?? state ?? definition;
  const policy = given !== undefined || model === undefined ? complete(given ?? {}) : forModelWithin(model, AGENT_CAP);
  if (policy.reserveOutputTokens >= maxOutputTokens) return policy;
  return complete({ ...policy, reserveOutputTokens: maxOutputTokens });
}
