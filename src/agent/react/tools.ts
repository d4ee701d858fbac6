import type { ToolExec } from "../directive.ts";
import type { Signal } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import { isAtWork } from "./agent.ts";
import { approvalRequested, approvalResolved, type Decision, resultEntry, toolStarted } from "./entries.ts";
import { closedAtEnd, completed, ended, failed } from "./finish.ts";
import { nextCall } from "./next-call.ts";
import { closedBecause, NOT_RUN, tellResults } from "./results.ts";
import { type OpenCall, openCalls, type Run } from "./run.ts";
import { committed, doing, inFlight, type Step, stay, telling } from "./step.ts";
import { wantsToStop } from "./stop-when.ts";
import { isGuarded, takesAnswer } from "./waiting.ts";

type Of<Type extends Signal["type"]> = Extract<Signal, { type: Type }>;

/** Commits a tool's result at once. Events are emitted in the order of the calls. */
export function resulted(agent: ReactAgent, { callId, toolCallId, outcome, workedMs }: Of<"tool_result">): Step {
  const { run } = agent.state;
  if (run === undefined || callId !== run.callId) return stay(agent);
  const step = reported(agent, toolCallId);
  const open = find(run, toolCallId);
  if (open === undefined) return endIfIdle(step, run); // another writer has already answered it
  return afterResult(committed(step, resultEntry(run, toolCallId, open.call.name, outcome, workedMs)), run);
}

/** Commits an outside answer to a call that is not running here. */
export function answeredOutside(agent: ReactAgent, { toolCallId, outcome }: Of<"answer">): Step {
  const { run, open } = waitingCall(agent, toolCallId);
  if (run === undefined || open === undefined || !takesAnswer(agent, open)) return stay(agent);
  return afterResult(committed(stay(agent), resultEntry(run, toolCallId, open.call.name, outcome)), run);
}

/** Continues after a committed result: waits for other open calls, or calls the model. */
export function afterResult(step: Step, before: Run): Step {
  const run = step.agent.state.run ?? before;
  const told = tellResults(step, run);
  return openCalls(run).length > 0 ? endIfIdle(told, run) : afterTools(told, run);
}

/** Continues when every call has its result: with the next model call, or with the end. */
export function afterTools(step: Step, run: Run): Step {
  const { flight } = step.agent;
  if (flight.ending !== undefined) return ended(step, run, flight.ending);
  return flight.isPhased ? inFlight(step, { next: "after_tools" }) : callOrEnd(step, run);
}

/** Runs functions of the caller, so the results should be durable before. */
export function callOrEnd(step: Step, run: Run): Step {
  const { settings, flight } = step.agent;
  const { requestId, runId, iteration, options, usage, usageByModel } = run;
  const marked = doing(step, { type: "checkpoint", requestId, runId, iteration, reason: "after_tools" });
  if (flight.finishing !== undefined) return completed(marked, run, flight.finishing);
  if (settings.isSpent?.(usage, usageByModel)) return completed(marked, run, "limit");
  const stops = wantsToStop(marked.agent, run);
  if (typeof stops === "object") return failed(marked, run, stops);
  if (stops) return completed(marked, run, "stopped");
  const isLast = iteration >= (options.maxIterations ?? settings.maxIterations);
  return isLast ? completed(marked, run, "max_iterations") : nextCall(marked, run);
}

/** Ends a run that is ending once nothing is running. Does not wait for approvals or outside answers. */
export function endIfIdle(step: Step, run: Run): Step {
  const { ending } = step.agent.flight;
  return ending === undefined || isAtWork(step.agent) ? step : ended(step, run, ending);
}

/** A call needs approval. The request waits for it, also across a restart. */
export function approvalAsked(agent: ReactAgent, { callId, toolCallId, workedMs }: Of<"approval_needed">): Step {
  const { run } = agent.state;
  if (run === undefined || callId !== run.callId) return stay(agent);
  const step = reported(agent, toolCallId);
  const open = find(run, toolCallId);
  if (open?.status !== "open") return endIfIdle(step, run);
  if (isEnding(agent)) return notRun(step, run, open);
  const { call } = open;
  const next = committed(step, approvalRequested(run, toolCallId, call.name, workedMs));
  return awaiting(next, run, open, "approval");
}

