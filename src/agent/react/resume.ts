import type { JsonObject } from "../../thread/json.ts";
import type { EventData } from "../event.ts";
import type { Failure, Signal } from "../signal.ts";
import {
  addDirectives,
  commitEntries,
  emitEvent,
  endedRun,
  hadPendingWork,
  hasPendingWork,
  isGuarded,
  NOTHING_IN_FLIGHT,
  type ReactAgent,
  type Step,
  unchanged,
  updateFlight,
} from "./agent.ts";
import { attemptEntry, resultEntry, toolStartedEntry } from "./entries.ts";
import {
  completeRequest,
  emitInterrupted,
  emitResults,
  failRequest,
  finishRun,
  interruptedOutcome,
  WAITED_FOR_ANSWER,
  waitedFor,
} from "./finish.ts";
import { noticeSummary, startNextCall } from "./next-call.ts";
import { type ChildThread, hasOpenCalls, type OpenCall, openCalls, type Run } from "./state.ts";
import { skipsCalls } from "./steering.ts";
import { deadlineFailure, scheduleTimeLimit, timeLimitFailure } from "./time-limit.ts";
import {
  awaitDirective,
  closeUnrun,
  continueAfterResult,
  continueAfterTools,
  denyCall,
  endIfIdle,
  executeCall,
} from "./tools.ts";

/** Resumes the open run in the log, or closes it. Does nothing when this process already runs it. */
export function handleResume(
  agent: ReactAgent,
  {
    recover = "resume",
    systemPrompt,
    untouched = false,
    continued = false,
    failure,
  }: Extract<Signal, { type: "resume" }>,
): Step {
  const { run } = agent.state;
  const { flight } = agent;
  const isActive = flight.call !== undefined || flight.summary !== undefined || flight.isChecking;
  if (run === undefined || flight.runId === run.runId || isActive) return unchanged(agent);
  const taken = updateFlight(unchanged(agent), { runId: run.runId, systemPrompt, emittedResults: run.firstOpen });
  const failed = failure ?? deadlineFailure(agent, run.options);
  if (failed !== undefined) return failRequest(taken, run, failed);
  const hadWork = hadPendingWork(agent, run) && !untouched && run.spoken === undefined;
  const isInterrupted = hadWork && !continued && run.handedOver === undefined;
  if (isInterrupted && recover === "fail") return failRequest(taken, run, REQUEST_INTERRUPTED);
  const attempt = run.attempt + (isInterrupted ? 1 : 0);
  const spent = hadWork ? (timeLimitFailure(agent, run) ?? attemptsFailure(agent, run, attempt)) : undefined;
  if (spent !== undefined) return failRequest(taken, run, spent);
  const isCounted = isInterrupted && agent.settings.maxAttempts !== undefined;
  // Write a note, so that a crash from here on counts as an interruption even if nothing else is written before it. The
  // calls that a stopped server lists are those of its own end, so a run that only waits takes the list back too.
  const isTaken = run.isAnsweredElsewhere && !hasOpenCalls(run) && !untouched;
  const isNoted = isCounted || isTaken || run.handedOver !== undefined;
  const step = scheduleTimeLimit(isNoted ? commitEntries(taken, attemptEntry(run, attempt)) : taken, run);
  if (hasOpenCalls(run)) {
    return openCalls(run).reduce(
      (before, call) => resumeCall(before, call, { untouched, begun: run.handedOver?.includes(call.call.id) }),
      step,
    );
  }
  if (run.calls.length > 0 || run.finishReason === "paused") return continueAfterTools(step, run);
  // The answer is complete but has no end. This happens in a fork, or in a log from another writer.
  if (run.spoken === "whole") return completeRequest(step, run, "final_answer");
  return run.spoken === "partial" ? failRequest(step, run, REQUEST_INTERRUPTED) : startNextCall(step, run);
}

export const REQUEST_INTERRUPTED: Failure = {
  code: "request_interrupted",
  message: "The process ended while the request was running. Ask again.",
};

/** Limits the attempts, so that a request that crashes its process, or a call that each stop cuts, is not repeated forever. */
function attemptsFailure(agent: ReactAgent, run: Run, attempt: number): Failure | undefined {
  const { maxAttempts = Number.POSITIVE_INFINITY } = agent.settings;
  const isCut = run.handedOver !== undefined && cutsOf(agent, run) >= maxAttempts;
  if (attempt <= maxAttempts && !isCut) return undefined;
  const what = isCut
    ? `A stop of the process cut a model call ${maxAttempts} times. Give it more time`
    : `The process ended in each of ${maxAttempts} attempts of the request. See what ends it`;
  return { code: "attempts_exhausted", message: `${what}, or raise maxAttempts, and ask again.` };
}

/** How often stops have cut the call that is next. Each answer is progress. */
function cutsOf({ thread }: ReactAgent, { requestId }: Run): number {
  const entries = thread.filterByRef("requestId", requestId, { partial: true });
  const payloads = entries.map(({ payload }) => payload as JsonObject); // payloads are JSON
  const from = payloads.findLastIndex(({ role }) => role === "assistant") + 1;
  return payloads.slice(from).filter(({ handedOver }) => Object(handedOver).cut === true).length;
}

/** Other writers have appended entries: performs their decisions and uses their answers. */
export function handleNotice(agent: ReactAgent): Step {
  const { run } = agent.state;
  const { flight } = agent;
  if (flight.runId === undefined) return unchanged(agent);
  if (run?.runId !== flight.runId) return emitForeignEnd(agent, flight.runId);
  if (flight.summary !== undefined) return noticeSummary(agent);
  const isActive = flight.call !== undefined || flight.isChecking;
  if (isActive || run.calls.length === 0) return unchanged(agent);
  const step = emitResults(unchanged(agent), run);
  if (!hasOpenCalls(run)) return continueAfterTools(step, run);
  if (flight.ending !== undefined) return endIfIdle(step, run);
  return openCalls(run)
    .filter(({ status }) => status === "approved" || status === "denied" || status === "answered")
    .reduce((before, call) => resumeCall(before, call, {}), step);
}

