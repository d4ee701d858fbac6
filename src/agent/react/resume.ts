import type { Failure } from "../failure.ts";
import type { Signal } from "../signal.ts";
import { AT_REST, isAtWork, type ReactAgent } from "./agent.ts";
import { attemptEntry, resultEntry, toolStarted } from "./entries.ts";
import { closing, completed, failed } from "./finish.ts";
import { nextCall } from "./next-call.ts";
import { closedBecause, tellResults } from "./results.ts";
import { type OpenCall, openCalls, type Run } from "./run.ts";
import { evolve, INITIAL } from "./state.ts";
import { committed, doing, inFlight, type Step, stay, telling } from "./step.ts";
import { limited, spentTime } from "./time-limit.ts";
import { afterResult, afterTools, denied, endIfIdle, executing } from "./tools.ts";
import { isGuarded, wasAtWork } from "./waiting.ts";

const INTERRUPTED = closedBecause(
  "interrupted",
  "The call was interrupted and its outcome is unknown: it may have run. Check before you call it again.",
);

/** Resumes the open run in the log, or closes it. Does nothing when this process already runs it. */
export function resumed(
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
  if (run === undefined || flight.runId === run.runId || flight.call !== undefined || flight.summary !== undefined) {
    return stay(agent);
  }
  const open = run.calls.findIndex(({ status }) => status !== "done");
  const told = open < 0 ? run.calls.length : open;
  const taken = inFlight(stay(agent), { runId: run.runId, systemPrompt, told });
  if (failure !== undefined) return failed(taken, run, failure);
  const hadWork = wasAtWork(agent, run) && !untouched && run.spoken === undefined;
  const isInterrupted = hadWork && !continued && run.handedOver === undefined;
  if (isInterrupted && recover === "fail") return failed(taken, run, REQUEST_INTERRUPTED);
  const attempt = run.attempt + (isInterrupted ? 1 : 0);
  const spent = hadWork ? (spentTime(agent, run) ?? spentAttempts(agent, attempt)) : undefined;
  if (spent !== undefined) return failed(taken, run, spent);
  const isCounted = isInterrupted && agent.settings.maxAttempts !== undefined;
  // From here on a crash interrupts it, also where nothing else is written before.
  const isTaken = run.isAnsweredElsewhere && openCalls(run).length === 0 && !untouched;
  const isNoted = isCounted || isTaken || (hadWork && run.handedOver !== undefined);
  const step = limited(isNoted ? committed(taken, attemptEntry(run, attempt)) : taken, run);
  if (openCalls(run).length > 0) {
    return openCalls(run).reduce(
      (before, call) => takeUp(before, call, { untouched, notBegun: hasNotBegun(run, call) }),
      step,
    );
  }
  if (run.calls.length > 0) return afterTools(step, run);
  // The answer is complete but has no end. This happens in a fork, or in a log from another writer.
  if (run.spoken === "whole") return completed(step, run, "final_answer");
  return run.spoken === "partial" ? failed(step, run, REQUEST_INTERRUPTED) : nextCall(step, run);
}

export const REQUEST_INTERRUPTED: Failure = {
  code: "request_interrupted",
  message: "The process ended while the request was running. Ask again.",
};

/** Limits the attempts, so that a request that crashes its process is not resumed forever. */
function spentAttempts({ settings: { maxAttempts } }: ReactAgent, attempt: number): Failure | undefined {
  if (maxAttempts === undefined || attempt <= maxAttempts) return undefined;
  const message = `The process ended in each of ${maxAttempts} attempts of the request. See what ends it, or raise maxAttempts, and ask again.`;
  return { code: "attempts_exhausted", message };
}

/** A stopped server lists the calls that it has started. Any other call has not run. */
function hasNotBegun({ handedOver }: Run, { call }: OpenCall): boolean {
  return handedOver !== undefined && !handedOver.includes(call.id);
}

