import type { JsonObject } from "../../thread/json.ts";
import type { Directive } from "../directive.ts";
import type { Failure, Signal } from "../signal.ts";
import {
  addDirectives,
  commitEntries,
  hasPendingWork,
  type PendingEnd,
  type ReactAgent,
  type Step,
  unchanged,
  updateFlight,
} from "./agent.ts";
import { handleModelError, handleModelResult } from "./answer.ts";
import { handleAsk } from "./ask.ts";
import { commandEntryId, delegatedEntry, handedOverEntry, resultEntry } from "./entries.ts";
import { cancelRow, completeRequest, emitResults, endRequest, NOT_ANSWERED, NOT_AWAKE, NOT_RUN } from "./finish.ts";
import { handleSummary, handleSummaryFailed, startNextCall } from "./next-call.ts";
import { handleContextOperation, handleCut, handleSetting } from "./operations.ts";
import { handleNotice, handleResume } from "./resume.ts";
import { hasChildren, hasOpenCalls, type OpenCall, openCalls, type Run } from "./state.ts";
import { handleSteer } from "./steering.ts";
import { deadlineFailure, handleWorked, rescheduleDeadline } from "./time-limit.ts";
import {
  callOrEnd,
  closeUnrun,
  continueAfterResult,
  continueAfterTools,
  endIfIdle,
  expireCall,
  findOpenCall,
  handleAnswerNeeded,
  handleApprovalNeeded,
  handleChecked,
  handleDecision,
  handleOutsideAnswer,
  handleQuestion,
  handleQuestionAnswer,
  handleSkip,
  handleSleep,
  handleToolResult,
  isClosing,
  isInTime,
  removeRunning,
} from "./tools.ts";

/**
 * Like `decide`, in two phases. This phase only makes the entries and runs no function of the caller, such as a projector,
 * a reader, a counter or `stopWhen`. When the entries are durable, `decideNext` decides the next step. Only an edit of a call
 * is projected before, because one that does not fit is refused.
 */
export function decideDurable(agent: ReactAgent, signal: Signal): Step {
  if (signal.type === "ask") return decide(agent, signal); // an ask that does not fit must be refused before it is written
  const step = decide(phased(agent, true), signal);
  const { agent: after, directives } = hasChildren(agent.state.run) ? cancelledChildren(agent, step, signal) : step;
  return { agent: phased(after, false), directives };
}

/** The second phase. Returns no directives when the first phase decided everything. */
export function decideNext(agent: ReactAgent): Step {
  const { next } = agent.flight;
  const { run } = agent.state;
  const step = updateFlight(unchanged(agent), { next: undefined });
  if (next === undefined || run === undefined || run.runId !== agent.flight.runId) return step;
  return next === "call" ? startNextCall(step, run) : callOrEnd(step, run);
}

function phased(agent: ReactAgent, isPhased: boolean): ReactAgent {
  return { ...agent, flight: { ...agent.flight, isPhased } };
}

/** Applies a signal to a ReAct agent. */
export function decide(agent: ReactAgent, signal: Signal): Step {
  switch (signal.type) {
    case "ask":
      return handleAsk(agent, signal);
    case "resume":
      return handleResume(agent, signal);
    case "notice":
      return handleNotice(agent);
    case "llm_result":
      return handleModelResult(agent, signal);
    case "llm_error":
      return handleModelError(agent, signal);
    case "tool_result":
      return handleToolResult(agent, signal);
    case "results":
      return handleResults(agent, signal);
    case "approval_needed":
      return handleApprovalNeeded(agent, signal);
    case "question_asked":
      return handleQuestion(agent, signal);
    case "sleep_started":
      return handleSleep(agent, signal);
    case "delegated":
      return handleDelegated(agent, signal);
    case "child_ended":
      return handleChildEnded(agent, signal);
    case "answer_question":
      return handleQuestionAnswer(agent, signal);
    case "answer_needed":
      return handleAnswerNeeded(agent, signal);
    case "approve":
    case "deny":
      return handleDecision(agent, signal);
    case "expire":
      return handleExpired(agent);
    case "answer":
      return handleOutsideAnswer(agent, signal);
    case "steer":
      return handleSteer(agent, signal);
    case "skip":
      return handleSkip(agent, signal);
    case "cancel":
      return handleCancel(agent, signal);
    case "fail":
      return handleFail(agent, signal.failure);
    case "deadline":
      return handleDeadline(agent);
    case "hand_over":
      return handleHandOver(agent, signal);
    case "worked":
      return handleWorked(agent, signal);
    case "finish":
      return handleFinish(agent, signal);
    case "checked":
      return handleChecked(agent, signal);
    case "end_reported":
      return addDirectives(unchanged(agent), { type: "settle", id: signal.id, end: { status: "applied" } });
    case "context_op":
      return handleContextOperation(agent, signal.operation);
    case "cut":
      return handleCut(agent, signal);
    case "set":
      return handleSetting(agent, signal);
    case "summary_result":
      return handleSummary(agent, signal);
    case "summary_failed":
      return handleSummaryFailed(agent, signal);
    default:
      return signal satisfies never;
  }
}

