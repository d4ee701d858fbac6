import { complete } from "./complete.ts";
import type { ContextPolicy, ContextPolicyInput } from "./fields.ts";
import { within } from "./for-model.ts";
import { limitsOf } from "./model-limits.ts";

/** A million tokens in every call cost more than most people expect: a policy that names them gets them. */
const AGENT_CAP = 100_000;

/** What an agent shows a model that is not in the table: most models of today can read this much. */
export const UNKNOWN_WINDOW = 32_000;

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
 * maxInputTokens at most 100 000, or 32 000 where the model is not in the table, else the default. The first that is given
 * counts as a whole, but for the window: one that names no maxInputTokens has the window of the next. What it leaves open of
 * tool results is for agents: any that is longer than half of the room for input is shortened, and where the newest exchange does
 * not fit all the same, its results are (`overflow: "shrink"`). A complete policy, as `ContextPolicy.create` makes it, leaves nothing
 * open.
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

/** Without a policy of its own an agent has all of the model's; with one, the room it leaves open. */
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
