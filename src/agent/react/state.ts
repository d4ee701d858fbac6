import { withLane } from "../../lanes/active-lane.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { DEFAULT_LANE, isMalformed, namedLane, switchTarget } from "../../thread/lane-operation.ts";
import type { Content, ToolCall } from "../../thread/message.ts";
import { addModelUsage, addUsage, type FinishReason, type Usage } from "../answer.ts";
import type { RequestOptions } from "../signal.ts";
import { textOf } from "./content.ts";
import { endIn, type RequestEnd } from "./end.ts";
import { type CallStatus, openCalls, type Run } from "./run.ts";

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

export const INITIAL: ReactState = Object.freeze({
  run: undefined,
  last: undefined,
  activeContextRef: DEFAULT_LANE,
  lanes: Object.freeze([]),
  appliedContextOps: Object.freeze([]),
  projectionCursorSeq: -1,
});

/** Folds one entry into the state. An entry of another request does not change the run. */
export function evolve(state: ReactState, entry: Entry): ReactState {
  const next = afterAny(state, entry);
  const lanes = withLane(state.lanes, namedLane(entry) ?? state.activeContextRef);
  return lanes === next.lanes ? next : { ...next, lanes };
}

function afterAny(state: ReactState, entry: Entry): ReactState {
  if (entry.kind === "ai_context_operation") return afterOperation(state, entry);
  const projectionCursorSeq = cursorIn(entry) ?? state.projectionCursorSeq;
  const { run } = state;
  if (run === undefined || entry.refs.requestId !== run.requestId) {
    const begun = beginning(entry);
    return begun === undefined
      ? { ...state, projectionCursorSeq }
      : { ...state, projectionCursorSeq, run: begun, last: undefined };
  }
  const next = afterEntry(run, entry);
  const end = endIn(entry.payload as JsonObject); // payloads are JSON
  if (end === undefined) return { ...state, projectionCursorSeq, run: next };
  return { ...state, projectionCursorSeq, run: undefined, last: { run: next, end, seq: entry.seq } };
}

/** The run that an entry starts, if it is an ask. A steer is not an ask. */
export function beginning({ kind, payload, refs, seq }: Entry): Run | undefined {
  const { role, requestId, runId, contextRef, steer, options } = payload as JsonObject; // payloads are JSON
  if (kind !== "ai_message" || role !== "user" || steer !== undefined) return undefined;
  if (typeof requestId !== "string" || typeof runId !== "string" || refs.requestId !== requestId) return undefined;
  const { requestId: _request, runId: _run, ...others } = refs as JsonObject; // refs are scalars
  return {
    requestId,
    runId,
    lane: typeof contextRef === "string" ? contextRef : DEFAULT_LANE,
    askSeq: seq,
    options: isPlainObject(options) ? (options as RequestOptions) : {}, // checked before it was written
    refs: others,
    iteration: 0,
    calls: [],
    usage: {},
    usageByModel: {},
    text: "",
    spoken: undefined,
    repairs: 0,
    compactions: 0,
    refusedTokens: 0,
    correctedRoom: undefined,
    attempt: 1,
    workedMs: 0,
    handedOver: undefined,
    isAnsweredElsewhere: false,
  };
}