/** Deadlines that have passed: calls that slept get their results, others are denied, or the run fails. */
function handleExpired(agent: ReactAgent): Step {
  const { run } = agent.state;
  const { runId, running, ending } = agent.flight;
  const now = agent.ports.clock();
  const isExpired = (open: OpenCall): boolean => !running.includes(open.call.id) && !isInTime(open, now);
  const expired =
    run === undefined || runId !== run.runId || ending !== undefined ? [] : openCalls(run).filter(isExpired);
  const fatal = expired.find(({ onTimeout }) => onTimeout === "fail");
  if (fatal !== undefined) return handleFail(agent, approvalTimeout(fatal));
  return expired.reduce((step, open) => expireCall(step, open), unchanged(agent));
}

function approvalTimeout({ call: { name } }: OpenCall): Failure {
  const message = `A call of ${name} was not approved in time. Raise the tool's approval.timeoutMs, or ask again.`;
  return { code: "approval_timeout", message };
}

/** Cancels the run: aborts running calls, and commits the end when all have reported back. */
function handleCancel(
  agent: ReactAgent,
  { requestId, reason = "The request was cancelled.", spoken, refs }: Extract<Signal, { type: "cancel" }>,
): Step {
  const { run } = agent.state;
  if (requestId !== undefined && requestId !== run?.requestId) return unchanged(agent);
  const cut = spoken === undefined ? {} : { spoken };
  return startEnding(agent, { status: "cancelled", reason, ...cut, ...(refs && { refs }) });
}

function handleFail(agent: ReactAgent, failure: Failure): Step {
  return startEnding(agent, { status: "failed", failure });
}

/** By the clock, which a timer does not follow exactly. */
function handleDeadline(agent: ReactAgent): Step {
  const { run } = agent.state;
  const late = run === undefined ? undefined : deadlineFailure(agent, run.options);
  return late === undefined ? rescheduleDeadline(agent) : handleFail(agent, late);
}

/** Marks the run as ending and aborts what is running. Later reasons are ignored. */
function startEnding(agent: ReactAgent, why: PendingEnd): Step {
  const { run } = agent.state;
  if (run === undefined || agent.flight.ending !== undefined) return unchanged(agent);
  const reason = why.status === "cancelled" ? why.reason : why.failure.code;
  const { requestId, runId } = run;
  const aborting = addDirectives(updateFlight(unchanged(agent), { ending: why }), {
    type: "abort",
    requestId,
    runId,
    reason,
  });
  return endIfIdle(aborting, run);
}

/** The server stops. Notes which calls have started, so that the next server resumes the others. A run that is ending ends now. */
function handleHandOver(agent: ReactAgent, signal: Extract<Signal, { type: "hand_over" }>): Step {
  const { run } = agent.state;
  const { runId, ending } = agent.flight;
  if (run === undefined || runId !== run.runId || !hasPendingWork(agent)) return unchanged(agent);
  const isNoted = ending === undefined || signal.call !== undefined;
  const step = isNoted ? commitEntries(unchanged(agent), handedOverEntry(run, signal)) : unchanged(agent);
  return ending === undefined ? step : endRequest(step, step.agent.state.run ?? run, ending);
}

/** Completes the run with the answer so far, after running calls have finished. Does not wait for approvals or outside answers. */
function handleFinish(agent: ReactAgent, signal: Extract<Signal, { type: "finish" }>): Step {
  const { requestId, terminationReason, callWaits = false } = signal;
  const { run } = agent.state;
  const isOther = requestId !== undefined && requestId !== run?.requestId;
  if (run === undefined || isOther || agent.flight.ending !== undefined) return unchanged(agent);
  const waiting = openCalls(run).filter(({ call }) => !agent.flight.running.includes(call.id));
  const finishing = updateFlight(unchanged(agent), { finishing: terminationReason });
  if (waiting.length > 0) return closeWaitingCalls(finishing, run, waiting);
  if (agent.flight.summary?.goal.requested !== undefined) {
    const { runId } = run;
    return addDirectives(finishing, { type: "abort", requestId: run.requestId, runId, reason: terminationReason });
  }
  return hasPendingWork(agent) && !callWaits ? finishing : completeRequest(finishing, run, terminationReason);
}

