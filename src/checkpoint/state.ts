import { HeddleError } from "../thread/errors.ts";
import { copyJsonObject, isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import { TokenError } from "./error.ts";

export const PHASES = ["after_llm", "after_tools", "terminal"] as const;

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
  /** The recorded inputs of the last model call. */
  readonly basis?: JsonObject | undefined;
}

/** A state that contains its context. */
interface Carried {
  /** The data that is needed to resume: messages, iteration, usage, or the result of an ended run. */
  readonly context: JsonValue;
  /** The thread with the same data, used if the context is too large for a token. */
  readonly threadRef?: ThreadRef | undefined;
}

/** A state that only refers to a thread. */
interface Referred {
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
