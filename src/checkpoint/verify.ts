import { sameJson } from "../thread/json.ts";
import { fromBase64url } from "./base64url.ts";
import { type Settings, settingsOf, type TokenConfig } from "./config.ts";
import { TokenError, tooLarge } from "./error.ts";
import { checkPrefix, idOf, split } from "./format.ts";
import { claimsOf, readPayload, stateOf, type TokenClaims } from "./payload.ts";
import { isSigned } from "./signature.ts";
import type { ResumeState } from "./state.ts";

/** What a good token says; `state` is what was minted. */
export interface VerifiedToken extends TokenClaims {
  /** Revoke it by this id, say when it has been used. */
  readonly tokenId: string;
  readonly state: ResumeState;
}

/**
 * What a token says, or a TokenError whose code says why it is refused. Nothing of a payload is read before its
 * signature is known to be good.
 *
 * @example
 * const config = { tokenSecret: "a secret of at least 32 bytes....", tokenBind: { tenant: "acme" } };
 * const token = await mint({ runId: "run_1", requestId: "req_1", phase: "terminal", context: { text: "4" } }, config);
 * const { state } = await verify(token, config);
 * state.context; // { text: "4" }
 */
export async function verify(token: string, config: TokenConfig): Promise<VerifiedToken> {
  const settings = settingsOf(config);
  checkPrefix(token);
  const { maxBytes, revocations } = settings;
  if (token.length > maxBytes) throw tooLarge(token.length, maxBytes, "Raise tokenMaxBytes if it is yours.");
  const segments = split(token);
  const payload = await readPayload(await signedBytes(segments, settings), settings);
  const claims = claimsOf(payload);
  checkClaims(claims, settings);
  const tokenId = idOf(segments);
  const verified = Object.freeze({ tokenId, ...claims, bind: settings.bind, state: stateOf(payload) });
  if (!(await revocations?.isRevoked(tokenId))) return verified;
  throw new TokenError({ code: "token_revoked", message: "This token was revoked. Resume from a newer one." });
}

async function signedBytes(
  { signed, payload, signature }: ReturnType<typeof split>,
  { secrets }: Settings,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = fromBase64url(payload);
  const mac = fromBase64url(signature);
  if (bytes === undefined || mac === undefined) {
    const message = "A part of this token is not unpadded base64url. It was changed or cut on its way: pass it whole.";
    throw new TokenError({ code: "invalid_base64", message });
  }
  if (await isSigned(signed, mac, secrets)) return bytes;
  const message =
    "None of the secrets signed this token. It was changed, or its secret is no longer in tokenSecret, or it was minted " +
    "without one by another process.";
  throw new TokenError({ code: "invalid_token_signature", message });
}

function checkClaims({ iss, expMs, bind, configFingerprint }: TokenClaims, settings: Settings): void {
  const { issuer, nowMs } = settings;
  if (iss !== issuer) {
    const message = "Another issuer minted this token. Verify with the tokenIssuer that it was minted with.";
    throw new TokenError({ code: "invalid_token_issuer", message });
  }
  if (expMs !== undefined && nowMs > expMs) {
    const message = `This token expired ${nowMs - expMs} ms ago. Resume from a newer one, or raise tokenTtlMs.`;
    throw new TokenError({ code: "token_expired", message, expMs, nowMs });
  }
  if (!sameJson(bind, settings.bind)) throw mismatch("tokenBind", "It was minted for somebody else");
  if (configFingerprint === settings.configFingerprint) return;
  throw mismatch("configFingerprint", "The agent has changed since");
}

function mismatch(path: string, why: string): TokenError {
  const message = `This token was minted with another ${path}. ${why}: resume with the same, or start the run again.`;
  return new TokenError({ code: "token_config_mismatch", path, message });
}
