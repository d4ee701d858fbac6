import { base64url } from "../thread/base64url.ts";
import { type Settings, settingsOf, type TokenConfig } from "./config.ts";
import { invalidOption, TokenError, tooLarge } from "./error.ts";
import { join, signedText } from "./format.ts";
import { type TokenClaims, writePayload } from "./payload.ts";
import { sign } from "./signature.ts";
import { type ResumeState, readState } from "./state.ts";

/**
 * A token with which the run goes on later, elsewhere. It is signed, not encrypted: whoever holds it can read the
 * context. A state that has a threadRef and is too large for a token is left in the thread and referred to.
 *
 * @example
 * const config = { tokenSecret: "a secret of at least 32 bytes....", tokenBind: { tenant: "acme" } };
 * const token = await mint(
 *   { runId: "run_1", requestId: "req_1", phase: "after_tools", context: { messages: [] } },
 *   config,
 * );
 * token.startsWith("rt2."); // true
 */
export async function mint(state: ResumeState, config: TokenConfig): Promise<string> {
  const settings = settingsOf(config);
  const claims = claimsOf(settings);
  const whole = readState(state);
  const { context, threadRef, ...point } = whole;
  if (context === undefined || threadRef === undefined) return seal(claims, whole, settings);
  try {
    return await seal(claims, whole, settings);
  } catch (error) {
    if (!TokenError.isInstance(error) || error.code !== "token_too_large") throw error;
    return seal(claims, { ...point, threadRef }, settings);
  }
}

async function seal(claims: TokenClaims, state: ResumeState, settings: Settings): Promise<string> {
  const { maxBytes, secrets } = settings;
  const signed = signedText(base64url(await writePayload(claims, state, settings)));
  const token = join(signed, await sign(signed, secrets[0]));
  if (token.length <= maxBytes) return token;
  throw tooLarge(token.length, maxBytes, "Raise tokenMaxBytes, or give the state a threadRef.");
}

function claimsOf({ issuer, nowMs, ttlMs, configFingerprint, bind }: Settings): TokenClaims {
  const expMs = ttlMs === undefined ? undefined : nowMs + ttlMs;
  if (expMs !== undefined && !Number.isSafeInteger(expMs)) throw invalidOption("tokenTtlMs", "ends beyond all time");
  return { iss: issuer, iatMs: nowMs, ...(expMs !== undefined && { expMs }), configFingerprint, bind };
}
