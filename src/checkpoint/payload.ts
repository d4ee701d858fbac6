import { isPlainObject, type JsonObject } from "../thread/json.ts";
import type { Settings, TokenBind } from "./config.ts";
import { invalidPayload, pack, unpack } from "./deflate.ts";
import { TokenError, tooLarge } from "./error.ts";
import { copyState, invalidState, legacyState, type ResumeState } from "./state.ts";
import { checkState } from "./state-checks.ts";

const VERSION = 2;
/** JSON of conversations deflates to a quarter or less; what shrinks more than this was made to. */
const MOST_INFLATION = 16;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** What a token says beside the state: by whom, when, for whom. */
export interface TokenClaims {
  readonly iss: string;
  readonly iatMs: number;
  /** The last millisecond in which it is good. */
  readonly expMs?: number;
  readonly configFingerprint: string;
  /** Null when it is bound to nobody. */
  readonly bind: TokenBind | null;
}

/** The order of keys is the format: see the golden token in the tests. */
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

/** The payload of a token whose signature is good. */
export async function readPayload(bytes: Uint8Array<ArrayBuffer>, settings: Settings): Promise<JsonObject> {
  const json = await unpack(bytes, mostJson(settings));
  const payload = parse(json);
  if (!isPlainObject(payload)) throw invalidPayload("it is not an object");
  if (payload["v"] === VERSION) return payload as JsonObject; // it comes from JSON
  const message = `This token is not of version ${VERSION}, the one that is read here. Verify with the Heddle that minted it.`;
  throw new TokenError({ code: "token_version_mismatch", message });
}

export function claimsOf({ iss, iatMs, expMs, configFingerprint, bind = null }: JsonObject): TokenClaims {
  if (typeof iss !== "string") throw invalidPayload("iss is no text");
  if (!isTime(iatMs)) throw invalidPayload("iatMs is no time");
  if (expMs !== undefined && !isTime(expMs)) throw invalidPayload("expMs is no time");
  if (typeof configFingerprint !== "string") throw invalidPayload("configFingerprint is no text");
  if (bind !== null && typeof bind !== "string" && !isPlainObject(bind)) throw invalidPayload("bind is no binding");
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
    throw invalidPayload("it is no JSON"); // without the cause, which quotes the text
  }
}

function mostJson({ maxBytes }: Settings): number {
  return maxBytes * MOST_INFLATION;
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
