import { portableSha256 } from "../../thread/sha256.ts";
import { complete } from "./complete.ts";
import type { ContextPolicyInput } from "./fields.ts";

/**
 * The SHA-256 of a policy's canonical JSON, in base64url. Equal policies have equal hashes, whatever their key order.
 *
 * @example
 * hashOf({ maxTurns: 5, maxMessages: 0 }) === hashOf({ maxTurns: 5 }); // true
 */
export function hashOf(policy: ContextPolicyInput): string {
  return portableSha256(JSON.stringify(complete(policy))); // canonical, because every complete policy has the same key order
}
