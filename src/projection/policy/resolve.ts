import { complete } from "./complete.ts";
import type { ContextPolicy, ContextPolicyInput } from "./fields.ts";
import { within } from "./for-model.ts";
import { limitsOf } from "./model-limits.ts";

/** A million tokens in every call cost more than users expect. A policy that names a larger window gets it. */
const AGENT_CAP = 100_000;

/** The window of an agent whose model is not in the table. Most current models can read this much. */
export const UNKNOWN_WINDOW = 32_000;

export interface PolicySources {
  /** The policy of a single request. */
  readonly request?: ContextPolicyInput | undefined;
  /** The policy in the state of the agent. */
  readonly state?: ContextPolicyInput | undefined;
  readonly definition?: ContextPolicyInput | undefined;
  readonly model?: string | undefined;
  /** The longest answer the agent allows. The reserve is at least this large. Default 0. */
  readonly maxOutputTokens?: number | undefined;
}

/**
 * The policy of an agent's call. The first of these counts: the request's, the agent state's, the definition's, the
 * model's, the general default. The model's has a maxInputTokens of at most 100 000, or 32 000 if the model is not in the
 * table. A policy without maxInputTokens takes the window of the next one; nothing else is merged.
 *
 * Fields that are still missing get the defaults of agents. Results longer than half of the tokens for input are
 * shortened. If the newest exchange still does not fit, its results are shortened further (`overflow: "shrink"`). A
 * complete policy, as `ContextPolicy.create` makes it, has no missing fields.
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
  const own = complete(hasWindow ? first : { ...windowOf(given, model), ...first });
  const { maxInputTokens } = own;
  const reserveOutputTokens = Math.max(own.reserveOutputTokens, maxOutputTokens);
  const isComplete = own === first && reserveOutputTokens === own.reserveOutputTokens;
  if (isComplete) return own;
  const maxTokens =
    first?.toolResults?.maxTokens ?? Math.max(1, Math.floor((maxInputTokens - reserveOutputTokens) / 2));
  const overflow = first?.overflow ?? "shrink";
  return complete({ ...own, reserveOutputTokens, overflow, toolResults: { ...own.toolResults, maxTokens } });
}

/** Without any policy, the whole policy of the model. Else only the window of the next policy that has one. */
function windowOf(given: readonly ContextPolicyInput[], model: string | undefined): ContextPolicyInput {
  const named = given.find(({ maxInputTokens }) => maxInputTokens !== undefined);
  if (named === undefined && model === undefined) return {};
  const whole = named === undefined && model !== undefined ? forAgent(model) : complete(named ?? {});
  if (given.length === 0) return whole;
  const { maxInputTokens, reserveOutputTokens } = whole;
  return { maxInputTokens, reserveOutputTokens };
}

function forAgent(model: string): ContextPolicy {
  const limits = limitsOf(model) ?? { window: UNKNOWN_WINDOW };
  return within({ ...limits, window: Math.min(limits.window, AGENT_CAP) }, {});
}
