import type { ReactAgent } from "../../agent/react/agent.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import { loadExactCounter } from "../../tokens/exact.ts";

/** Whether a policy asks for a counter that the agent does not have yet. */
export function lacksCounter({ settings }: ReactAgent, policy: ContextPolicyInput | undefined): boolean {
  return policy?.tokenEstimator === "exact" && settings.exactCounter === undefined;
}

/** The exact counter, if the first of these policies asks for one that the agent does not have. */
export async function loadCounter(
  agent: ReactAgent,
  ...policies: readonly (ContextPolicyInput | undefined)[]
): Promise<TokenCounter | undefined> {
  const policy = policies.find((one) => one !== undefined);
  return lacksCounter(agent, policy) ? loadExactCounter(agent.settings.model ?? "") : undefined;
}
