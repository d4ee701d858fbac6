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
 * maxInputTokens at most 100 000, else the default. The first that is given counts as a whole, but for the window: one that
 * names no maxInputTokens has the window of the next.
 *
 * @example
 * resolvePolicy({ model: "openai:gpt-5" }).maxInputTokens; // 100000
 * resolvePolicy({ request: { maxTurns: 2 }, model: "openai:gpt-5" }).maxInputTokens; // 100000
 * resolvePolicy({ request: { maxTurns: 2 }, definition: { maxInputTokens: 6000 } }).maxInputTokens; // 6000
 */
export function resolvePolicy({
  request,
  state,
  definition,
  model,
  maxOutputTokens = 0,
}: PolicySources): ContextPolicy {
  const given = [request, state, definition].filter((input) => input !== undefined);
  const [first] = given;
  const hasWindow = first?.maxInputTokens !== undefined;
  const policy = complete(hasWindow ? first : { ...windowOf(given, model), ...first });
  if (policy.reserveOutputTokens >= maxOutputTokens) return policy;
  return complete({ ...policy, reserveOutputTokens: maxOutputTokens });
}

/** Without a policy of its own an agent has all of the model's; with one, the room it leaves open. */
function windowOf(given: readonly ContextPolicyInput[], model: string | undefined): ContextPolicyInput {
  const named = given.find(({ maxInputTokens }) => maxInputTokens !== undefined);
  if (named === undefined && model === undefined) return {};
  const whole = named === undefined && model !== undefined ? forModelWithin(model, AGENT_CAP) : complete(named ?? {});
  if (given.length === 0) return whole;
  const { maxInputTokens, reserveOutputTokens } = whole;
  return { maxInputTokens, reserveOutputTokens };
}
