import { HeddleError } from "../thread/errors.ts";
import { copyJsonObject, isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import { TokenError } from "./error.ts";

export const PHASES = ["after_llm", "after_tools", "terminal"] as const;

/** Where a run stands: an answer of the model is in, all results of its tools are in, or the run has ended. */
export type ResumePhase = (typeof PHASES)[number];

/** A thread in a store, as it was at a revision. */
export interface ThreadRef {
  readonly threadId: string;
  readonly rev: number;
}

interface RunPoint {
  readonly runId: string;
  readonly requestId: string;
  readonly phase: ResumePhase;
  /** What the last call was made from, as recorded with it. */
  readonly basis?: JsonObject | undefined;
}

/** Carries what the run needs to go on: messages, iteration, usage, the result of a run that has ended. */
interface Carried {
  readonly context: JsonValue;
  /** Where the same can be read, should the context be too large for a token. */
  readonly threadRef?: ThreadRef | undefined;
}

/** Says where to read it. */
interface Referred {
  readonly context?: undefined;
  readonly threadRef: ThreadRef;
}

/** A run at rest. Leave `context` out to have a token that only refers to the thread. */
export type ResumeState = RunPoint & (Carried | Referred);

/** A frozen copy of a state from outside, whose fields nobody has looked at yet. */
export function copyState(value: unknown): JsonObject {
  try {
    // Before the copy: what a legacy state holds there is often no JSON.
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
