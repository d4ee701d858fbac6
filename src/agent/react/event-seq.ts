import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";

/** request_started and llm_started. */
const OF_AN_ASK = 2;
/** llm_completed and a checkpoint. */
const OF_AN_ANSWER = 2;
/** tool_started or approval_requested, and a checkpoint when the run starts to wait. */
const OF_A_CALL = 2;
/** A checkpoint after the results, and llm_started of the next call. */
const OF_AN_EXCHANGE = 2;
/** llm_started of the next call, or the last checkpoint. */
const NEXT = 1;

/** The number of the last event that follows from the entries of a run. `last` is the number before this entry. */
export function eventSeqAfter(last: number, { kind, payload }: Entry): number {
  const { role, steer, call, toolCalls, continues } = payload as JsonObject; // payloads are JSON
  const counted = isPlainObject(call) ? call["eventSeq"] : undefined;
  if (typeof counted === "number") {
    const calls = Array.isArray(toolCalls) ? toolCalls.length : 0;
    return counted + OF_AN_ANSWER + (calls > 0 ? calls * OF_A_CALL + OF_AN_EXCHANGE : NEXT);
  }
  if (kind === "ai_message" && role === "user") return last + (steer === undefined ? OF_AN_ASK : 1);
  if (kind === "note" && continues !== undefined) return last + OF_AN_ASK;
  return last + (kind === "question_asked" ? OF_A_CALL : 1); // the request and a checkpoint
}