/** Another writer has ended the run. Emits its end in this process. */
function emitForeignEnd(agent: ReactAgent, runId: string): Step {
  const last = endedRun(agent, runId);
  if (last === undefined) return updateFlight(unchanged(agent), NOTHING_IN_FLIGHT);
  const { run, end } = last;
  const abort = { type: "abort", requestId: run.requestId, runId, reason: "The request was ended elsewhere." } as const;
  return finishRun(hasPendingWork(agent) ? addDirectives(unchanged(agent), abort) : unchanged(agent), run, end);
}

interface ResumeFacts {
  /** Nothing has happened since the last entry. */
  readonly untouched?: boolean;
  /** Whether a stopped server lists the call as started. Any other call has not run, even if it was approved. Absent: unknown. */
  readonly begun?: boolean | undefined;
}

/** Resumes one open call. A call that may have run is run again only if its tool is repeatable. */
function resumeCall(step: Step, open: OpenCall, { untouched = false, begun }: ResumeFacts): Step {
  const { run } = step.agent.state;
  const { call, status } = open;
  if (run === undefined || step.agent.flight.running.includes(call.id)) return step;
  const { requestId, runId, callId = "" } = run;
  const { settings } = step.agent;
  const traits = settings.traits[call.name];
  const notBegun = begun === false;
  // A call that had begun may be one of a tool that needs an approval only since.
  const asksFirst = !begun && (traits?.needsApproval || (traits?.client && isGuarded(settings, call.name)));
  if (skipsCalls(step.agent, run)) {
    const isUndecided = status === "approval_requested" || status === "approved";
    const isOpen = status === "open" || status === "started";
    const hasNotRun = isUndecided || (isOpen && notBegun) || (status === "open" && (untouched || asksFirst));
    const waits = ["asked", "asleep", "delegated"].includes(status) || (isOpen && traits?.client);
    const what = hasNotRun ? undefined : (waitedFor(open) ?? WAITED_FOR_ANSWER);
    if (hasNotRun || waits) return closeUnrun(step, run, open, what);
  }
  switch (status) {
    case "approval_requested":
      return addDirectives(step, { type: "await_approval", requestId, runId, callId, call });
    case "approved":
      return executeCall(
        emitDecision(commitEntries(step, toolStartedEntry(run, call.id, call.name)), run, open),
        run,
        open,
        true,
      );
    case "asked":
      return addDirectives(step, awaitDirective({ requestId, runId, callId, call }, "answer", open.question));
    case "asleep": // `expire` comes at its time
      return step;
    case "delegated": // the child may have to be started
      return open.child === undefined ? step : addDirectives(step, { type: "send", ...startOf(open.child) });
    case "answered":
      return executeCall(commitEntries(step, toolStartedEntry(run, call.id, call.name)), run, open, true);
    case "denied":
      return denyCall(emitDecision(step, run, open), run, open, decisionOn(step.agent, run, open));
    case "open":
      // If the tool needs approval, the approval was not requested yet, so the call must not be shown as waiting for an
      // answer.
      if (traits?.client && !asksFirst)
        return addDirectives(step, { type: "await_answer", requestId, runId, callId, call });
      // With `asksFirst`, the approval is still missing, so the call cannot have run.
      if (untouched || notBegun || asksFirst) return executeCall(step, run, open, false);
      if (traits?.repeatable) return executeCall(step, run, open, false, true);
      return closeInterrupted(step, run, open);
    case "started":
      if (traits?.client) return addDirectives(step, { type: "await_answer", requestId, runId, callId, call });
      if (notBegun) return executeCall(step, run, open, true);
      return traits?.repeatable ? executeCall(step, run, open, true, true) : closeInterrupted(step, run, open);
    case "done":
      return step;
    default:
      return status satisfies never;
  }
}

function startOf({ threadId, agent }: ChildThread): { readonly threadId: string; readonly agent: string } {
  return { threadId, agent };
}

/** Emits a decision that was made in another process. */
function emitDecision(step: Step, run: Run, open: OpenCall): Step {
  const { call } = open;
  return emitEvent(step, run, {
    kind: "approval_resolved",
    ...(run.callId !== undefined && { callId: run.callId }),
    toolCallId: call.id,
    toolName: call.name,
    data: decisionOn(step.agent, run, open),
  });
}

function decisionOn(
  { thread }: ReactAgent,
  { askSeq, callId }: Run,
  { call, status, edited }: OpenCall,
): EventData["approval_resolved"] {
  const entry = thread.filterByKind("approval_resolved", { partial: true }).findLast(({ seq, payload, refs }) => {
    return seq > askSeq && payload.toolCallId === call.id && (refs.callId ?? callId) === callId;
  });
  const { by, note, reason = note, author, rule, expired } = entry?.payload ?? {}; // `note` in logs of 0.1
  const said = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }), ...(author && { author }) };
  const how = {
    ...(edited && { arguments: call.arguments }),
    ...(rule !== undefined && { rule }),
    ...(expired && { expired }),
  };
  return { approved: status === "approved", ...said, ...how };
}

function closeInterrupted(step: Step, run: Run, open: OpenCall): Step {
  const isGone = step.agent.settings.traits[open.call.name] === undefined;
  const closed = commitEntries(step, resultEntry(run, open, interruptedOutcome(isGone ? open.answer : undefined)));
  return continueAfterResult(emitInterrupted(closed, run, open), run);
}
