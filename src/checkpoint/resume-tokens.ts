import { base64url, portableSha256 } from "../thread/encoding.ts";
import { type JsonObject, sameJson } from "../thread/json.ts";
import {
  type CheckpointStore,
  type Revocations,
  type Secrets,
  type Settings,
  secretsOf,
  settingsOf,
  type TokenConfig,
} from "./config.ts";
import { invalidOption, TokenError, tooLarge } from "./error.ts";
import {
  checkState,
  claimsOf,
  copyState,
  fromBase64url,
  type ResumeState,
  readPayload,
  stateOf,
  type TokenClaims,
  writePayload,
} from "./payload.ts";

/** Signed tokens to resume a run from. Every function takes the same config. */
export interface ResumeTokens {
  /**
   * Mints a token to resume the run later or in another process. It is signed, not encrypted: anyone with the token can read
   * the context. If the state is too large and has a threadRef, the token contains only the threadRef.
   *
   * @example
   * const config = { tokenSecret: "a secret of at least 32 bytes....", tokenBind: { tenant: "acme" } };
   * const token = await resumeTokens.mint(
   *   { runId: "run_1", requestId: "req_1", phase: "after_tools", context: { messages: [] } },
   *   config,
   * );
   * token.startsWith("rt2."); // true
   */
  mint(state: ResumeState, config: TokenConfig): Promise<string>;
  /**
   * Verifies a token and returns its content. Throws a TokenError whose code says why the token is refused. Does not read a
   * payload before its signature is verified.
   *
   * @example
   * const config = { tokenSecret: "a secret of at least 32 bytes....", tokenBind: { tenant: "acme" } };
   * const run = { runId: "run_1", requestId: "req_1" } as const;
   * const token = await resumeTokens.mint({ ...run, phase: "terminal", context: { text: "4" } }, config);
   * const { state } = await resumeTokens.verify(token, config);
   * state.context; // { text: "4" }
   */
  verify(token: string, config: TokenConfig): Promise<VerifiedToken>;
  /**
   * The id to revoke a token by. It is computed from the token alone, so that a leaked token can be revoked even when it no
   * longer verifies. `verify` returns the same id.
   */
  id(token: string): string;
  /**
   * Stores revocations as checkpoints, so that every process with this store refuses the token.
   *
   * @example
   * const revocations = resumeTokens.revocations(store);
   * const config = { tokenSecret: "a secret of at least 32 bytes....", revocations };
   * const run = { runId: "run_1", requestId: "req_1" } as const;
   * const token = await resumeTokens.mint({ ...run, phase: "terminal", context: {} }, config);
   * await revocations.revoke(resumeTokens.id(token)); // from now on verify throws token_revoked
   */
  revocations(store: CheckpointStore): Revocations;
}

/** Mints, verifies and revokes the tokens that a run is resumed from. */
export const resumeTokens: ResumeTokens = Object.freeze({
  mint,
  verify,
  id: tokenIdOf,
  revocations: checkpointRevocations,
});

export async function mint(state: ResumeState, config: TokenConfig): Promise<string> {
  // Copy both before the first await, because the caller may change them afterwards.
  const settings = settingsOf(config);
  const copy = copyState(state);
  return seal(copy, settings);
}

export async function verify(token: string, config: TokenConfig): Promise<VerifiedToken> {
  const settings = settingsOf(config); // copy before the first await: the caller may change it afterwards
  return unseal(token, settings);
}

export function tokenIdOf(token: string): string {
  checkPrefix(token);
  return idOf(split(token));
}

export function checkpointRevocations(store: CheckpointStore): Revocations {
  return {
    isRevoked: async (tokenId) => (await store.getCheckpoint(checkpointKey(tokenId))) !== undefined,
    revoke: (tokenId) => store.putCheckpoint(checkpointKey(tokenId), true),
  };
}

function checkpointKey(tokenId: string): string {
  return `revoked_token_${tokenId}`;
}

/** Signs a state as a token. For a state that is too large, the token contains only its threadRef. */
async function seal(copy: JsonObject, settings: Settings): Promise<string> {
  const [secret] = secretsOf(settings.tokenSecret, settings.warn);
  const claims = newClaims(settings);
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

function newClaims({ issuer, nowMs, ttlMs, configFingerprint, bind }: Settings): TokenClaims {
  const expMs = ttlMs === undefined ? undefined : nowMs + ttlMs;
  if (expMs !== undefined && !Number.isSafeInteger(expMs))
    throw invalidOption("tokenTtlMs", "is too large: the token's expiry is not a safe integer");
  return { iss: issuer, iatMs: nowMs, ...(expMs !== undefined && { expMs }), configFingerprint, bind };
}

/** The content of a valid token. `state` is the state that was minted. */
export interface VerifiedToken extends TokenClaims {
  /** The id to revoke the token by, for example after its first use. */
  readonly tokenId: string;
  readonly state: ResumeState;
}

async function unseal(token: string, settings: Settings): Promise<VerifiedToken> {
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

/** A token has three segments: format version, payload, and a signature over the text of both. */
const VERSION = "rt2";

interface Segments {
  /** The text that is signed: version and payload. */
  readonly signed: string;
  readonly payload: string;
  readonly signature: string;
}

function signedText(payload: string): string {
  return `${VERSION}.${payload}`;
}

function join(signed: string, signature: string): string {
  return `${signed}.${signature}`;
}

export function checkPrefix(token: unknown): asserts token is string {
  if (typeof token === "string" && token.startsWith(`${VERSION}.`)) return;
  const message = `A resume token begins with "${VERSION}."; tokens of other formats are not supported. Start the run again.`;
  throw new TokenError({ code: "invalid_token_prefix", message });
}

export function split(token: string): Segments {
  const [, payload, signature, ...more] = token.split(".", 4);
  if (payload && signature && more.length === 0) return { signed: signedText(payload), payload, signature };
  const message =
    "A resume token has three parts with dots between; this one was changed or truncated. Pass the complete token.";
  throw new TokenError({ code: "invalid_token_format", message });
}

/** A hash, so that the list of revoked ids reveals no signature. */
function idOf({ signature }: Pick<Segments, "signature">): string {
  return portableSha256(signature);
}

const HMAC = { name: "HMAC", hash: "SHA-256" } as const;
const encoder = new TextEncoder();

async function sign(text: string, secret: string): Promise<string> {
  const signature = await crypto.subtle.sign(HMAC, await hmacKey(secret, "sign"), encoder.encode(text));
  return base64url(new Uint8Array(signature));
}

/** Whether one of the secrets signed the text. Tries all secrets in constant time, so that the timing reveals nothing. */
async function isSigned(
  text: string,
  signature: Uint8Array<ArrayBuffer>,
  secrets: readonly string[],
): Promise<boolean> {
  const bytes = encoder.encode(text);
  const answers = await Promise.all(
    secrets.map(async (secret) => crypto.subtle.verify(HMAC, await hmacKey(secret, "verify"), signature, bytes)),
  );
  return answers.includes(true);
}

function hmacKey(secret: string, usage: "sign" | "verify"): ReturnType<typeof crypto.subtle.importKey> {
  return crypto.subtle.importKey("raw", encoder.encode(secret), HMAC, false, [usage]);
}
