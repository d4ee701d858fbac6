import { type ReactAgent, type Step, willOnlyWait } from "../../agent/react/agent.ts";
import { hasChildren, type Run } from "../../agent/react/state.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { Thread } from "../../thread/thread.ts";
import type { Live, QueuedAsk } from "./live.ts";
import type { Moment } from "./signal.ts";

/**
 * The number of the first event of a run after a crash: greater than those of all events that follow from its entries.
 * Numbers may be skipped. Only a delta or keepalive that was not yet delivered may have a number that is used again.
 */
export function nextEventSeq(thread: Thread, run: Run): number {
  return Math.max(run.eventSeq, storedIn(thread, run)) + 1;
}

/** The number of keepalive events of other calls that may be emitted between a commit and the events of the commit. */
const MEANWHILE = 8;

/**
 * Metadata with the number of the last event. It is needed if the entries of a step account for fewer events: keepalive
 * and replayed events have numbers too. `last` is the number before the step, `more` counts its own events.
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

/** The metadata to append with the entries: the status of the agent, and the number of the last event if it is needed. */
export function metadataOf(
  { request, asks }: Live,
  before: ReactAgent,
  { agent: after, directives }: Step,
  { eventSeq }: Moment,
): JsonObject {
  const more = directives.filter(({ type }) => type === "emit" || type === "checkpoint").length;
  const isCurrent = request?.phase === "running" || request?.phase === "waiting";
  return {
    ...eventNumbers(after, isCurrent ? eventSeq : 0, more),
    ...changedStatus(before, after, asks.some(waitsAsRow)),
  };
}

/** An ask with a time does not count: the list of waiting calls has it. */
function waitsAsRow({ row, at }: QueuedAsk): boolean {
  return row === "waits" && at === undefined;
}

/** The status of a thread whose last ask has left the queue without a request. Before, it was `running`, so that hosts recover the thread. */
export function restingStatus({ agent, asks }: Live): JsonObject {
  const { run, last } = agent.state;
  return run !== undefined || last === undefined || asks.some(waitsAsRow) ? {} : { status: last.end.status };
}

/** The status of the thread, if an append changes it. */
export function changedStatus(before: ReactAgent, after: ReactAgent, hasAsks = false): JsonObject {
  const status = after.state.run === undefined && hasAsks ? "running" : statusOf(after);
  return status === undefined || status === statusOf(before) ? {} : { status };
}

/** The status of a thread, so that lists can show it. */
function statusOf(agent: ReactAgent): string | undefined {
  const { run, last } = agent.state;
  if (run === undefined) return last?.end.status;
  return willOnlyWait(agent) && !hasChildren(run) ? "waiting" : "running"; // children run
}
