import { type ReactAgent, type Step, willOnlyWait } from "../../agent/react/agent.ts";
import type { Run } from "../../agent/react/state.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { Thread } from "../../thread/thread.ts";
import type { Live } from "./live.ts";
import type { Moment } from "./signal.ts";

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

/**
 * The number of the first event of a run after a crash: greater than those of all events that follow from its entries. Numbers
 * may be left out. Only deltas and keepalives that were on their way may have a number that is used again.
 */
export function nextEventSeq(thread: Thread, run: Run): number {
  const entries = thread.filterByRef("requestId", run.requestId, { partial: true });
  const counted = entries.reduce((last, entry) => afterEntry(last, entry), 0);
  return Math.max(counted, storedIn(thread, run)) + 1;
}

/** Keepalives of other calls that may be emitted between a commit and its own events. */
const MEANWHILE = 8;

/**
 * Metadata that holds the number of the last event, if the entries of a step account for fewer: keepalives and events that
 * were emitted again after a crash have numbers too. `last` is the number before the step, `more` counts its own events.
 */
function eventNumbers({ thread, state: { run } }: ReactAgent, last: number, more: number): JsonObject {
  if (run === undefined) return {};
  const seq = last + more + MEANWHILE;
  return last + more < nextEventSeq(thread, run) ? {} : { eventSeq: { requestId: run.requestId, seq } };
}

function storedIn({ metadata }: Thread, { requestId }: Run): number {
  const { eventSeq } = metadata;
  if (!isPlainObject(eventSeq) || eventSeq["requestId"] !== requestId) return 0;
  return typeof eventSeq["seq"] === "number" ? eventSeq["seq"] : 0;
}

function afterEntry(last: number, { kind, payload }: Entry): number {
  const { role, steer, call, toolCalls } = payload as JsonObject; // payloads are JSON
  const counted = isPlainObject(call) ? call["eventSeq"] : undefined;
  if (typeof counted === "number") {
    const calls = Array.isArray(toolCalls) ? toolCalls.length : 0;
    return counted + OF_AN_ANSWER + (calls > 0 ? calls * OF_A_CALL + OF_AN_EXCHANGE : NEXT);
  }
  if (kind === "ai_message" && role === "user") return last + (steer === undefined ? OF_AN_ASK : 1);
  return last + 1;
}

/** Metadata of the thread to append with the entries: the status of the agent, and the number of the last event if entries do not show it. */
export function metadataOf(
  { request }: Live,
  before: ReactAgent,
  { agent: after, directives }: Step,
  { eventSeq }: Moment,
): JsonObject {
  const more = directives.filter(({ type }) => type === "emit" || type === "checkpoint").length;
  const isCurrent = request?.phase === "running" || request?.phase === "waiting";
  return {
    ...eventNumbers(after, isCurrent ? eventSeq : 0, more),
    ...changedStatus(before, after),
  };
}

/** The status of the thread, if an append changes it. */
export function changedStatus(before: ReactAgent, after: ReactAgent): JsonObject {
  const status = statusOf(after);
  return status === undefined || status === statusOf(before) ? {} : { status };
}

/** The status of a thread, so that lists can show it. */
function statusOf(agent: ReactAgent): string | undefined {
  const { run, last } = agent.state;
  if (run === undefined) return last?.end.status;
  return willOnlyWait(agent) ? "waiting" : "running";
}
