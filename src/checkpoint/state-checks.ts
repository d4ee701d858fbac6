import { isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import { invalidState, PHASES, type ResumeState } from "./state.ts";

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
