import type { ContextOperation } from "../../lanes/context-operation.ts";
import { foldLane } from "../../lanes/fold-lane.ts";
import { ProjectionError } from "../../projection/error.ts";
import type { Entry } from "../../thread/entry.ts";
import { HeddleError } from "../../thread/errors.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import { readBranch } from "../../thread/lane-operations.ts";
import { type Content, hasContent } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { Failure, Signal } from "../signal.ts";
import {
  addDirectives,
  commitEntries,
  emitEvent,
  isWaiting,
  type ReactAgent,
  type Step,
  unchanged,
  updateFlight,
  waitingCalls,
} from "./agent.ts";
import {
  type CallContext,
  contextForCall,
  heldFor,
  isOverflow,
  modeFailure,
  shownTools,
  toolsFor,
  withAsked,
} from "./call-context.ts";
import { type AskedAgent, askEntry, commandEntryId, continueEntry, goOnEntry, steerEntry } from "./entries.ts";
import { startNextCall } from "./next-call.ts";
import { askedOperation } from "./operations.ts";
import { runFromAsk } from "./state.ts";
import { deadlineFailure, scheduleTimeLimit } from "./time-limit.ts";

type Ask = Extract<Signal, { type: "ask" }>;

/** The caller loads more of the thread, then asks again. */
const NOT_LOADED = ["tail_too_short", "lane_not_loaded"];

/** Commits an ask, or refuses it and leaves the agent unchanged. */
export function handleAsk(agent: ReactAgent, ask: Ask): Step {
  const requestId = ask.requestId ?? agent.ports.ids("req");
  const refused = (failure: Failure): Step =>
    addDirectives(unchanged(agent), { type: "emit_request_error", requestId, failure });
  try {
    const refusal = askRefusal(agent, ask, requestId);
    return refusal === undefined ? startRequest(agent, ask, requestId) : refused(refusal);
  } catch (error) {
    if (!HeddleError.isInstance(error) || NOT_LOADED.includes(error.code)) throw error;
    const { code, message, retryable } = error;
    return refused({ code, message, ...(retryable && { retryable }) });
  }
}

/** Begins a request. Messages that wait come before its ask; those that do not fit there come in its later calls. */
function startRequest(agent: ReactAgent, ask: Ask, requestId: string, beforeIt = agent.flight.steers): Step {
  const { options = {}, refs = {}, systemPrompt, content, author, source, continues, operation, hasWaited } = ask;
  const before = continues === undefined ? undefined : agent.state.last?.run;
  const { deadline: _past, traceparent: _trace, display: _shown, parent: _asker, ...kept } = before?.options ?? {}; // all are of the request before
  const lane = before?.lane ?? operation?.contextRef ?? agent.state.activeContextRef;
  const ids = { requestId, runId: agent.ports.ids("run"), lane, refs: refs as JsonObject }; // refs are scalars
  const { runId } = ids;
  const asked = askedAgent(agent);
  const entry =
    before === undefined || continues === undefined
      ? askEntry(ids, { content, ...(author && { author }), ...(source !== undefined && { source }) }, options, asked)
      : continueEntry(ids, continues, { ...kept, ...options }, asked);
  const first = hasWaited ? { ...entry, id: commandEntryId(requestId) } : entry;
  // A request that is continued gets the messages that wait at its next step.
  const waiting = continues === undefined ? beforeIt : [];
  const steers = agent.flight.steers.slice(waiting.length);
  const begun = updateFlight(unchanged(agent), { runId, systemPrompt, steers });
  const earlier = operation ? [askedOperation(agent, operation)] : [];
  const alone = commitEntries(begun, ...earlier, ...waiting.map((steer) => steerEntry(ids, steer)), first);
  const step = before && endsWithAnswer(alone.agent) ? commitEntries(begun, first, goOnEntry(ids)) : alone;
  const { run } = step.agent.state;
  if (run === undefined) return unchanged(agent); // unreachable: the entry above starts a run
  let context: CallContext;
  try {
    context = contextForCall(step.agent, run);
  } catch (error) {
    if (!isOverflow(error) || before !== undefined) throw error;
    if (waiting.length === 0) throw pendingError(step.agent, agent, content);
    return startRequest(agent, ask, requestId, waiting.slice(0, waiting.length >> 1));
  }
  const settled = waiting.map(({ id }, index) => {
    const end = { status: "delivered", seq: agent.thread.rev + earlier.length + index } as const;
    return { type: "settle", id, end } as const;
  });
  const started = emitEvent(scheduleTimeLimit(addDirectives(step, ...settled), run), run, {
    kind: "request_started",
    data: { lane, ...(continues !== undefined && { continues }) },
  });
  return startNextCall(started, run, { context, of: step.agent.thread });
}

