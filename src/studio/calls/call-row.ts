import type { FoundCall } from "../../runtime/calls/find-call.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { CallRow } from "../contract/call.ts";

/** A model call in a list. */
export function callRow({ callId, entry, record }: FoundCall): CallRow {
  const { seq, at, refs, kind } = entry;
  const { model, estimatedTokens, usage, finishReason, fingerprint, basisLastSeq, lane } = record;
  const { code, message } = entry.payload as JsonObject; // payloads are JSON
  return {
    callId,
    seq,
    at,
    requestId: refs.requestId,
    iteration: refs.iteration,
    model,
    lane,
    estimatedTokens,
    usage,
    finishReason,
    fingerprint,
    basisLastSeq,
    view: record.view,
    ...(kind === "error" && { error: { code: String(code), message: String(message) } }),
  };
}
