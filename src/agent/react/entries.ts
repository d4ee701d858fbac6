import { covered, type SummaryRange } from "../../projection/summarise/range.ts";
import type { EntryInput } from "../../thread/entry.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import type { ModelAnswer } from "../answer.ts";
import type { CallRecord } from "../call-record.ts";
import type { Failure } from "../failure.ts";
import type { RequestOptions, Signal, Steer, ToolOutcome } from "../signal.ts";
import type { RequestEnd } from "./end.ts";
import type { Run } from "./run.ts";

// The entries of a run, one function for each. Payloads are JSON by their types; drafting checks them once more.

type SummaryFailed = Extract<Signal, { type: "summary_failed" }>;
type OfRun = Pick<Run, "requestId" | "runId" | "lane" | "refs">;

/** With the name of the agent: no other one goes on with the request. */
export function askEntry(run: OfRun, content: Content, options: RequestOptions, agent: string): EntryInput {
  const own = Object.keys(options).length === 0 ? {} : { options };
  return message(run, { role: "user", content, ...own, agent }, {});
}

export function steerEntry(run: Run, { id, steer, content, source }: Steer): EntryInput {
  const from = source === undefined ? {} : { source };
  return message(run, { role: "user", content, steer, ...from }, { signalId: id });
}

/** Asks for another answer, in the user's role because no provider has another one for it. */
export function repairEntry(run: Run, content: string): EntryInput {
  return message(run, { role: "user", content, steer: "repair" }, {});
}

export interface SaidInCall {
  readonly callId: string;
  readonly call: CallRecord;
  /** It was interrupted: there was more to come. */
  readonly partial?: true;
  readonly end?: RequestEnd;
}

/** One entry for the whole turn of the model. */
export function answerEntry(
  run: Run,
  { content, toolCalls }: Pick<ModelAnswer, "content" | "toolCalls">,
  { callId, call, partial, end }: SaidInCall,
): EntryInput {
  const payload = {
    role: "assistant",
    content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(partial && { partial }),
    call,
    ...(end && { end }),
  };
  return message(run, payload, { callId, iteration: run.iteration + 1 });
}

export function resultEntry(
  run: Run,
  toolCallId: string,
  name: string,
  outcome: ToolOutcome,
  workedMs?: number,
): EntryInput {
  const { content, isError, partial } = outcome;
  const said = { role: "tool", toolCallId, name, content, ...(isError && { isError }), ...(partial && { partial }) };
  const payload = { ...said, ...worked(workedMs) };
  return message(run, payload, { ...callRefs(run), toolCallId });
}

/** The answer to a call, written by a process that does not hold the thread: the holder has not acted on it yet. */
export function answeredElsewhere(run: Run, toolCallId: string, name: string, outcome: ToolOutcome): EntryInput {
  const entry = resultEntry(run, toolCallId, name, outcome);
  return { ...entry, payload: json({ ...entry.payload, elsewhere: true }) };
}

/** A call of the model that came to nothing. */
export function callErrorEntry(
  run: Run,
  { callId, call }: { readonly callId: string; readonly call: CallRecord },
  failure: Failure,
  correctedRoom: number | undefined,
): EntryInput {
  const refs = { ...runRefs(run), callId, iteration: run.iteration + 1 };
  const room = correctedRoom === undefined ? {} : { correctedRoom };
  return { kind: "error", payload: json({ contextRef: run.lane, ...failure, ...room, call }), refs };
}

/** What came of a summary that is not there; with the record of its call, because that was paid for. */
export function summaryFailedEntry(
  refs: { readonly requestId?: string; readonly runId?: string },
  lane: string,
  { failed, reason, call }: Pick<SummaryFailed, "failed" | "reason" | "call">,
): EntryInput {
  const payload = { contextRef: lane, reason, summaryFailed: failed, ...(call !== undefined && { call }) };
  return { kind: "note", payload: json(payload), refs };
}

