import { withLane } from "../../lanes/active-lane.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { DEFAULT_LANE, isMalformedOperation, namedLane, switchTarget } from "../../thread/lane-operations.ts";
import { type Content, contentText, type ToolCall } from "../../thread/message.ts";
import type { TerminationReason } from "../event.ts";
import {
  addModelUsage,
  addUsage,
  type ModelFinishReason,
  recordedCall,
  recordedUsage,
  type Usage,
  type UsageByModel,
} from "../model-call.ts";
import type { Failure, StoredRequestOptions, ToolOutcome } from "../signal.ts";

/** The status of a tool call, according to the log. */
type CallStatus =
  | "open"
  /** Waits for approval. */
  | "approval_requested"
  /** Approved but not started. */
  | "approved"
  | "denied"
  /** The tool has asked a question, and waits for the answer. */
  | "asked"
  /** The question is answered, and the call not resumed. */
  | "answered"
  /** Waits for the answer of another agent. */
  | "delegated"
  /** Has run, and waits for a time. */
  | "asleep"
  /** The call was started, and may have run. */
  | "started"
  | "done";

/** The thread of a child, its request and its agent. */
export interface ChildThread {
  readonly threadId: string;
  readonly requestId: string;
  readonly agent: string;
}

/** A tool call of the last answer, with its status. */
export interface OpenCall {
  readonly call: ToolCall;
  readonly status: CallStatus;
  /** The approval has edited the arguments of `call`. */
  readonly edited?: true;
  /** Until when it waits for its approval, or sleeps, and what happens then. */
  readonly deadline?: number;
  readonly onTimeout?: "deny" | "fail";
  readonly guard?: true | undefined; // the guard asks for the approval
  /** The result that it has when it has slept. */
  readonly outcome?: ToolOutcome;
  /** The last question of the tool, and how many it has asked. */
  readonly question?: { readonly value: JsonValue; readonly count: number };
  /** The answer to the last question. */
  readonly answer?: JsonValue;
  /** The agent that the call has asked. */
  readonly child?: ChildThread;
}

/** An open request. Contains only facts from the log. */
export interface Run {
  readonly requestId: string;
  readonly runId: string;
  readonly lane: string;
  readonly askSeq: number;
  readonly options: StoredRequestOptions;
  /** The agent that was asked, and the first one of a thread that was handed over. Absent in logs of 0.1. */
  readonly agent?: string;
  readonly startedBy?: string;
  /** The agent that gets the request from the agent `from`, when all calls of the answer that hands it over have results. */
  readonly handedTo?: { readonly agent: string; readonly from: string | undefined; readonly callId: string };
  /** The caller's refs, which all entries of the run carry. */
  readonly refs: JsonObject;
  /** The number of answered model calls so far. */
  readonly iteration: number;
  /** The id of the last answered model call. */
  readonly callId?: string;
  /** The tool calls of the last answer, in order. */
  readonly calls: readonly OpenCall[];
  /** The index of the first call without a result. Searches begin here, because calls end about in their order. */
  readonly firstOpen: number;
  readonly usage: Usage;
  readonly usageByModel: UsageByModel;
  /** The finish reason of the last model call. */
  readonly finishReason?: ModelFinishReason;
  /** The last text of the model. */
  readonly text: string;
  /** Set when the last message is an answer without calls: complete or partial. */
  readonly spoken: "whole" | "partial" | undefined;
  /** How many answers were sent back because they did not match the output schema. */
  readonly repairs: number;
  /** How many model calls were refused as too long. */
  readonly compactions: number;
  /** The estimated tokens of the last refused call. */
  readonly refusedTokens: number;
  /** The largest estimate for a prompt after the last refusal, if known. */
  readonly correctedRoom: number | undefined;
  /** The number of the attempt, from 1. Each crash during work starts another attempt. */
  readonly attempt: number;
  /** Which of its models the request calls: 0 is the first. */
  readonly modelIndex: number;
  /** How many attempts of the next call by this model have failed, or ended with their process. */
  readonly failedAttempts: number;
  /** The same for the models before. */
  readonly failedBefore: number;
  /** Milliseconds of work according to the log. Counted only when there is a time limit. */
  readonly workedMs: number;
  /** Set when a server stopped during the request: the calls that had started by then. */
  readonly handedOver: readonly string[] | undefined;
  /** The newest entry is an answer that another process wrote. The log does not show that the holder has started anything since. */
  readonly isAnsweredElsewhere: boolean;
  /** The number of the last event that follows from the entries of the run. */
  readonly eventSeq: number;
}

