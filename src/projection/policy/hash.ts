import { portableSha256 } from "../../thread/sha256.ts";
import { complete } from "./complete.ts";
import type { ContextPolicyInput } from "./fields.ts";

/**
 * The SHA-256 of a policy's canonical JSON, base64url: equal for equal policies, however they were written.
 *
 * @example
 * hashOf({ maxTurns: 5, maxMessages: 0 }) === hashOf({ maxTurns: 5 }); // true
 */
export function hashOf(policy: ContextPolicyInput): string {
  return portableSha256(JSON.stringify(complete(policy))); // canonical: every policy holds its keys in one order
}