/** Other writers have appended entries: performs their decisions and uses their answers. */
export function noticed(agent: ReactAgent): Step {
  const { run } = agent.state;
  const { flight } = agent;
  if (flight.runId === undefined) return stay(agent);
  if (run?.runId !== flight.runId) return endedByOthers(agent, flight.runId);
  if (flight.call !== undefined || flight.summary !== undefined || run.calls.length === 0) return stay(agent);
  const step = tellResults(stay(agent), run);
  if (openCalls(run).length === 0) return afterTools(step, run);
  if (flight.ending !== undefined) return endIfIdle(step, run);
  return openCalls(run)
    .filter(({ status }) => status === "approved" || status === "denied")
    .reduce((before, call) => takeUp(before, call, {}), step);
}

/** Another writer has ended the run. Emits its end in this process. */
function endedByOthers(agent: ReactAgent, runId: string): Step {
  const { last } = agent.thread.filterByRef("runId", runId).reduce(evolve, INITIAL);
  if (last === undefined) return inFlight(stay(agent), AT_REST);
  const { run, end } = last;
  const abort = { type: "abort", requestId: run.requestId, runId, reason: "The request was ended elsewhere." } as const;
  return closing(isAtWork(agent) ? doing(stay(agent), abort) : stay(agent), run, end);
}

interface Knowledge {
  /** Nothing has happened since the last entry. */
  readonly untouched?: boolean;
  /** The call has not started, even if it was approved. */
  readonly notBegun?: boolean;
}

/** Resumes one open call. A call that may have run is run again only if its tool is repeatable. */
function takeUp(step: Step, open: OpenCall, { untouched = false, notBegun = false }: Knowledge): Step {
  const { run } = step.agent.state;
  const { call, status } = open;
  if (run === undefined || step.agent.flight.running.includes(call.id)) return step;
  const { requestId, runId, callId = "" } = run;
  const { settings } = step.agent;
  const traits = settings.traits[call.name];
  const asksFirst = traits?.needsApproval || (traits?.client && isGuarded(settings, call.name));
  switch (status) {
    case "approval_requested":
      return doing(step, { type: "await_approval", requestId, runId, callId, call });
    case "approved":
      return executing(tellDecision(committed(step, toolStarted(run, call.id, call.name)), run, open), run, open, true);
    case "denied":
      return denied(tellDecision(step, run, open), run, open, decisionOn(step.agent, run, open).note);
    case "open":
      // A tool that asks first was not asked yet, so no caller has seen the call.
      if (traits?.client && !asksFirst) return doing(step, { type: "await_answer", requestId, runId, callId, call });
      // With `asksFirst`, the approval is still missing, so the call cannot have run.
      if (untouched || notBegun || asksFirst || traits?.repeatable) return executing(step, run, open, false);
      return closed(step, run, open);
    case "started":
      if (traits?.client) return doing(step, { type: "await_answer", requestId, runId, callId, call });
      return notBegun || traits?.repeatable ? executing(step, run, open, true) : closed(step, run, open);
    case "done":
      return step;
    default:
      return status satisfies never;
  }
}

/** Emits a decision that was made in another process. */
function tellDecision(step: Step, run: Run, open: OpenCall): Step {
  const { call } = open;
  return telling(step, run, {
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
  { call, status }: OpenCall,
): { readonly approved: boolean; readonly by?: string; readonly note?: string } {
  const entry = thread.filterByKind("approval_resolved").findLast(({ seq, payload, refs }) => {
    return seq > askSeq && payload.toolCallId === call.id && (refs.callId ?? callId) === callId;
  });
  const { by, note } = entry?.payload ?? {};
  return { approved: status === "approved", ...(by !== undefined && { by }), ...(note !== undefined && { note }) };
}

function closed(step: Step, run: Run, { call }: OpenCall): Step {
  return afterResult(committed(step, resultEntry(run, call.id, call.name, INTERRUPTED)), run);
}
