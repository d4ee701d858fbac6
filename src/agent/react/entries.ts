import type { AnswerCut } from "../../lanes/answer-cut.ts";
import { coveredSeqs, type SummaryRange } from "../../projection/summary/summary-range.ts";
import type { EntryInput, Refs } from "../../thread/entry.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { ApprovalRequestedPayload } from "../../thread/kinds.ts";
import type { Author, ToolCall } from "../../thread/message.ts";
import type { CallRecord, ModelAnswer } from "../model-call.ts";
import { storedCall } from "../model-call.ts";
import type { CallWork, Failure, Signal, Steer, StoredRequestOptions, ToolOutcome } from "../signal.ts";
import type { ChildThread, OpenCall, RequestEnd, Run } from "./state.ts";

// One function per entry of a run. Types make the payloads JSON; `draftEntries` checks them again.

type SummaryFailed = Extract<Signal, { type: "summary_failed" }>;
type RunIds = Pick<Run, "requestId" | "runId" | "lane" | "refs">;

/** The run with more refs, for an entry that a command causes. The agent's own refs win. */
export function withRefs<Run extends { readonly refs: JsonObject }>(run: Run, refs: Refs = {}): Run {
  return { ...run, refs: { ...run.refs, ...refs } as JsonObject }; // refs are scalars
}

/** The agent of a request. `startedBy`: the one that the thread had first, before it was handed over. */
export interface AskedAgent {
  readonly agent: string;
  readonly startedBy?: string | undefined;
}

/** Includes the agent's name, because only this agent may resume the request. */
export function askEntry(
  run: RunIds,
  { content, author, source }: Pick<Extract<Signal, { type: "ask" }>, "content" | "author" | "source">,
  options: StoredRequestOptions,
  asked: AskedAgent,
): EntryInput {
  const own = Object.keys(options).length === 0 ? {} : { options };
  return message(
    run,
    { role: "user", content, ...(author && { author }), ...(source !== undefined && { source }), ...own, ...asked },
    {},
  );
}

/** Starts a request on the ask and the results of another one. It is a note, because no message is added. */
export function continueEntry(
  run: RunIds,
  continues: string,
  options: StoredRequestOptions,
  asked: AskedAgent,
): EntryInput {
  const own = Object.keys(options).length === 0 ? {} : { options };
  const { lane: contextRef, requestId, runId } = run;
  return {
    kind: "note",
    payload: json({ contextRef, continues, ...own, ...asked, requestId, runId }),
    refs: runRefs(run),
  };
}

/** Follows an answer that was cut or sent back: providers refuse a prompt that ends with an answer. */
export function goOnEntry(run: RunIds): EntryInput {
  return message(run, { role: "user", content: "Your answer was interrupted here. Continue.", steer: "continue" }, {});
}

export function steerEntry(run: RunIds, { id, steer, content, source, author, display, refs }: Steer): EntryInput {
  const from = source === undefined ? {} : { source };
  const entry = message(
    withRefs(run, { ...refs, ...from }),
    { role: "user", content, ...(author && { author }), steer, ...from, ...(display && { display }) },
    { signalId: id },
  );
  return { ...entry, id: commandEntryId(id) };
}

/** Asks for a corrected answer. Uses the role "user", because providers have no other role for it. */
export function repairEntry(run: Run, content: string): EntryInput {
  return message(run, { role: "user", content, steer: "repair" }, {});
}

export interface AnswerRecord {
  readonly callId: string;
  readonly call: CallRecord;
  /** The answer was interrupted. */
  readonly partial?: true;
  readonly end?: RequestEnd;
}

/** One entry for the complete answer of the model. */
export function answerEntry(
  run: Run,
  { content, toolCalls }: Pick<ModelAnswer, "content" | "toolCalls">,
  { callId, call, partial, end }: AnswerRecord,
): EntryInput {
  const payload = {
    role: "assistant",
    content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(partial && { partial }),
    call: storedCall(call, run.lane),
    ...(end && { end }),
  };
  return message(run, payload, { callId, iteration: run.iteration + 1 });
}

export function resultEntry(
  run: Run,
  { call, edited }: Pick<OpenCall, "call" | "edited">,
  outcome: ToolOutcome,
  { by, ...work }: CallWork & { readonly by?: string | undefined } = {},
): EntryInput {
  const { id: toolCallId, name } = call;
  const { content, isError, partial, details, handoff } = outcome;
  const fields = { role: "tool", toolCallId, name, content, ...(isError && { isError }), ...(partial && { partial }) };
  const more = {
    ...(by !== undefined && { by }),
    ...(details !== undefined && { details }),
    ...(edited && { editedArguments: call.arguments }),
  };
  const payload = { ...fields, ...more, ...(handoff !== undefined && { handoff }), ...workOf(work) };
  return message(run, payload, { ...callRefs(run), toolCallId });
}

