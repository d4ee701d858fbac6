import { isPlainObject, type JsonObject } from "../thread/json.ts";
import type { Settings, TokenBind } from "./config.ts";
import { invalidPayload, pack, unpack } from "./deflate.ts";
import { TokenError, tooLarge } from "./error.ts";
import { copyState, invalidState, legacyState, type ResumeState } from "./state.ts";
import { checkState } from "./state-checks.ts";

const VERSION = 2;
/** Conversations deflate to about a quarter. A much higher ratio is likely an attack. */
const MOST_INFLATION = 16;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The fields of a token beside the state: issuer, times, fingerprint and binding. */
export interface TokenClaims {
  readonly iss: string;
  readonly iatMs: number;
  /** The last millisecond in which the token is valid. Absent when it does not expire. */
  readonly expMs?: number;
  readonly configFingerprint: string;
  /** Null when the token has no binding. */
  readonly bind: TokenBind | null;
}

/** The order of keys is part of the format: see the golden token in the tests. */
export function writePayload(
  claims: TokenClaims,
  state: ResumeState,
  settings: Settings,
): Promise<Uint8Array<ArrayBuffer>> {
  const { iss, iatMs, expMs, configFingerprint, bind } = claims;
  const { runId, requestId, phase, basis, threadRef, context } = state;
  const point = { runId, requestId, iatMs, expMs, configFingerprint, bind, phase, basis, threadRef };
  const payload = { v: VERSION, iss, ...point, state: context === undefined ? undefined : { context } };
  const json = encoder.encode(JSON.stringify(payload));
  const limit = mostJson(settings);
  if (json.length > limit) throw tooLarge(json.length, limit, "Raise tokenMaxBytes, or give the state a threadRef.");
  return pack(json);
}

/** Decodes the payload of a token. Call it only after the signature was verified. */
export async function readPayload(bytes: Uint8Array<ArrayBuffer>, settings: Settings): Promise<JsonObject> {
  const json = await unpack(bytes, mostJson(settings));
  const payload = parse(json);
  if (!isPlainObject(payload)) throw invalidPayload("it is not an object");
  if (payload["v"] === VERSION) return payload as JsonObject; // it comes from JSON
  const message = `This token does not have version ${VERSION}, the only supported one. Verify it with the version of Heddle that minted it.`;
  throw new TokenError({ code: "token_version_mismatch", message });
}

export function claimsOf({ iss, iatMs, expMs, configFingerprint, bind = null }: JsonObject): TokenClaims {
  if (typeof iss !== "string") throw invalidPayload("iss is not a text");
  if (!isTime(iatMs)) throw invalidPayload("iatMs is not a time");
  if (expMs !== undefined && !isTime(expMs)) throw invalidPayload("expMs is not a time");
  if (typeof configFingerprint !== "string") throw invalidPayload("configFingerprint is not a text");
  if (bind !== null && typeof bind !== "string" && !isPlainObject(bind)) throw invalidPayload("bind is not a binding");
  return { iss, iatMs, ...(expMs !== undefined && { expMs }), configFingerprint, bind };
}

export function stateOf({ runId, requestId, phase, basis, threadRef, state, thread }: JsonObject): ResumeState {
  if (thread !== undefined) throw legacyState();
  if (state !== undefined && !isPlainObject(state)) throw invalidState("state", "must be an object");
  if (state !== undefined && Object.hasOwn(state, "thread")) throw legacyState();
  return checkState(copyState({ runId, requestId, phase, basis, threadRef, context: state?.["context"] }));
}

function parse(json: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(json));
  } catch {
    throw invalidPayload("it is not JSON"); // without the cause, which quotes the text
  }
}

function mostJson({ maxBytes }: Settings): number {
  return maxBytes * MOST_INFLATION;
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
