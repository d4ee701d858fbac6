import type { Entry, JsonObject } from "heddle";
import type { CallRecord } from "heddle/core";
import { recordedCall } from "../../src/agent/model-call.ts";
import type { CallRow } from "./contract.ts";

/** Returns the call record of an entry. Undefined if the entry is not the answer of a model call. */
export function recordIn(entry: Entry): CallRecord | undefined {
  const call = recordedCall(entry);
  const isRecord = entry.refs.callId !== undefined && call !== undefined && "fingerprint" in call;
  return isRecord ? (call as CallRecord) : undefined; // Heddle wrote the record, so its shape is known
}

/** Lists the model calls of these entries, newest first, as the server does. */
export function callRows(entries: readonly Entry[]): CallRow[] {
  return entries
    .flatMap((entry) => {
      const record = recordIn(entry);
      return record === undefined ? [] : [rowOf(entry, record)];
    })
    .reverse();
}

function rowOf({ seq, at, kind, refs, payload }: Entry, record: CallRecord): CallRow {
  const { code, message } = payload as JsonObject;
  const { estimatedTokens, usage, finishReason, fingerprint, basisLastSeq, model, lane, view } = record;
  return {
    callId: String(refs.callId),
    seq,
    at,
    ...(refs.requestId !== undefined && { requestId: String(refs.requestId) }),
    ...(refs.iteration !== undefined && { iteration: Number(refs.iteration) }),
    ...(model !== undefined && { model }),
    ...{ lane, estimatedTokens, usage, finishReason, fingerprint, basisLastSeq, view },
    ...(kind === "error" && { error: { code: String(code), message: String(message) } }),
  };
}