/** The answer to a call, written by a process that does not hold the thread: the holder has not acted on it yet. */
export function foreignAnswerEntry(run: Run, open: OpenCall, outcome: ToolOutcome, by?: string): EntryInput {
  const entry = resultEntry(run, open, outcome, { by });
  return { ...entry, payload: json({ ...entry.payload, elsewhere: true }) };
}

/** A failed attempt of a model call that is made again, by another `model` or the same. The words are discarded; the usage counts. */
export function retriedEntry(
  run: Run,
  { callId, call }: { readonly callId: string; readonly call: CallRecord },
  { code }: Failure,
  next: string | undefined,
): EntryInput {
  const { model, usage, finishReason, eventSeq, workedMs } = call;
  const record = {
    ...(model !== undefined && { model }),
    usage,
    finishReason,
    ...(eventSeq !== undefined && { eventSeq }),
    ...(workedMs !== undefined && { workedMs }),
  };
  return {
    kind: "note",
    payload: json({
      contextRef: run.lane,
      retried: { callId, code, ...(next !== undefined && { model: next }) },
      call: record,
    }),
    refs: runRefs(run),
  };
}

/** A model call without an answer. */
export function callErrorEntry(
  run: Run,
  { callId, call }: { readonly callId: string; readonly call: CallRecord },
  failure: Failure,
  correctedRoom: number | undefined,
): EntryInput {
  const refs = { ...runRefs(run), callId, iteration: run.iteration + 1 };
  const room = correctedRoom === undefined ? {} : { correctedRoom };
  return {
    kind: "error",
    payload: json({ contextRef: run.lane, ...failure, ...room, call: storedCall(call, run.lane) }),
    refs,
  };
}

/** A failed summary. Includes the record of its call, because its usage counts. */
export function summaryFailedEntry(
  refs: { readonly requestId?: string; readonly runId?: string },
  lane: string,
  { failed, reason, call }: Pick<SummaryFailed, "failed" | "reason" | "call">,
): EntryInput {
  const payload = { contextRef: lane, reason, summaryFailed: failed, ...(call !== undefined && { call }) };
  return { kind: "note", payload: json(payload), refs };
}

/** A synthetic summary of entries that could not be summarized. */
export function gapEntry(run: Run, range: SummaryRange, content: string, failures: number): EntryInput {
  const { fromSeq, toSeq } = coveredSeqs(range);
  return {
    kind: "summary",
    payload: { contextRef: run.lane, fromSeq, toSeq, content, ...{ skipped: { failures } } },
    refs: runRefs(run),
  };
}

interface EndFacts {
  /** The model call that failed, or was broken off. */
  readonly record?: { readonly callId: string; readonly call: CallRecord } | undefined;
  /** The last answer was spoken or read up to here. */
  readonly cut?: AnswerCut | undefined;
}

/** The end of a request, when its last answer does not carry it. */
export function endEntry(
  ended: Run,
  { refs: more, ...end }: RequestEnd & { readonly refs?: Refs },
  { record: call, cut }: EndFacts = {},
): EntryInput {
  const run = withRefs(ended, more);
  const kind = end.status === "completed" ? "note" : "error";
  const fields =
    end.status === "failed"
      ? end.failure
      : end.status === "cancelled"
        ? { code: "request_cancelled", message: end.reason }
        : {};
  const payload = json({
    contextRef: run.lane,
    ...fields,
    ...(call && { call: storedCall(call.call, run.lane) }),
    ...(cut && { cut }),
    end,
  });
  const refs =
    call === undefined ? runRefs(run) : { ...runRefs(run), callId: call.callId, iteration: run.iteration + 1 };
  return { kind, payload, refs };
}

export function approvalRequestedEntry(
  run: Run,
  { id: toolCallId, name }: ToolCall,
  more: Pick<ApprovalRequestedPayload, "deadline" | "onTimeout" | "guard">,
  workedMs?: number,
): EntryInput {
  const payload = { contextRef: run.lane, toolCallId, name, ...more, ...worked(workedMs) };
  return { kind: "approval_requested", payload, refs: { ...callRefs(run), toolCallId } };
}

export interface Decision {
  readonly approved: boolean;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  readonly author?: Author | undefined;
  readonly editedArguments?: JsonValue;
  /** The permission rule that decides. */
  readonly rule?: string;
  /** The deadline decides. */
  readonly expired?: true;
  /** The process that writes this runs the call at once. */
  readonly started?: true;
}

export function approvalResolvedEntry(run: Run, toolCallId: string, decision: Decision, workedMs?: number): EntryInput {
  const payload = json({ contextRef: run.lane, toolCallId, ...decision, ...worked(workedMs) });
  return { kind: "approval_resolved", payload, refs: { ...callRefs(run), toolCallId } };
}