/** The agent, and the first one of a thread that was handed over. */
function askedAgent(agent: ReactAgent): AskedAgent {
  const { name } = agent.settings;
  const startedBy = firstAgent(agent) ?? agent.state.last?.run.agent;
  const isKnown = firstAgent(agent) !== undefined || (startedBy !== undefined && startedBy !== name);
  return { agent: name, ...(isKnown && { startedBy }) };
}

/** The first agent of a thread that was handed over. Undefined for other threads. */
function firstAgent({ state: { last } }: ReactAgent): string | undefined {
  return last?.run.startedBy ?? (last?.run.handedTo && last.run.agent);
}

/**
 * The agent that answers an ask on a lane of a thread that was handed over. It is the one that the lane had at its end, or where the
 * ask branches off, which may have to be loaded. Undefined: the thread has one agent, or no loaded entry names it.
 */
export function laneAgent(agent: ReactAgent, place: ContextOperation | undefined): string | undefined {
  const first = firstAgent(agent);
  if (first === undefined) return undefined;
  const { thread, state } = agent;
  const branch = place && readBranch({ kind: "ai_context_operation", seq: thread.rev, payload: { ...place } });
  const { from: lane, atSeq } = branch ?? { from: place?.contextRef ?? state.activeContextRef, atSeq: thread.lastSeq };
  if (atSeq < 0) return first; // a branch without entries
  const context = atSeq < thread.firstSeq ? undefined : foldLane(thread, lane, { atSeq });
  const named = context?.items.findLast(({ entry }) => agentIn(entry) !== undefined);
  const isComplete = context?.complete === true;
  if (place !== undefined && named === undefined && !isComplete && thread.firstSeq > 0) throw lacksAgent(thread, atSeq);
  return named === undefined ? (isComplete ? first : undefined) : agentIn(named.entry);
}

/** Each time, twice as many entries before the place are loaded. */
function lacksAgent({ firstSeq }: Thread, atSeq: number): ProjectionError {
  const neededFromSeq = Math.max(0, Math.min(firstSeq, atSeq) - Math.max(64, atSeq - firstSeq));
  const message = `The ask that names the agent lies before the entries loaded. Load the thread from seq ${neededFromSeq}.`;
  return new ProjectionError({ code: "tail_too_short", message, neededFromSeq });
}

/** The agent that has the thread from this entry on: that of an ask, or the next one of a handoff. */
function agentIn(entry: Entry): string | undefined {
  return handoffIn(entry) ?? runFromAsk(entry)?.agent;
}

/** The next agent, if the entry is the result of a handoff. */
export function handoffIn({ payload }: Pick<Entry, "payload">): string | undefined {
  const { handoff } = payload as JsonObject; // every payload is a JSON object
  return typeof handoff === "string" ? handoff : undefined;
}

/** Whether a context that is continued ends with an answer. An operation may have replaced it; an empty one is refused. */
function endsWithAnswer(agent: ReactAgent): boolean {
  const { run } = agent.state;
  if (run === undefined) return false; // unreachable: an entry has started it
  const last = contextForCall(agent, run).projection.messages.findLast(({ role }) => role !== "system");
  if (last !== undefined) return last.role === "assistant";
  const message = "The context was replaced after the request, and is empty. Ask again.";
  throw new HeddleError({ code: "request_superseded", message });
}

/** The overflow error for an ask that is only pending: the ask was not committed, so the error must not name its seq. */
function pendingError(agent: ReactAgent, { thread }: ReactAgent, content: Content): unknown {
  const { run } = agent.state;
  try {
    if (run !== undefined) contextForCall(agent, run, thread, content);
  } catch (error) {
    return error;
  }
  return new ProjectionError({ code: "pending_overflow", message: "The ask does not fit. Shorten it." });
}