/** A call needs an outside answer. */
export function answerAsked(agent: ReactAgent, { callId, toolCallId }: Of<"answer_needed">): Step {
  const { run } = agent.state;
  if (run === undefined || callId !== run.callId) return stay(agent);
  const step = reported(agent, toolCallId);
  const open = find(run, toolCallId);
  if (open?.status !== "open" && open?.status !== "started") return endIfIdle(step, run);
  if (isEnding(agent)) return notRun(step, run, open);
  // Records that the guard allowed the call, because after a crash this would be unknown.
  const isToBeNoted = open.status === "open" && isGuarded(agent.settings, open.call.name);
  const noted = isToBeNoted ? committed(step, toolStarted(run, toolCallId, open.call.name)) : step;
  return awaiting(noted, run, open, "answer");
}

function isEnding({ flight: { ending, finishing } }: ReactAgent): boolean {
  return ending !== undefined || finishing !== undefined;
}

function awaiting(step: Step, run: Run, { call }: OpenCall, what: "approval" | "answer"): Step {
  const { requestId, runId, callId = "" } = run;
  const told = telling(step, run, {
    kind: what === "approval" ? "approval_requested" : "answer_requested",
    callId,
    toolCallId: call.id,
    toolName: call.name,
    data: { arguments: call.arguments },
  });
  return doing(told, { type: `await_${what}`, requestId, runId, callId, call });
}

/** Closes a call that was not started, because the run is ending. */
function notRun(step: Step, run: Run, { call }: OpenCall): Step {
  const { ending } = step.agent.flight;
  const outcome = ending === undefined ? NOT_RUN : closedAtEnd(ending, "the call did not run");
  return afterResult(committed(step, resultEntry(run, call.id, call.name, outcome)), run);
}

/** Commits a decision. An approved call runs at once; a denied call gets a result that says so. */
export function decided(agent: ReactAgent, { type, toolCallId, by, note }: Of<"approve" | "deny">): Step {
  const { run, open } = waitingCall(agent, toolCallId);
  if (run === undefined || open?.status !== "approval_requested" || agent.flight.ending !== undefined) {
    return stay(agent);
  }
  const decision = {
    approved: type === "approve",
    ...(by !== undefined && { by }),
    ...(note !== undefined && { note }),
  };
  const written: Decision = { ...decision, ...(decision.approved && { started: true }) };
  const next = committed(stay(agent), approvalResolved(run, toolCallId, written));
  const told = telling(next, run, {
    kind: "approval_resolved",
    ...(run.callId !== undefined && { callId: run.callId }),
    toolCallId,
    toolName: open.call.name,
    data: decision,
  });
  return decision.approved ? executing(told, run, open, true) : denied(told, run, open, note);
}

export function denied(step: Step, run: Run, { call }: OpenCall, note: string | undefined): Step {
  const why = note === undefined || note.trim() === "" ? "." : `: ${note}`;
  const outcome = closedBecause("denied", `The call was not approved and did not run${why}`);
  return afterResult(committed(step, resultEntry(run, call.id, call.name, outcome)), run);
}

/** Starts a call. It counts as running until its result, approval request or answer request arrives. */
export function executing(step: Step, run: Run, { call }: Pick<OpenCall, "call">, approved: boolean): Step {
  const { requestId, runId, iteration, callId = "" } = run;
  const exec: ToolExec = { type: "tool_exec", requestId, runId, callId, iteration, call, approved };
  return doing(inFlight(step, { running: [...step.agent.flight.running, call.id] }), exec);
}

function reported(agent: ReactAgent, toolCallId: string): Step {
  const { running } = agent.flight;
  const index = running.indexOf(toolCallId);
  return index < 0 ? stay(agent) : inFlight(stay(agent), { running: running.toSpliced(index, 1) });
}

function waitingCall(
  { state: { run }, flight: { running } }: ReactAgent,
  toolCallId: string,
): { readonly run: Run | undefined; readonly open: OpenCall | undefined } {
  return { run, open: run === undefined || running.includes(toolCallId) ? undefined : find(run, toolCallId) };
}

function find(run: Run, toolCallId: string): OpenCall | undefined {
  return run.calls.find(({ call, status }) => call.id === toolCallId && status !== "done");
}
