import { type ErrorFacts, HeddleError } from "../../thread/errors.ts";

/**
 * An invalid policy. Codes: `policy_unknown_field`, `policy_invalid_value` (one field is wrong by itself),
 * `policy_impossible` (two fields contradict each other).
 */
export class PolicyError extends HeddleError {
  static override readonly className: string = "PolicyError";
  /** The field in the policy, such as `window.step`. "" when the value is not an object. */
  readonly path: string;

  constructor(facts: ErrorFacts & { path: string }) {
    super(facts);
    this.path = facts.path;
  }
}

/** An error about one wrong field. */
export function invalidValue(path: string, trouble: string, cause?: unknown): PolicyError {
  const subject = path === "" ? "A context policy" : `The policy field ${path}`;
  return new PolicyError({ code: "policy_invalid_value", path, message: `${subject} ${trouble}.`, cause });
}

export function impossible(path: string, message: string): PolicyError {
  return new PolicyError({ code: "policy_impossible", path, message });
}