export function questionAskedEntry(
  run: Run,
  { id: toolCallId, name }: ToolCall,
  question: JsonValue,
  work: CallWork,
): EntryInput {
  const payload = { contextRef: run.lane, toolCallId, name, question, ...workOf(work) };
  return { kind: "question_asked", payload, refs: { ...callRefs(run), toolCallId } };
}

/** `until`: when the call gets the result that the other fields are. */
export function sleepStartedEntry(
  run: Run,
  { id: toolCallId, name }: ToolCall,
  { until, content, isError, details }: ToolOutcome & { readonly until: number },
  work: CallWork,
): EntryInput {
  const result = { content, ...(isError && { isError }), ...(details !== undefined && { details }) };
  const payload = json({ contextRef: run.lane, toolCallId, name, until, ...result, ...workOf(work) });
  return { kind: "sleep_started", payload, refs: { ...callRefs(run), toolCallId } };
}

/** `started`: the process that writes this resumes the call at once. */
export function questionAnsweredEntry(
  run: Run,
  toolCallId: string,
  { answer, ...more }: { readonly answer: JsonValue; readonly by?: string; readonly started?: true },
): EntryInput {
  const payload = { contextRef: run.lane, toolCallId, answer, ...more };
  return { kind: "question_answered", payload, refs: { ...callRefs(run), toolCallId } };
}

/** Written before a call runs that another process approved, or that needs an outside answer. From here on it may have run. */
export function toolStartedEntry(run: Run, toolCallId: string, name: string): EntryInput {
  return {
    kind: "tool_started",
    payload: { contextRef: run.lane, toolCallId, name },
    refs: { ...callRefs(run), toolCallId },
  };
}

/** The call has asked another agent, whose thread this names. It waits for the answer. */
export function delegatedEntry(run: Run, { id, name }: ToolCall, child: ChildThread, workedMs?: number): EntryInput {
  const entry = toolStartedEntry(run, id, name);
  return { ...entry, payload: json({ ...entry.payload, child, ...worked(workedMs) }) };
}

/** A new attempt of a resumed request. Must be durable before the work starts. */
export function attemptEntry(run: Run, attempt: number): EntryInput {
  return { kind: "note", payload: { contextRef: run.lane, attempt }, refs: runRefs(run) };
}

/**
 * The server stops during the request. Lists the calls that have started, for the server that resumes it, and says whether a
 * model call was cut, and what it has used.
 */
export function handedOverEntry(
  run: Run,
  { begun, isCut, call: cut, workedMs }: Omit<Extract<Signal, { type: "hand_over" }>, "type">,
): EntryInput {
  const call = cut && { ...cut, finishReason: "error" };
  const handedOver = { begun: [...begun], ...(isCut && { cut: true }) };
  const payload = { contextRef: run.lane, handedOver, ...(call && { call }), ...worked(workedMs) };
  return { kind: "note", payload: json(payload), refs: runRefs(run) };
}

/** The work time up to here, when no other entry has recorded it for a while. */
export function workedEntry(run: Run, workedMs: number): EntryInput {
  return { kind: "note", payload: { contextRef: run.lane, workedMs }, refs: runRefs(run) };
}

function workOf({ written = [], workedMs }: CallWork): CallWork {
  return { ...(written.length > 0 && { written }), ...worked(workedMs) };
}

/** The work time, for a request with a time limit. */
function worked(workedMs: number | undefined): { readonly workedMs?: number } {
  return workedMs === undefined || workedMs === 0 ? {} : { workedMs };
}

function message(run: RunIds, fields: object, refs: JsonObject): EntryInput {
  const { lane, requestId, runId } = run;
  return {
    kind: "ai_message",
    payload: json({ contextRef: lane, ...fields, requestId, runId }),
    refs: { ...runRefs(run), ...refs } as JsonObject & EntryInput["refs"], // all values are scalars
  };
}

function runRefs({ refs, requestId, runId }: RunIds): { readonly requestId: string; readonly runId: string } {
  return { ...refs, requestId, runId };
}

/** The refs of the entries of a tool call, without its own. */
export function callRefs(run: Run): {
  readonly requestId: string;
  readonly runId: string;
  readonly iteration: number;
  readonly callId?: string;
} {
  const { callId, iteration } = run;
  return { ...runRefs(run), iteration, ...(callId !== undefined && { callId }) };
}

/** The cast is safe: all fields are JSON, but an interface has no index signature. */
function json(payload: object): JsonObject {
  return payload as JsonObject;
}

/** The id of the entry that a command writes. A store recognizes a repeated command by it. */
export function commandEntryId(commandId: string): string {
  return `${commandId}/0`;
}