/** Closes calls that are not running with a result that says so. */
function closeWaitingCalls(step: Step, before: Run, waiting: readonly OpenCall[]): Step {
  const results = waiting.map((open) => {
    if (open.status === "asleep") return resultEntry(before, open, NOT_AWAKE);
    const mayHaveRun = ["open", "started", "asked", "answered", "delegated"].includes(open.status);
    return resultEntry(before, open, mayHaveRun ? NOT_ANSWERED : NOT_RUN);
  });
  const closed = commitEntries(step, ...results);
  const run = closed.agent.state.run ?? before;
  const emitted = emitResults(closed, run);
  return hasOpenCalls(run) ? emitted : continueAfterTools(emitted, run);
}

type SignalOfType<Type extends Signal["type"]> = Extract<Signal, { type: Type }>;

/** Results that came together, in their order. */
function handleResults(agent: ReactAgent, { results }: SignalOfType<"results">): Step {
  return results.reduce((step, result) => {
    const next =
      result.type === "delegated" ? handleDelegated(step.agent, result) : handleToolResult(step.agent, result);
    return addDirectives({ ...next, directives: step.directives }, ...next.directives);
  }, unchanged(agent));
}

/** A call asks another agent. The ask is posted to the thread of the child in the append of the entry. */
function handleDelegated(agent: ReactAgent, { callId, toolCallId, child, workedMs }: SignalOfType<"delegated">): Step {
  const { run } = agent.state;
  if (run === undefined || callId !== run.callId) return unchanged(agent);
  const step = removeRunning(agent, toolCallId);
  const open = findOpenCall(run, toolCallId);
  if (open === undefined) return endIfIdle(step, run);
  if (isClosing(agent, run)) return closeUnrun(step, run, open);
  const { threadId, requestId, agent: name, ask } = child;
  const next = commitEntries(step, delegatedEntry(run, open.call, { threadId, requestId, agent: name }, workedMs));
  const command = { ...ask, id: requestId, type: "ask", agent: name };
  return addDirectives(next, { type: "send", threadId, agent: name, command });
}

/** The request of a child has ended: its answer is the result of the call. A call that is closed does not take it. */
function handleChildEnded(
  agent: ReactAgent,
  { id, callId, toolCallId, outcome, usage, usageByModel }: SignalOfType<"child_ended">,
): Step {
  const { run } = agent.state;
  const open = run?.callId === callId ? findOpenCall(run, toolCallId) : undefined;
  if (run === undefined || open?.status !== "delegated" || open.child === undefined) {
    return addDirectives(unchanged(agent), { type: "settle", id, end: { status: "dropped", reason: "closed" } });
  }
  const { threadId, requestId } = open.child;
  const entry = resultEntry(run, open, outcome);
  const child = { threadId, requestId, usage, usageByModel } as JsonObject; // counts of tokens are JSON
  const next = commitEntries(unchanged(agent), {
    ...entry,
    id: commandEntryId(id),
    payload: { ...entry.payload, child },
  });
  const end = { status: "delivered", seq: next.agent.thread.lastSeq } as const;
  return continueAfterResult(addDirectives(next, { type: "settle", id, end }), run);
}

/** Children whose call was closed without their answer: their requests are cancelled, in the append that closes the call. */
function cancelledChildren({ state: { run } }: ReactAgent, step: Step, signal: Signal): Step {
  if (run === undefined) return step;
  const after = step.agent.state.run;
  const answered = signal.type === "child_ended" ? signal.toolCallId : undefined;
  const isOpen = (toolCallId: string): boolean =>
    after?.callId === run.callId && after !== undefined && findOpenCall(after, toolCallId)?.status === "delegated";
  const left = openCalls(run).flatMap(({ call, child }) => {
    return child === undefined || call.id === answered || isOpen(call.id) ? [] : [child];
  });
  return addDirectives(
    step,
    ...left.map(({ threadId, requestId, agent }): Directive => {
      const command = { id: cancelRow(requestId), type: "child_cancel", requestId };
      return { type: "send", threadId, agent, command };
    }),
  );
}