/** A summary that nobody has written, of what could not be summarized. */
export function gapEntry(run: Run, range: SummaryRange, content: string, failures: number): EntryInput {
  const { fromSeq, toSeq } = covered(range);
  return {
    kind: "summary",
    payload: { contextRef: run.lane, fromSeq, toSeq, content, ...{ skipped: { failures } } },
    refs: runRefs(run),
  };
}

/** The end of a request, where no answer says it. */
export function endEntry(
  run: Run,
  end: RequestEnd,
  call?: { readonly callId: string; readonly call: CallRecord },
): EntryInput {
  const kind = end.status === "completed" ? "note" : "error";
  const said =
    end.status === "failed"
      ? end.failure
      : end.status === "cancelled"
        ? { code: "request_cancelled", message: end.reason }
        : {};
  const payload = json({ contextRef: run.lane, ...said, ...(call && { call: call.call }), end });
  const refs =
    call === undefined ? runRefs(run) : { ...runRefs(run), callId: call.callId, iteration: run.iteration + 1 };
  return { kind, payload, refs };
}

export function approvalRequested(run: Run, toolCallId: string, name: string, workedMs?: number): EntryInput {
  const payload = { contextRef: run.lane, toolCallId, name, ...worked(workedMs) };
  return { kind: "approval_requested", payload, refs: { ...callRefs(run), toolCallId } };
}

export interface Decision {
  readonly approved: boolean;
  readonly by?: string | undefined;
  readonly note?: string | undefined;
  /** Whoever writes this runs the call at once. */
  readonly started?: true;
}

export function approvalResolved(run: Run, toolCallId: string, decision: Decision): EntryInput {
  const payload = json({ contextRef: run.lane, toolCallId, ...decision });
  return { kind: "approval_resolved", payload, refs: { ...callRefs(run), toolCallId } };
}

/** Before a call runs that was approved some time ago, or when one is found to be for somebody outside: from here on it may have run. */
export function toolStarted(run: Run, toolCallId: string, name: string): EntryInput {
  return {
    kind: "tool_started",
    payload: { contextRef: run.lane, toolCallId, name },
    refs: { ...callRefs(run), toolCallId },
  };
}

/** Work is resumed: which attempt begins. Durable before anything runs again. */
export function attemptEntry(run: Run, attempt: number): EntryInput {
  return { kind: "note", payload: { contextRef: run.lane, attempt }, refs: runRefs(run) };
}

/** The server stops while the request is at work: the next one goes on, and knows which calls have begun. */
export function handedOverEntry(run: Run, begun: readonly string[], workedMs: number | undefined): EntryInput {
  const payload = { contextRef: run.lane, handedOver: { begun: [...begun] }, ...worked(workedMs) };
  return { kind: "note", payload, refs: runRefs(run) };
}

/** Time at work, of a request that has a limit of it. */
function worked(workedMs: number | undefined): { readonly workedMs?: number } {
  return workedMs === undefined || workedMs === 0 ? {} : { workedMs };
}

function message(run: OfRun, said: object, refs: JsonObject): EntryInput {
  const { lane, requestId, runId } = run;
  return {
    kind: "ai_message",
    payload: json({ contextRef: lane, ...said, requestId, runId }),
    refs: { ...runRefs(run), ...refs } as JsonObject & EntryInput["refs"], // scalars, all of them
  };
}

function runRefs({ refs, requestId, runId }: OfRun): { readonly requestId: string; readonly runId: string } {
  return { ...refs, requestId, runId };
}

function callRefs(run: Run): {
  readonly requestId: string;
  readonly runId: string;
  readonly iteration: number;
  readonly callId?: string;
} {
  const { callId, iteration } = run;
  return { ...runRefs(run), iteration, ...(callId !== undefined && { callId }) };
}

/** An interface has no index signature; what is given here is JSON by its fields. */
function json(payload: object): JsonObject {
  return payload as JsonObject;
}
