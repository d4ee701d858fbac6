import type { Entry } from "./entry.ts";
import { isPlainObject } from "./json.ts";

/**
 * The last seq that existed when the context of a model call was made, given the entries with its callId. It is the
 * recorded one, else that before the first entry of the model. Undefined when no entry is of the model.
 */
export function basisOfCall(entriesOfCall: readonly Entry[]): number | undefined {
  for (const { payload, seq } of entriesOfCall) {
    const call = payload["call"];
    const basis = isPlainObject(call) ? call["basisLastSeq"] : undefined;
    if (typeof basis === "number" && Number.isInteger(basis) && basis >= -1 && basis < seq) return basis;
  }
  const first = entriesOfCall.find(isFromModel);
  return first && first.seq - 1;
}

function isFromModel({ kind, payload }: Entry): boolean {
  switch (kind) {
    case "message":
    case "ai_message":
      return payload["role"] === "assistant";
    case "tool_call":
    case "error":
      return true;
    default:
      return false;
  }
}