export function askRefusal(agent: ReactAgent, ask: Ask, requestId: string): Failure | undefined {
  const { settings, state } = agent;
  if (ask.continues !== undefined) {
    const refusal = continueRefusal(agent, ask.continues);
    if (refusal !== undefined) return refusal;
  }
  if (state.run !== undefined) return { code: "busy", message: busyMessage(agent), retryable: true };
  const malformed = malformedAsk(ask);
  if (malformed !== undefined) return malformed;
  if (ask.continues === undefined && !hasContent(ask.content)) {
    return {
      code: "empty_ask",
      message: 'The ask is empty. Pass a text, or parts such as { type: "text", text } or a file.',
    };
  }
  if (
    agent.thread.filterByRef("requestId", requestId, { partial: true }).some((entry) => runFromAsk(entry) !== undefined)
  ) {
    const message =
      "The thread already has a request with this id. Use a new requestId, or omit it. `result` returns that request's result.";
    return { code: "request_id_reused", message };
  }
  const { options = {} } = ask;
  const { allowedTools, call: asked } = options;
  const held = withAsked(heldFor(agent, state.run, ask.operation?.contextRef), options);
  const late = deadlineFailure(agent, options);
  if (late !== undefined) return late;
  const unknownMode = modeFailure(settings, held);
  if (unknownMode !== undefined) return unknownMode;
  const tools = shownTools(agent, held, options.askedTools).map(({ name }) => name);
  const unknown = allowedTools?.find((name) => !tools.includes(name));
  if (unknown !== undefined) return unknownTool(`allowedTools names ${JSON.stringify(unknown)}; the agent has`, tools);
  // Not checked by defineAgent, because tools may be added later or only for one request.
  const { toolChoice } = { ...settings.call, ...asked };
  const chosen = isPlainObject(toolChoice) ? toolChoice["toolName"] : undefined;
  const shown = allowedTools ?? toolsFor(agent, options, held).map(({ name }) => name);
  if (chosen !== undefined && !shown.includes(String(chosen))) {
    return unknownTool(`toolChoice names ${JSON.stringify(chosen)}; this request has`, shown);
  }
  if (ask.continues !== undefined) return undefined; // its ask was accepted
  const reason = settings.accept?.(agent, { content: ask.content, requestId });
  return reason === undefined ? undefined : { code: "not_accepted", message: reason };
}

/** Why a request cannot be continued. Only the last one can: a later ask has other words before it. */
export function continueRefusal({ state: { run, last } }: ReactAgent, continues: string): Failure | undefined {
  if (run?.requestId === continues) {
    const message = "The request has not ended. Wait for it, or cancel it first.";
    return { code: "request_running", message, retryable: true };
  }
  if (run !== undefined) return undefined; // busy
  if (last?.run.requestId !== continues) {
    const message = `Another request came after it${last && `: ${last.run.requestId}`}. Only the last request of a thread can be continued. Ask again.`;
    return { code: "request_superseded", message };
  }
  const isComplete = last.end.status === "completed" && last.end.terminationReason === "final_answer";
  return isComplete
    ? { code: "request_completed", message: "The request has its final answer. Ask something new." }
    : undefined;
}

/** Says what the agent is waiting for, and what the caller can do. */
function busyMessage(agent: ReactAgent): string {
  const kinds = waitingCalls(agent).map(({ kind }) => kind);
  if (!isWaiting(agent) || kinds.length === 0) {
    return 'The agent is running another request. Wait for it, steer it, or set busy: "queue".';
  }
  const isApproval = kinds.includes("approval");
  const what = isApproval ? "approval of a call: approve or deny it" : "the answer to a call: answer it";
  return (
    `Another request waits for ${what}, or cancel the request. ` +
    `With busy: "queue" an ask waits as well: it runs after the ${isApproval ? "decision" : "answer"}, when that request has ended.`
  );
}

function unknownTool(trouble: string, tools: readonly string[]): Failure {
  return { code: "unknown_tool", message: `${trouble}: ${tools.join(", ") || "none"}.` };
}

/** The agent writes these refs itself. A caller's ref of the same name would be overwritten. */
const OWN_REFS = ["callId", "toolCallId", "iteration"];

function malformedAsk({ content, options = {}, refs = {} }: Ask): Failure | undefined {
  const { allowedTools, maxIterations } = options;
  const isContent = typeof content === "string" || (Array.isArray(content) && content.every(isPlainObject));
  if (!isContent) return invalid("The content of an ask must be text or a list of parts.");
  if (typeof content !== "string" && content.some(({ type }) => typeof type !== "string")) {
    return invalid(
      "Every part of an ask needs a `type`. Messages are not parts: pass only the text, or start from a thread.",
    );
  }
  if (!isPlainObject(refs)) return invalid("refs must be an object of texts, numbers, booleans and null.");
  if (maxIterations !== undefined && !(Number.isSafeInteger(maxIterations) && maxIterations >= 1)) {
    return invalid("maxIterations must be a whole number from 1.");
  }
  if (allowedTools !== undefined && !Array.isArray(allowedTools))
    return invalid("allowedTools must be a list of names.");
  const own = OWN_REFS.find((name) => refs[name] !== undefined);
  return own === undefined ? undefined : invalid(`refs.${own} is written by the agent. Use another name.`);
}

function invalid(message: string): Failure {
  return { code: "invalid_ask", message };
}