/** The calls of the last answer that have no result yet. */
export function openCalls(run: Run): readonly OpenCall[] {
  return run.calls.slice(run.firstOpen).filter(({ status }) => status !== "done");
}

export function hasOpenCalls({ calls, firstOpen }: Run): boolean {
  return firstOpen < calls.length;
}

/** Whether a call of the run waits for another agent. */
export function hasChildren(run: Run | undefined): boolean {
  return run?.calls.some(({ status }) => status === "delegated") ?? false;
}

/** How a request ended. Stored in `payload.end` of its last entry. */
export type RequestEnd =
  | { readonly status: "completed"; readonly terminationReason: TerminationReason }
  | { readonly status: "failed"; readonly failure: Failure }
  | { readonly status: "cancelled"; readonly reason: string };

/** How the request ended, if this payload is from its last entry. */
export function readRequestEnd(payload: JsonObject): RequestEnd | undefined {
  const { end } = payload;
  return isPlainObject(end) && typeof end["status"] === "string" ? (end as RequestEnd) : undefined; // the agent wrote this entry
}

/** The state of a ReAct agent that is in the log. It is folded from the entries, so it can always be restored. */
export interface ReactState {
  readonly run: Run | undefined;
  /** The last ended request, until the next one starts. */
  readonly last: EndedRun | undefined;
  readonly activeContextRef: string;
  /** The lanes that have entries, sorted. */
  readonly lanes: readonly string[];
  /** The ids of the last applied operations, only from loaded entries. */
  readonly appliedContextOps: readonly string[];
  /** The last entry that the last model call could see; -1 when there was no call. */
  readonly projectionCursorSeq: number;
}

export interface EndedRun {
  readonly run: Run;
  readonly end: RequestEnd;
  readonly seq: number;
}

const REMEMBERED_OPS = 64;

export const INITIAL_STATE: ReactState = Object.freeze({
  run: undefined,
  last: undefined,
  activeContextRef: DEFAULT_LANE,
  lanes: Object.freeze([]),
  appliedContextOps: Object.freeze([]),
  projectionCursorSeq: -1,
});

/** Folds one entry into the state. An entry of another request does not change the run. */
export function evolve(state: ReactState, entry: Entry): ReactState {
  const next = countEvents(afterAny(state, entry), entry);
  const lanes = withLane(state.lanes, namedLane(entry) ?? state.activeContextRef);
  return lanes === next.lanes ? next : { ...next, lanes };
}