function afterEntry(before: Run, { kind, payload, refs }: Entry): Run {
  const fields = payload as JsonObject; // payloads are JSON
  const isAnsweredElsewhere = kind === "ai_message" && fields["elsewhere"] === true;
  const run = { ...before, workedMs: Math.max(before.workedMs, workedIn(fields)), isAnsweredElsewhere };
  switch (kind) {
    case "ai_message":
      return afterMessage(run, fields, refs.callId);
    case "approval_requested":
      return withStatus(run, fields["toolCallId"], "approval_requested", ["open"]);
    case "approval_resolved":
      return withStatus(run, fields["toolCallId"], decisionIn(fields), ["open", "approval_requested"]);
    case "tool_started":
      return withStatus(run, fields["toolCallId"], "started", UNFINISHED);
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
    return callId === undefined || callId === run.callId ? withStatus(run, toolCallId, "done", UNFINISHED) : run;
  if (role === "user") {
    // A user message between a call and its result does not close the call.
    const calls = openCalls(run).length === 0 ? [] : run.calls;
    return { ...run, calls, spoken: undefined, repairs: run.repairs + (steer === "repair" ? 1 : 0) };
  }
  if (role !== "assistant" || callId === undefined) return run;
  const calls = (payload["toolCalls"] ?? []) as readonly ToolCall[]; // written by us
  const spoken = partial === true ? "partial" : "whole";
  return {
    ...run,
    iteration: run.iteration + 1,
    callId,
    calls: calls.map((call) => ({ call, status: "open" })),
    ...usageAfter(run, payload["call"]),
    ...finishReasonIn(payload["call"]),
    text: textOf(payload["content"] as Content) || run.text, // written by us
    spoken: calls.length > 0 ? undefined : spoken,
  };
}

const UNFINISHED: readonly CallStatus[] = ["open", "approval_requested", "approved", "denied", "started"];

/** Changes only the first matching call, because a model may use one id twice. Each such call needs its own result. */
function withStatus(run: Run, id: JsonValue | undefined, status: CallStatus, from: readonly CallStatus[]): Run {
  const index = run.calls.findIndex((open) => open.call.id === id && from.includes(open.status));
  return index < 0 ? run : { ...run, calls: run.calls.map((open, at) => (at === index ? { ...open, status } : open)) };
}

function decisionIn({ approved, started }: JsonObject): CallStatus {
  if (approved !== true) return "denied";
  return started === true ? "started" : "approved";
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

/** Notes of servers: the start of an attempt, or the calls that had started when a server stopped. */
function afterNote(before: Run, { attempt, handedOver, call }: JsonObject): Run {
  const run = { ...before, ...usageAfter(before, call) }; // the usage of a discarded summary counts too
  if (isPlainObject(handedOver)) {
    const { begun } = handedOver;
    return { ...run, handedOver: Array.isArray(begun) ? begun.map(String) : [] };
  }
  return typeof attempt === "number" ? { ...run, attempt, handedOver: undefined } : run;
}

function workedIn({ workedMs, call }: JsonObject): number {
  const worked = workedMs ?? (isPlainObject(call) ? call["workedMs"] : undefined);
  return typeof worked === "number" ? worked : 0;
}

function afterOperation(state: ReactState, entry: Entry): ReactState {
  const { opId } = entry.payload as JsonObject; // payloads are JSON
  const known = typeof opId === "string" ? [...state.appliedContextOps, opId].slice(-REMEMBERED_OPS) : undefined;
  const target = isMalformed(entry, (lane) => state.lanes.includes(lane)) ? undefined : switchTarget(entry);
  return {
    ...state,
    activeContextRef: target ?? state.activeContextRef,
    appliedContextOps: known ?? state.appliedContextOps,
  };
}

/** The last entry that the recorded model call could see, if this entry records one. */
export function cursorIn({ kind, payload }: Entry): number | undefined {
  if (kind !== "ai_message" && kind !== "error") return undefined; // a summarizer's call sees only a range
  const call = (payload as JsonObject)["call"]; // payloads are JSON
  const seq = isPlainObject(call) ? call["basisLastSeq"] : undefined;
  return typeof seq === "number" ? seq : undefined;
}

function usageAfter(run: Run, call: JsonValue | undefined): Pick<Run, "usage" | "usageByModel"> {
  const { usage, usageByModel } = run;
  if (!isPlainObject(call)) return { usage, usageByModel };
  const model = typeof call["model"] === "string" ? call["model"] : undefined;
  const own = usageIn(call);
  return { usage: addUsage(usage, own), usageByModel: addModelUsage(usageByModel, model, own) };
}

/** The usage in the record of a call. */
export function usageIn(call: JsonValue | undefined): Usage {
  const usage = isPlainObject(call) ? call["usage"] : undefined;
  return isPlainObject(usage) ? (usage as Usage) : {}; // written by us
}

function finishReasonIn(call: JsonValue | undefined): { readonly finishReason?: FinishReason } {
  const reason = isPlainObject(call) ? call["finishReason"] : undefined;
  return typeof reason === "string" ? { finishReason: reason as FinishReason } : {}; // written by us
}
