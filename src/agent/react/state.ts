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

/** What a ReAct agent knows of its thread. It is folded from the entries, so it can be had again at any time. */
export interface ReactState {
  readonly run: Run | undefined;
  /** The request that ended last, until the next begins. */
  readonly last: EndedRun | undefined;
  readonly activeContextRef: string;
  /** The lanes that have entries, sorted. */
  readonly lanes: readonly string[];
  /** The operations applied last, as far as they are loaded; the log has all of them. */
  readonly appliedContextOps: readonly string[];
  /** What the last model call was shown: entries up to here. */
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

/** What one more entry changes. Entries that others wrote change nothing. */
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

/** An ask of ours: what is steered into a request says so. */
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
  // A late result of an earlier exchange may have an id that is open again.
  if (role === "tool")
    return callId === undefined || callId === run.callId ? withStatus(run, toolCallId, "done", UNFINISHED) : run;
  if (role === "user") {
    // Words that somebody has put between a call and its result do not make the call go away.
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

/** Only the first call of that id that can take the status: whoever writes one id twice answers it twice. */
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

/** What servers note of a request: that an attempt begins, or that the rest is left to the next server. */
function afterNote(before: Run, { attempt, handedOver, call }: JsonObject): Run {
  const run = { ...before, ...usageAfter(before, call) }; // a summary that was discarded has cost something too
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

/** What the call was shown that left the entry. */
export function cursorIn({ kind, payload }: Entry): number | undefined {
  if (kind !== "ai_message" && kind !== "error") return undefined; // a summary was shown a range
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

/** What a call has used, as its record says. */
export function usageIn(call: JsonValue | undefined): Usage {
  const usage = isPlainObject(call) ? call["usage"] : undefined;
  return isPlainObject(usage) ? (usage as Usage) : {}; // written by us
}

function finishReasonIn(call: JsonValue | undefined): { readonly finishReason?: FinishReason } {
  const reason = isPlainObject(call) ? call["finishReason"] : undefined;
  return typeof reason === "string" ? { finishReason: reason as FinishReason } : {}; // written by us
}
