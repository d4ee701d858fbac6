import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { loadExactCounter } from "../../tokens/load-exact.ts";
import type { Session } from "../session/session.ts";

/** Loads the exact counter where a policy asks for one that the agent's own policy did not. */
export async function ensureCounter(
  session: Session,
  ...policies: readonly (ContextPolicyInput | undefined)[]
): Promise<void> {
  const { settings } = session.agent;
  const [policy] = policies.filter((one) => one !== undefined);
  if (policy?.tokenEstimator !== "exact" || settings.exactCounter !== undefined) return;
  const exactCounter = await loadExactCounter(settings.model ?? "");
  session.change((agent) => ({ ...agent, settings: { ...agent.settings, exactCounter } }));
}
