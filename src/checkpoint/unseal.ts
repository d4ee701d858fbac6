import { sameJson } from "../thread/json.ts";
import { fromBase64url } from "./base64url.ts";
import type { Settings } from "./config.ts";
import { TokenError, tooLarge } from "./error.ts";
import { checkPrefix, idOf, split } from "./format.ts";
import { claimsOf, readPayload, stateOf, type TokenClaims } from "./payload.ts";
import { type Secrets, secretsOf } from "./secrets.ts";
import { isSigned } from "./signature.ts";
import type { ResumeState } from "./state.ts";

/** The content of a valid token. `state` is the state that was minted. */
export interface VerifiedToken extends TokenClaims {
  /** The id to revoke the token by, for example after its first use. */
  readonly tokenId: string;
  readonly state: ResumeState;
}

export async function unseal(token: string, settings: Settings): Promise<VerifiedToken> {
  const secrets = secretsOf(settings.tokenSecret, settings.warn);
  checkPrefix(token);
  const { maxBytes, revocations } = settings;
  if (token.length > maxBytes) throw tooLarge(token.length, maxBytes, "Raise tokenMaxBytes if it is yours.");
  const segments = split(token);
  const payload = await readPayload(await signedBytes(segments, secrets), settings);
  const claims = claimsOf(payload);
  checkClaims(claims, settings);
  const tokenId = idOf(segments);
  const verified = Object.freeze({ tokenId, ...claims, bind: settings.bind, state: stateOf(payload) });
  if (!(await revocations?.isRevoked(tokenId))) return verified;
  throw new TokenError({ code: "token_revoked", message: "This token was revoked. Resume from a newer one." });
}

async function signedBytes(
  { signed, payload, signature }: ReturnType<typeof split>,
  secrets: Secrets,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = fromBase64url(payload);
  const mac = fromBase64url(signature);
  if (bytes === undefined || mac === undefined) {
    const message =
      "A part of this token is not unpadded base64url. It was changed or truncated: pass the complete token.";
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
  if (!sameJson(bind, settings.bind)) throw mismatch("tokenBind", "It was minted for another user or tenant");
  if (configFingerprint === settings.configFingerprint) return;
  throw mismatch("configFingerprint", FINGERPRINT);
}

const FINGERPRINT =
  "It was minted by an agent of another name, or, where the agent has none, of other tools or another prompt";

function mismatch(path: string, why: string): TokenError {
  const message = `This token was minted with another ${path}. ${why}: resume with the same, or start the run again.`;
  return new TokenError({ code: "token_config_mismatch", path, message });
}