/** Counts the events of an entry of the run that is open, or that has ended with it. */
function countEvents(state: ReactState, entry: Entry): ReactState {
  const { run, last } = state;
  const { requestId } = entry.refs;
  if (run !== undefined && run.requestId === requestId) {
    return { ...state, run: { ...run, eventSeq: eventSeqAfter(run.eventSeq, entry) } };
  }
  if (last === undefined || last.run.requestId !== requestId) return state;
  return { ...state, last: { ...last, run: { ...last.run, eventSeq: eventSeqAfter(last.run.eventSeq, entry) } } };
}

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
function eventSeqAfter(last: number, { kind, payload }: Entry): number {
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

function afterAny(state: ReactState, entry: Entry): ReactState {
  if (entry.kind === "ai_context_operation") return afterOperation(state, entry);
  const projectionCursorSeq = recordedCursor(entry) ?? state.projectionCursorSeq;
  const { run } = state;
  if (run === undefined || entry.refs.requestId !== run.requestId) {
    const begun = runFromAsk(entry);
    return begun === undefined
      ? { ...state, projectionCursorSeq }
      : { ...state, projectionCursorSeq, run: begun, last: undefined };
  }
  const next = afterEntry(run, entry);
  const end = readRequestEnd(entry.payload as JsonObject); // every payload is a JSON object
  if (end === undefined) return { ...state, projectionCursorSeq, run: next };
  return { ...state, projectionCursorSeq, run: undefined, last: { run: next, end, seq: entry.seq } };
}

/** The id of the request that an entry continues. Undefined for all other entries. */
export function continuedBy({ kind, payload }: Pick<Entry, "kind" | "payload">): string | undefined {
  const { continues } = payload as JsonObject; // every payload is a JSON object
  return kind === "note" && typeof continues === "string" ? continues : undefined;
}

/** The run that an entry starts, if it is an ask or continues a request. A steer is not an ask. */
export function runFromAsk({ kind, payload, refs, seq }: Entry): Run | undefined {
  const { role, requestId, runId, contextRef, steer, options, agent, startedBy } = payload as JsonObject; // JSON
  const isAsk = kind === "ai_message" && role === "user" && steer === undefined;
  if (!isAsk && continuedBy({ kind, payload } as Pick<Entry, "kind" | "payload">) === undefined) return undefined;
  if (typeof requestId !== "string" || typeof runId !== "string" || refs.requestId !== requestId) return undefined;
  const { requestId: _request, runId: _run, ...others } = refs as JsonObject; // refs are scalars
  return {
    requestId,
    runId,
    lane: typeof contextRef === "string" ? contextRef : DEFAULT_LANE,
    askSeq: seq,
    options: isPlainObject(options) ? (options as StoredRequestOptions) : {}, // checked before it was written
    ...(typeof agent === "string" && { agent }),
    ...(typeof startedBy === "string" && { startedBy }),
    refs: others,
    iteration: 0,
    calls: [],
    firstOpen: 0,
    usage: {},
    usageByModel: {},
    text: "",
    spoken: undefined,
    repairs: 0,
    compactions: 0,
    refusedTokens: 0,
    correctedRoom: undefined,
    attempt: 1,
    modelIndex: 0,
    failedAttempts: 0,
    failedBefore: 0,
    workedMs: 0,
    handedOver: undefined,
    isAnsweredElsewhere: false,
    eventSeq: 0,
  };
}

function afterEntry(before: Run, entry: Entry): Run {
  const { kind, payload, refs } = entry;
  const call = recordedCall(entry);
  const fields = (call === undefined ? payload : { ...payload, call }) as unknown as JsonObject; // every payload is a JSON object
  const isAnsweredElsewhere = kind === "ai_message" && fields["elsewhere"] === true;
  const run = { ...before, workedMs: Math.max(before.workedMs, workedIn(fields)), isAnsweredElsewhere };
  const { toolCallId: id, started } = fields;
  switch (kind) {
    case "ai_message":
      return afterMessage(run, fields, refs.callId);
    case "approval_requested":
      return withStatus(run, id, "approval_requested", ["open"], fields);
    case "approval_resolved":
      return withStatus(run, id, decisionIn(fields), ["open", "approval_requested"], fields);
    case "question_asked":
      return withStatus(run, id, "asked", UNFINISHED, { question: null, ...fields });
    case "question_answered":
      return withStatus(run, id, started === true ? "started" : "answered", ["asked"], { answer: null, ...fields });
    case "sleep_started":
      return withStatus(run, id, "asleep", UNFINISHED, { deadline: fields["until"] ?? 0, ...fields });
    case "tool_started":
      return isPlainObject(fields["child"])
        ? withStatus(run, id, "delegated", UNFINISHED, fields)
        : withStatus(run, id, "started", UNFINISHED);
    case "error":
      return afterRefusal(run, fields);
    case "note":
      return afterNote(run, fields);
    case "summary":
      return { ...run, ...usageAfter(run, fields["call"]) };
    default:
      return run;
  }
}

function afterMessage(run: Run, payload: JsonObject, callId: string | undefined): Run {
  const { role, steer, toolCallId, partial } = payload;
  // A late result of an earlier exchange may have the id of a call that is open now.
  if (role === "tool")
    return callId === undefined || callId === run.callId
      ? handedOn(withStatus({ ...run, ...usageWith(run, payload["child"]) }, toolCallId, "done", UNFINISHED), payload)
      : run;
  if (role === "user") {
    // A user message between a call and its result does not close the call.
    const left = hasOpenCalls(run) ? {} : { calls: [], firstOpen: 0 };
    return { ...run, ...left, spoken: undefined, repairs: run.repairs + (steer === "repair" ? 1 : 0) };
  }
  if (role !== "assistant" || callId === undefined) return run;
  const calls = (payload["toolCalls"] ?? []) as readonly ToolCall[]; // the agent wrote this entry
  const reason = finishReasonIn(payload["call"]);
  return {
    ...run,
    iteration: run.iteration + 1,
    failedAttempts: 0,
    failedBefore: 0,
    callId,
    calls: calls.map((call) => ({ call, status: "open" })),
    firstOpen: 0,
    handedOver: undefined, // it lists calls of the answer before
    ...usageAfter(run, payload["call"]),
    ...reason,
    text: contentText(payload["content"] as Content) || run.text, // the agent wrote this entry
    spoken: calls.length > 0 || reason.finishReason === "paused" ? undefined : partial ? "partial" : "whole",
  };
}

/** After a handoff, the next agent calls its own models. Some options of the ask were for the agent before. */
function handedOn(run: Run, { handoff }: JsonObject): Run {
  if (typeof handoff !== "string" || run.callId === undefined) return run;
  const {
    model: _model,
    mode: _mode,
    systemPrompt: _prompt,
    allowedTools: _tools,
    call: _call,
    ...options
  } = run.options;
  const handedTo = { agent: handoff, from: run.handedTo?.agent ?? run.agent, callId: run.callId };
  return { ...run, ...OF_ANOTHER_MODEL, options, modelIndex: 0, handedTo };
}

/** Another model may have another window, and has not failed. */
const OF_ANOTHER_MODEL = { failedAttempts: 0, compactions: 0, refusedTokens: 0, correctedRoom: undefined };

const UNFINISHED: readonly CallStatus[] = [
  "open",
  "approval_requested",
  "approved",
  "denied",
  "asked",
  "answered",
  "delegated",
  "asleep",
  "started",
];

/** Changes only the first matching call, because a model may use one id twice. Each such call needs its own result. */
function withStatus(
  run: Run,
  id: JsonValue | undefined,
  status: CallStatus,
  from: readonly CallStatus[],
  fields: JsonObject = {},
): Run {
  const { editedArguments: edited, deadline, onTimeout, guard, question, answer, child } = fields;
  for (let index = run.firstOpen; index < run.calls.length; index++) {
    const open = run.calls[index];
    if (open === undefined || open.call.id !== id || !from.includes(open.status)) continue;
    const { deadline: _deadline, onTimeout: _onTimeout, outcome: _outcome, answer: last, ...before } = open;
    const answered = answer === undefined ? last : answer;
    const changed: OpenCall = {
      ...before,
      status,
      ...(guard === true && { guard }),
      ...(edited !== undefined && { call: { ...open.call, arguments: edited }, edited: true }),
      ...(question !== undefined && { question: { value: question, count: (open.question?.count ?? 0) + 1 } }),
      ...(question === undefined && answered !== undefined && { answer: answered }),
      ...(typeof deadline === "number" && { deadline, onTimeout: onTimeout === "fail" ? "fail" : "deny" }),
      ...(status === "asleep" && { outcome: outcomeIn(fields) }),
      ...(status === "delegated" && { child: child as unknown as ChildThread }), // the agent wrote this entry
    };
    const calls = run.calls.with(index, changed);
    let { firstOpen } = run;
    while (calls[firstOpen]?.status === "done") firstOpen++;
    const handedOver = status === "started" ? run.handedOver?.concat(open.call.id) : run.handedOver; // begun since
    return { ...run, calls, firstOpen, handedOver };
  }
  return run;
}

/** The result in an entry of a sleep. The agent wrote it. */
function outcomeIn({ content = "", isError, details }: JsonObject): ToolOutcome {
  return { content: content as Content, isError: isError === true, ...(details !== undefined && { details }) };
}

function decisionIn({ approved, started }: JsonObject): CallStatus {
  return approved !== true ? "denied" : started === true ? "started" : "approved";
}

function afterRefusal(run: Run, { call, correctedRoom }: JsonObject): Run {
  if (!isPlainObject(call)) return run;
  const { estimatedTokens } = call;
  const refusedTokens = typeof estimatedTokens === "number" ? estimatedTokens : 0;
  return {
    ...run,
    ...usageAfter(run, call),
    ...finishReasonIn(call),
    compactions: run.compactions + 1,
    refusedTokens,
    ...(typeof correctedRoom === "number" && { correctedRoom }),
  };
}

/** Notes of servers: a failed model call, the start of an attempt, or the calls that had started when a server stopped. */
function afterNote(before: Run, { attempt, handedOver, retried, call }: JsonObject): Run {
  const run = { ...before, ...usageAfter(before, call) }; // the usage of a discarded summary counts too
  if (isPlainObject(handedOver)) {
    const { begun } = handedOver;
    return { ...run, handedOver: Array.isArray(begun) ? begun.map(String) : [] };
  }
  if (isPlainObject(retried)) return afterFailedCall(run, retried["model"]);
  if (typeof attempt !== "number") return run;
  // A process that died in a model call has made an attempt of it.
  const hasCalled = attempt > run.attempt && !hasOpenCalls(run);
  return { ...run, attempt, failedAttempts: run.failedAttempts + (hasCalled ? 1 : 0), handedOver: undefined };
}

function afterFailedCall(run: Run, model: unknown): Run {
  const failedAttempts = run.failedAttempts + 1;
  if (typeof model !== "string") return { ...run, failedAttempts };
  const { modelIndex, failedBefore } = run;
  return { ...run, ...OF_ANOTHER_MODEL, modelIndex: modelIndex + 1, failedBefore: failedBefore + failedAttempts };
}

function workedIn({ workedMs, call }: JsonObject): number {
  const worked = workedMs ?? (isPlainObject(call) ? call["workedMs"] : undefined);
  return typeof worked === "number" ? worked : 0;
}

function afterOperation(state: ReactState, entry: Entry): ReactState {
  const { opId } = entry.payload as JsonObject; // every payload is a JSON object
  const known = typeof opId === "string" ? [...state.appliedContextOps, opId].slice(-REMEMBERED_OPS) : undefined;
  const target = isMalformedOperation(entry, (lane) => state.lanes.includes(lane)) ? undefined : switchTarget(entry);
  return {
    ...state,
    activeContextRef: target ?? state.activeContextRef,
    appliedContextOps: known ?? state.appliedContextOps,
  };
}

/** The last entry that the recorded model call could see, if this entry records one. */
export function recordedCursor({ kind, payload }: Entry): number | undefined {
  if (kind !== "ai_message" && kind !== "error") return undefined; // a summarizer's call sees only a range
  const call = (payload as JsonObject)["call"]; // every payload is a JSON object
  const seq = isPlainObject(call) ? call["basisLastSeq"] : undefined;
  return typeof seq === "number" ? seq : undefined;
}

function usageAfter(run: Run, call: JsonValue | undefined): Pick<Run, "usage" | "usageByModel"> {
  const { usage, usageByModel } = run;
  if (!isPlainObject(call)) return { usage, usageByModel };
  const model = typeof call["model"] === "string" ? call["model"] : undefined;
  const own = recordedUsage(call);
  return { usage: addUsage(usage, own), usageByModel: addModelUsage(usageByModel, model, own) };
}

/** The usage of a child counts in the run that has asked it. */
function usageWith(run: Run, child: JsonValue | undefined): Pick<Run, "usage" | "usageByModel"> {
  const { usage, usageByModel } = run;
  if (!isPlainObject(child)) return { usage, usageByModel };
  const models = Object.entries(Object(child["usageByModel"])) as [string, Usage][]; // the agent wrote this entry
  return {
    usage: addUsage(usage, recordedUsage(child)),
    usageByModel: models.reduce((sum, [model, one]) => addModelUsage(sum, model, one), usageByModel),
  };
}

function finishReasonIn(call: JsonValue | undefined): { readonly finishReason?: ModelFinishReason } {
  const reason = isPlainObject(call) ? call["finishReason"] : undefined;
  return typeof reason === "string" ? { finishReason: reason as ModelFinishReason } : {}; // the agent wrote this entry
}
