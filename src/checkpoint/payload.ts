import { base64url } from "../thread/encoding.ts";
import { HeddleError } from "../thread/errors.ts";
import { copyJsonObject, isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import type { Settings, TokenBind } from "./config.ts";
import { TokenError, tooLarge } from "./error.ts";

const PHASES = ["after_llm", "after_tools", "terminal"] as const;

/** The point of a run: after a model answer, after all tool results of an answer, or after the end of the run. */
export type ResumePhase = (typeof PHASES)[number];

/** A thread in a store at a given revision. */
export interface ThreadRef {
  readonly threadId: string;
  readonly rev: number;
}

interface RunPoint {
  readonly runId: string;
  readonly requestId: string;
  readonly phase: ResumePhase;
  /** The recorded inputs of the last model call. Default: none. */
  readonly basis?: JsonObject | undefined;
}

/** A state that contains its context. */
interface Carried {
  /** The data that is needed to resume: messages, iteration, usage, or the result of an ended run. */
  readonly context: JsonValue;
  /** The thread with the same data, used if the context is too large for a token. Default: none. */
  readonly threadRef?: ThreadRef | undefined;
}

/** A state that only refers to a thread. */
interface Referred {
  /** Default: none; the state is in the thread. */
  readonly context?: undefined;
  readonly threadRef: ThreadRef;
}

/** The resumable state of a run. Omit `context` to mint a token that only refers to the thread. */
export type ResumeState = RunPoint & (Carried | Referred);

/** A frozen copy of a state from a caller. Its fields are not checked yet. */
export function copyState(value: unknown): JsonObject {
  try {
    // Check before the copy, because `thread` of a legacy state is often not JSON.
    if (isPlainObject(value) && value["thread"] !== undefined) throw legacyState();
    return copyJsonObject(value, "state");
  } catch (cause) {
    if (TokenError.isInstance(cause)) throw cause;
    const message = HeddleError.isInstance(cause) ? cause.message : "state could not be read.";
    throw new TokenError({ code: "invalid_token_state", path: "state", message, cause });
  }
}

function legacyState(): TokenError {
  const message =
    "This state holds a `thread`, as tokens of earlier formats did. Carry a `context`, or refer to the thread with " +
    "`threadRef`.";
  return new TokenError({ code: "legacy_token_state", message });
}

function invalidState(path: string, trouble: string): TokenError {
  return new TokenError({ code: "invalid_token_state", path, message: `${path} ${trouble}.` });
}

const FIELDS: readonly string[] = ["runId", "requestId", "phase", "basis", "context", "threadRef"];

/** Checks a state, both before minting and after verification. */
export function checkState(state: JsonObject): ResumeState {
  const unknown = Object.keys(state).some((field) => !FIELDS.includes(field));
  if (unknown) throw invalidState("state", `has an unknown field. The fields are ${FIELDS.join(", ")}`);
  for (const field of ["runId", "requestId"]) {
    if (typeof state[field] !== "string" || state[field] === "") throw invalidState(`state.${field}`, "must be a text");
  }
  if (!PHASES.some((phase) => phase === state["phase"])) {
    throw invalidState("state.phase", `must be one of ${PHASES.join(", ")}`);
  }
  const { basis, threadRef, context } = state;
  if (basis !== undefined && !isPlainObject(basis)) throw invalidState("state.basis", "must be an object");
  if (threadRef !== undefined) checkThreadRef(threadRef);
  else if (context === undefined) throw invalidState("state", "needs a context or a threadRef");
  return state as ResumeState & JsonObject; // every field was checked above
}

function checkThreadRef(ref: JsonValue): void {
  const { threadId, rev, ...more } = isPlainObject(ref) ? ref : {};
  const isRef = typeof threadId === "string" && threadId !== "" && Number.isSafeInteger(rev) && Number(rev) >= 0;
  if (!isRef || Object.keys(more).length > 0) throw invalidState("state.threadRef", "must be { threadId, rev }");
}

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

/** The first byte of a deflated payload. A JSON payload starts with a brace. */
const DEFLATED = 1;
const BRACE = 0x7b;
/** The smallest payload to deflate, in bytes. */
const WORTH_IT = 1024;

type Bytes = Uint8Array<ArrayBuffer>;

/** Encodes JSON text as a payload. Deflates a large one if the platform supports it. */
async function pack(json: Bytes): Promise<Bytes> {
  if (json.length < WORTH_IT || typeof CompressionStream === "undefined") return json;
  return concat([Uint8Array.of(DEFLATED), ...(await drain(json, new CompressionStream("deflate-raw")))]);
}

/** Decodes a payload to JSON text of at most `limit` bytes, which protects against zip bombs. */
async function unpack(payload: Bytes, limit: number): Promise<Bytes> {
  if (payload[0] === BRACE) return payload;
  if (payload[0] !== DEFLATED) throw invalidPayload("its first byte is neither that of JSON nor of a deflated payload");
  if (typeof DecompressionStream === "undefined")
    throw invalidPayload("this platform has no DecompressionStream to inflate it");
  const pieces = drain(payload.subarray(1), new DecompressionStream("deflate-raw"), limit);
  return concat(
    await pieces.catch((error: unknown) => {
      throw TokenError.isInstance(error) ? error : invalidPayload("it cannot be inflated");
    }),
  );
}

function invalidPayload(trouble: string): TokenError {
  const message = `The payload of this token is signed, but ${trouble}. Was it minted by something else with your secret?`;
  return new TokenError({ code: "invalid_token_payload", message });
}

/** Reads the stream to the end. Throws as soon as the output exceeds the limit. */
async function drain(
  bytes: Bytes,
  through: CompressionStream | DecompressionStream,
  limit = Number.POSITIVE_INFINITY,
): Promise<readonly Uint8Array[]> {
  const reader = new Blob([bytes]).stream().pipeThrough(through).getReader();
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    pieces.push(read.value);
    length += read.value.length;
    if (length <= limit) continue;
    await reader.cancel();
    throw tooLarge(length, limit, "Raise tokenMaxBytes if it is yours.");
  }
  return pieces;
}

function concat(pieces: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/**
 * Decodes unpadded base64url; undefined when the text is invalid. Accepts only the canonical text: otherwise a changed token
 * could decode to the same signature and still verify.
 */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  const binary = decode(text.replaceAll("-", "+").replaceAll("_", "/"));
  if (binary === undefined) return undefined;
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return base64url(bytes) === text ? bytes : undefined;
}

function decode(base64: string): string | undefined {
  try {
    return atob(base64);
  } catch {
    return undefined;
  }
}
