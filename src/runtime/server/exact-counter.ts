import type { ReactAgent } from "../../agent/react/agent.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { loadExactCounter } from "../../tokens/exact.ts";
import type { Session } from "../session/session.ts";

/** Whether a policy asks for a counter that the agent does not have yet. */
export function lacksCounter({ settings }: ReactAgent, policy: ContextPolicyInput | undefined): boolean {
  return policy?.tokenEstimator === "exact" && settings.exactCounter === undefined;
}

/** Loads the exact counter where a policy asks for one that the agent's own policy did not. */
export async function ensureCounter(
  session: Session,
  ...policies: readonly (ContextPolicyInput | undefined)[]
): Promise<void> {
  const [policy] = policies.filter((one) => one !== undefined);
  if (!lacksCounter(session.agent, policy)) return;
  const exactCounter = await loadExactCounter(session.agent.settings.model ?? "");
  session.change((agent) => ({ ...agent, settings: { ...agent.settings, exactCounter } }));
}
