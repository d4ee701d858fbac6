import { HeddleError } from "../thread/errors.ts";
import { copyJsonObject, isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import { TokenError } from "./error.ts";

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

export function legacyState(): TokenError {
  const message =
    "This state holds a `thread`, as tokens of earlier formats did. Carry a `context`, or refer to the thread with " +
    "`threadRef`.";
  return new TokenError({ code: "legacy_token_state", message });
}

export function invalidState(path: string, trouble: string): TokenError {
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
