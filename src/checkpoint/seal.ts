import { base64url } from "../thread/base64url.ts";
import type { JsonObject } from "../thread/json.ts";
import type { Settings } from "./config.ts";
import { invalidOption, TokenError, tooLarge } from "./error.ts";
import { join, signedText } from "./format.ts";
import { type TokenClaims, writePayload } from "./payload.ts";
import { secretsOf } from "./secrets.ts";
import { sign } from "./signature.ts";
import type { ResumeState } from "./state.ts";
import { checkState } from "./state-checks.ts";

/** Signs a state as a token. For a state that is too large, the token contains only its threadRef. */
export async function seal(copy: JsonObject, settings: Settings): Promise<string> {
  const [secret] = secretsOf(settings.tokenSecret, settings.warn);
  const claims = claimsOf(settings);
  const state = checkState(copy);
  const { context, threadRef, ...point } = state;
  if (context === undefined || threadRef === undefined) return write(claims, state, secret, settings);
  try {
    return await write(claims, state, secret, settings);
  } catch (error) {
    if (!TokenError.isInstance(error) || error.code !== "token_too_large") throw error;
    return write(claims, { ...point, threadRef }, secret, settings);
  }
}

async function write(claims: TokenClaims, state: ResumeState, secret: string, settings: Settings): Promise<string> {
  const { maxBytes } = settings;
  const signed = signedText(base64url(await writePayload(claims, state, settings)));
  const token = join(signed, await sign(signed, secret));
  if (token.length <= maxBytes) return token;
  throw tooLarge(token.length, maxBytes, "Raise tokenMaxBytes, or give the state a threadRef.");
}

function claimsOf({ issuer, nowMs, ttlMs, configFingerprint, bind }: Settings): TokenClaims {
  const expMs = ttlMs === undefined ? undefined : nowMs + ttlMs;
  if (expMs !== undefined && !Number.isSafeInteger(expMs))
    throw invalidOption("tokenTtlMs", "is too large: the token's expiry is not a safe integer");
  return { iss: issuer, iatMs: nowMs, ...(expMs !== undefined && { expMs }), configFingerprint, bind };
}
