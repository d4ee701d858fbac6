import type { PermissionRule } from "../../lanes/setting.ts";
import { ProjectionError } from "../../projection/error.ts";
import { HeddleError, ignoreRejection } from "../../thread/errors.ts";
import { type JsonValue, sameJson } from "../../thread/json.ts";
import { lazyField } from "../../thread/lazy-field.ts";
import { authorName, type ToolCall, withAuthorName } from "../../thread/message.ts";
import type { CompletedExchange, RequestStep } from "../definition/stop-when.ts";
import type { Directive, ToolExec } from "../directive.ts";
import type { EventData } from "../event.ts";
import type { CallWork, Failure, Signal, ToolOutcome } from "../signal.ts";
import {
  addDirectives,
  commitEntries,
  emitEvent,
  hasPendingWork,
  isGuarded,
  type ReactAgent,
  type Step,
  takesAnswer,
  unchanged,
  updateFlight,
} from "./agent.ts";
import { contextForCall } from "./call-context.ts";
import {
  approvalRequestedEntry,
  approvalResolvedEntry,
  type Decision,
  questionAnsweredEntry,
  questionAskedEntry,
  resultEntry,
  sleepStartedEntry,
  toolStartedEntry,
  withRefs,
} from "./entries.ts";
import {
  committedOutcome,
  completeRequest,
  emitInterrupted,
  emitResults,
  endRequest,
  errorOutcome,
  failRequest,
  NOT_RUN,
  outcomeAtEnd,
  skippedOutcome,
  WAITED_FOR_ANSWER,
  waitedFor,
} from "./finish.ts";
import { startNextCall } from "./next-call.ts";
import { ruledCalls, ruleEntries, ruleFor } from "./permission-rules.ts";
import { hasOpenCalls, type OpenCall, openCalls, type Run } from "./state.ts";
import { skipsCalls } from "./steering.ts";
import { stepsOf } from "./steps.ts";
import { scheduleWorkLimit } from "./time-limit.ts";

type SignalOfType<Type extends Signal["type"]> = Extract<Signal, { type: Type }>;

/** Commits a tool's result at once. Events are emitted in the order of the calls. */
export function handleToolResult(
  agent: ReactAgent,
  { callId, toolCallId, outcome, isGone, ...work }: SignalOfType<"tool_result">,
): Step {
  const { run } = agent.state;
  if (run === undefined || callId !== run.callId) return unchanged(agent);
  const step = removeRunning(agent, toolCallId);
  const open = findOpenCall(run, toolCallId);
  if (open === undefined) return endIfIdle(step, run); // another writer has already answered it
  const entry = resultEntry(run, open, isSecondHandoff(run, outcome) ? HANDED_ON : outcome, work);
  const next = commitEntries(step, entry);
  return continueAfterResult(isGone ? emitInterrupted(next, run, open) : next, run);
}

const HANDED_ON = errorOutcome("skipped", "The call has no effect: another call has handed the conversation over.");

/** The first handoff of an exchange counts. */
function isSecondHandoff({ handedTo, callId }: Run, { handoff }: ToolOutcome): boolean {
  return handoff !== undefined && handedTo?.callId === callId;
}

/** Commits an outside answer to a call that is not running here. */
export function handleOutsideAnswer(
  agent: ReactAgent,
  { toolCallId, requestId, outcome, by, refs }: SignalOfType<"answer">,
): Step {
  const { run, open } = waitingCall(agent, toolCallId, requestId);
  if (run === undefined || open === undefined || !takesAnswer(agent, open)) return unchanged(agent);
  const entry = resultEntry(withRefs(run, refs), open, outcome, { by });
  return continueAfterResult(commitEntries(unchanged(agent), entry), run);
}

/** Continues after a committed result: waits for other open calls, or calls the model. */
export function continueAfterResult(step: Step, before: Run): Step {
  const run = step.agent.state.run ?? before;
  const emitted = emitResults(step, run);
  return hasOpenCalls(run) ? endIfIdle(emitted, run) : continueAfterTools(emitted, run);
}

/** Continues when every call has its result: with the next model call, or with the end. */
export function continueAfterTools(step: Step, run: Run): Step {
  const { flight } = step.agent;
  if (flight.ending !== undefined) return endRequest(step, run, flight.ending);
  return flight.isPhased ? updateFlight(step, { next: "after_tools" }) : callOrEnd(step, run);
}

/** Calls the model again, or ends the request. It runs `stopWhen`, so the tool results should be durable before. */
export function callOrEnd(step: Step, run: Run): Step {
  const { settings, flight } = step.agent;
  const { requestId, runId, iteration, options, usage, usageByModel } = run;
  const marked = addDirectives(step, { type: "checkpoint", requestId, runId, iteration, reason: "after_tools" });
  if (flight.finishing !== undefined) return completeRequest(marked, run, flight.finishing);
  if (settings.isSpent?.(usage, usageByModel, options.limits)) return completeRequest(marked, run, "limit");
  if (repeatsCalls(marked.agent, run)) return completeRequest(marked, run, "loop_detected");
  const stops = wantsToStop(marked.agent, run);
  if (typeof stops === "object") return failRequest(marked, run, stops);
  if (stops) return completeRequest(marked, run, "stopped");
  const isHandedOver = run.handedTo !== undefined && run.handedTo.agent !== settings.name;
  if (settings.isChecked !== true && !isHandedOver) return callUnlessLast(marked, run);
  return addDirectives(updateFlight(marked, { isChecking: true }), { type: "check", requestId, runId });
}

function callUnlessLast(step: Step, run: Run): Step {
  const { settings } = step.agent;
  const isLast = run.iteration >= (run.options.maxIterations ?? settings.maxIterations);
  return isLast ? completeRequest(step, run, "max_iterations") : startNextCall(step, run);
}

/** The runtime has checked the exchange. A cancel or a finish that came meanwhile is first. */
export function handleChecked(agent: ReactAgent, { verdict }: SignalOfType<"checked">): Step {
  const { run } = agent.state;
  const { isChecking, ending, finishing } = agent.flight;
  if (run === undefined || !isChecking) return unchanged(agent);
  const step = updateFlight(unchanged(agent), { isChecking: false });
  if (ending !== undefined) return endRequest(step, run, ending);
  if (finishing !== undefined) return completeRequest(step, run, finishing);
  if (typeof verdict === "object") return failRequest(step, run, verdict);
  if (verdict !== "continue") return completeRequest(step, run, verdict);
  const isOther = run.handedTo !== undefined && run.handedTo.callId === run.callId;
  return callUnlessLast(isOther ? scheduleWorkLimit(step, run) : step, run);
}

/** Whether a call of the last answer was made as often in this request as the limit says, with equal arguments. */
function repeatsCalls({ settings: { repeatedCalls }, thread }: ReactAgent, { requestId, calls }: Run): boolean {
  if (repeatedCalls === undefined) return false;
  const made = thread.filterByRef("requestId", requestId, { partial: true }).flatMap(({ kind, payload }) => {
    const list = kind === "ai_message" && "toolCalls" in payload ? payload["toolCalls"] : [];
    return (list ?? []) as readonly ToolCall[]; // the agent wrote this entry
  });
  return calls.some(({ call }) => {
    const isSame = (other: ToolCall) => other.name === call.name && sameJson(other.arguments, call.arguments);
    return made.filter(isSame).length >= repeatedCalls;
  });
}

/** Whether `stopWhen` ends the run after this exchange. Returns a failure when a condition throws or is not synchronous. */
function wantsToStop(agent: ReactAgent, run: Run): boolean | Failure {
  const { stopWhen = [] } = agent.settings;
  const conditions = typeof stopWhen === "function" ? [stopWhen] : stopWhen;
  if (conditions.length === 0) return false;
  const exchange = exchangeOf(agent, run);
  try {
    for (const condition of conditions) {
      const verdict: unknown = condition(exchange);
      if (verdict === true) return true;
      if (isThenable(verdict)) return stopFailure("returned a promise; conditions must be synchronous");
      if (verdict !== false) return stopFailure("did not return true or false");
    }
    return false;
  } catch {
    return stopFailure("threw an error");
  }
}

function isThenable(value: unknown): boolean {
  ignoreRejection(value);
  return typeof value === "object" && value !== null && "then" in value;
}

/** The argument of conditions. Its steps are built once, and only when a condition reads them. */
export function exchangeOf(agent: ReactAgent, run: Run): CompletedExchange {
  const { iteration, text, usage, usageByModel } = run;
  const toolCalls = run.calls.map(({ call }) => call);
  const results = toolCalls.map(({ id, name }) => ({ toolCallId: id, name, ...committedOutcome(agent, run, id) }));
  let steps: RequestStep[] | undefined;
  const exchange = { iteration, text, toolCalls, results, usage, usageByModel };
  return lazyField(exchange, "steps", () => (steps ??= stepsOf(agent, run)));
}

export function stopFailure(what: string): Failure {
  return { code: "stop_when_failed", message: `The agent's stopWhen ${what}. The results so far are kept.` };
}

/** Ends a run that is ending once nothing is running. Does not wait for approvals or outside answers. */
export function endIfIdle(step: Step, run: Run): Step {
  const { ending } = step.agent.flight;
  return ending === undefined || hasPendingWork(step.agent) ? step : endRequest(step, run, ending);
}

/** A call needs approval. The request waits for it, also across a restart. */
export function handleApprovalNeeded(
  agent: ReactAgent,
  { callId, toolCallId, guard, workedMs }: SignalOfType<"approval_needed">,
): Step {
  const { run } = agent.state;
  if (run === undefined || callId !== run.callId) return unchanged(agent);
  const step = removeRunning(agent, toolCallId);
  const open = findOpenCall(run, toolCallId);
  if (open?.status !== "open") return endIfIdle(step, run);
  if (isClosing(agent, run)) return closeUnrun(step, run, open);
  const { call } = open;
  const rule = ruleFor(agent, { ...call, guard });
  if (rule !== undefined) return settleByRule(step, run, open, rule, workedMs);
  const limit = agent.settings.traits[call.name]?.approval ?? agent.settings.approval;
  const { timeoutMs = 0, onTimeout = "deny" } = limit ?? {};
  const deadline = limit && { deadline: agent.ports.clock() + timeoutMs, onTimeout };
  const more = { ...deadline, ...(guard && { guard }) };
  const next = commitEntries(step, approvalRequestedEntry(run, call, more, workedMs));
  return awaitCall(next, run, { ...open, ...deadline }, "approval");
}

/** Whether the approval of a call may still be decided, or a call still sleeps. */
export function isInTime({ deadline = Number.POSITIVE_INFINITY }: OpenCall, now: number): boolean {
  return now < deadline;
}

/** A call needs an outside answer. */
export function handleAnswerNeeded(agent: ReactAgent, { callId, toolCallId }: SignalOfType<"answer_needed">): Step {
  const { run } = agent.state;
  if (run === undefined || callId !== run.callId) return unchanged(agent);
  const step = removeRunning(agent, toolCallId);
  const open = findOpenCall(run, toolCallId);
  if (open?.status !== "open" && open?.status !== "started") return endIfIdle(step, run);
  if (isClosing(agent, run)) return closeUnrun(step, run, open);
  // Records that the guard allowed the call, because after a crash this would be unknown.
  const isToBeNoted = open.status === "open" && isGuarded(agent.settings, open.call.name);
  const noted = isToBeNoted ? commitEntries(step, toolStartedEntry(run, toolCallId, open.call.name)) : step;
  return awaitCall(noted, run, open, "answer");
}

/** A tool has suspended its call with a question. The request waits for the answer, also across a restart. */
export function handleQuestion(
  agent: ReactAgent,
  { callId, toolCallId, question, ...work }: SignalOfType<"question_asked">,
): Step {
  const { run } = agent.state;
  if (run === undefined || callId !== run.callId) return unchanged(agent);
  const step = removeRunning(agent, toolCallId);
  const open = findOpenCall(run, toolCallId);
  if (open === undefined) return endIfIdle(step, run);
  if (isClosing(agent, run)) return closeUnrun(step, run, open, WAITED_FOR_ANSWER, work);
  const next = commitEntries(step, questionAskedEntry(run, open.call, question, work));
  const after = next.agent.state.run ?? run;
  return awaitCall(next, after, findOpenCall(after, toolCallId) ?? open, "answer");
}

/** A tool lets its call sleep until a time. The request waits for it, also across a restart. */
export function handleSleep(
  agent: ReactAgent,
  { callId, toolCallId, until, outcome, ...work }: SignalOfType<"sleep_started">,
): Step {
  const { run } = agent.state;
  if (run === undefined || callId !== run.callId) return unchanged(agent);
  const step = removeRunning(agent, toolCallId);
  const open = findOpenCall(run, toolCallId);
  if (open === undefined) return endIfIdle(step, run);
  if (isClosing(agent, run)) return closeUnrun(step, run, open, waitedFor({ status: "asleep" }), work);
  return commitEntries(step, sleepStartedEntry(run, open.call, { until, ...outcome }, work));
}

/** Commits the answer to a question, and resumes the call. */
export function handleQuestionAnswer(
  agent: ReactAgent,
  { toolCallId, requestId, answer, by, refs }: SignalOfType<"answer_question">,
): Step {
  const { run, open } = waitingCall(agent, toolCallId, requestId);
  if (run === undefined || open?.status !== "asked" || agent.flight.ending !== undefined) return unchanged(agent);
  const entry = questionAnsweredEntry(withRefs(run, refs), toolCallId, {
    answer,
    ...(by !== undefined && { by }),
    started: true,
  });
  return executeCall(commitEntries(unchanged(agent), entry), run, open, true);
}

/** Whether no call may start to wait. */
export function isClosing(agent: ReactAgent, run: Run): boolean {
  const { ending, finishing } = agent.flight;
  return ending !== undefined || finishing !== undefined || skipsCalls(agent, run);
}

function awaitCall(step: Step, run: Run, { call, deadline, question }: OpenCall, what: "approval" | "answer"): Step {
  const { requestId, runId, callId = "" } = run;
  const emitted = emitEvent(step, run, {
    kind: what === "approval" ? "approval_requested" : "answer_requested",
    callId,
    toolCallId: call.id,
    toolName: call.name,
    data: { arguments: call.arguments, ...(deadline !== undefined && { deadline }), ...(question && { question }) },
  });
  return addDirectives(emitted, awaitDirective({ requestId, runId, callId, call }, what, question));
}

export function awaitDirective(
  ids: Omit<Extract<Directive, { type: "await_approval" }>, "type">,
  what: "approval" | "answer",
  question: OpenCall["question"],
): Directive {
  if (what === "approval") return { type: "await_approval", ...ids };
  return { type: "await_answer", ...ids, ...(question && { question }) };
}

/** Closes a call that was not started, or waits, because the run is ending or a steer skips it. */
export function closeUnrun(step: Step, run: Run, open: OpenCall, why = "the call did not run", work?: CallWork): Step {
  const { ending, finishing } = step.agent.flight;
  const atEnd = ending === undefined ? NOT_RUN : outcomeAtEnd(ending, why);
  const outcome = ending === undefined && finishing === undefined ? skippedOutcome(why) : atEnd;
  return continueAfterResult(commitEntries(step, resultEntry(run, open, outcome, work)), run);
}

/** Closes the calls that a steer skips: those that wait, and those in the queue of the tools. */
export function handleSkip(agent: ReactAgent, { begun }: SignalOfType<"skip">): Step {
  const { run } = agent.state;
  const { runId, running, ending } = agent.flight;
  if (run === undefined || runId !== run.runId || ending !== undefined || !skipsCalls(agent, run)) {
    return unchanged(agent);
  }
  const isQueued = ({ call: { id } }: OpenCall): boolean => running.includes(id);
  const skipped = openCalls(run).filter((open) => {
    if (isQueued(open)) return begun?.includes(open.call.id) === false;
    return open.status !== "denied" && open.status !== "answered"; // these resume with their decision
  });
  if (skipped.length === 0) return unchanged(agent);
  const results = skipped.map((open) => {
    const hasNotRun = isQueued(open) || open.status === "approval_requested" || open.status === "approved";
    return resultEntry(run, open, skippedOutcome(hasNotRun ? undefined : (waitedFor(open) ?? WAITED_FOR_ANSWER)));
  });
  const left = running.filter((id) => !skipped.some(({ call }) => call.id === id));
  return continueAfterResult(commitEntries(updateFlight(unchanged(agent), { running: left }), ...results), run);
}

/** Commits a decision. An approved call runs at once; a denied call gets a result that says so. */
export function handleDecision(agent: ReactAgent, signal: SignalOfType<"approve" | "deny">): Step {
  const { type, toolCallId, requestId, by, reason, author, editedArguments, remember, refs } = signal;
  const { run, open } = waitingCall(agent, toolCallId, requestId);
  const isLate = open !== undefined && !isInTime(open, agent.ports.clock());
  if (run === undefined || open?.status !== "approval_requested" || isLate || agent.flight.ending !== undefined) {
    return unchanged(agent);
  }
  if (type === "approve" && editedArguments !== undefined) checkEditedFits(agent, run, open, editedArguments);
  const decision = {
    approved: type === "approve",
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
    ...(author !== undefined && { author }),
  };
  const isEdited = decision.approved && editedArguments !== undefined;
  const written: Decision = {
    ...decision,
    ...(isEdited && { editedArguments }),
    ...(decision.approved && { started: true }),
  };
  const sent = withRefs(run, refs);
  const first = commitEntries(unchanged(agent), approvalResolvedEntry(sent, toolCallId, written));
  const decided = findOpenCall(first.agent.state.run ?? run, toolCallId) ?? open;
  const rules = ruleEntries(first.agent, sent, decided.call, decision, remember);
  const next = commitEntries(first, ...rules);
  const data = { ...decision, ...(isEdited && { arguments: decided.call.arguments }) };
  const emitted = emitResolved(next, run, open.call, data);
  const settled = decision.approved ? executeCall(emitted, run, decided, true) : denyCall(emitted, run, open, decision);
  const others = remember === undefined ? [] : ruledCalls(settled.agent);
  return others.reduce((step, { open, rule }) => settleByRule(step, run, open, rule), settled);
}

/** Refuses edited arguments that no call could show, before the tool runs. */
export function checkEditedFits(agent: ReactAgent, run: Run, open: OpenCall, edited: JsonValue): void {
  const { call } = open;
  const shown = { call: { ...call, arguments: edited }, edited: true } as const;
  const closed = openCalls(run).map((one) => resultEntry(run, one === open ? shown : one, EMPTY));
  const { agent: after } = commitEntries(unchanged(agent), ...closed);
  try {
    contextForCall(after, after.state.run ?? run);
  } catch (error) {
    if (!HeddleError.isInstance(error)) return; // a function of the caller threw: the next call fails
    if (error.code !== "budget_overflow") throw error;
    const message = `The edited arguments of ${call.name} do not fit, so it has not run. ${error.message}`;
    throw new ProjectionError({ ...error, message });
  }
}

const EMPTY: ToolOutcome = { content: "", isError: false };

/** Commits the decision of a permission rule on a call that would wait. */
function settleByRule(
  step: Step,
  run: Run,
  open: OpenCall,
  { id: rule, verdict, reason = "a rule denies it." }: PermissionRule,
  workedMs?: number,
): Step {
  return resolveCall(step, run, open, { approved: verdict === "allow", rule }, { reason, workedMs });
}

/** Denies a call whose approval has not come in time. A call that slept gets its result. */
export function expireCall(step: Step, open: OpenCall): Step {
  const { run } = step.agent.state;
  if (run !== undefined && open.outcome !== undefined)
    return continueAfterResult(commitEntries(step, resultEntry(run, open, open.outcome)), run);
  const reason = "it was not approved in time.";
  return run === undefined ? step : resolveCall(step, run, open, { approved: false, expired: true }, { reason });
}

/** Commits a decision that no person has made, and acts on it. */
function resolveCall(
  step: Step,
  before: Run,
  open: OpenCall,
  decision: Pick<Decision, "approved" | "rule" | "expired">,
  { reason, workedMs }: { readonly reason: string; readonly workedMs?: number | undefined },
): Step {
  const run = step.agent.state.run ?? before;
  const { call } = open;
  const written: Decision = { ...decision, ...(decision.approved && { started: true }) };
  const next = commitEntries(step, approvalResolvedEntry(run, call.id, written, workedMs));
  const emitted = emitResolved(next, run, call, decision);
  return decision.approved ? executeCall(emitted, run, open, true) : denyCall(emitted, run, open, { reason });
}

function emitResolved(step: Step, run: Run, call: ToolCall, data: EventData["approval_resolved"]): Step {
  return emitEvent(step, run, {
    kind: "approval_resolved",
    ...(run.callId !== undefined && { callId: run.callId }),
    toolCallId: call.id,
    toolName: call.name,
    data,
  });
}

export function denyCall(
  step: Step,
  run: Run,
  open: OpenCall,
  { reason = "", author }: Pick<Decision, "reason" | "author">,
): Step {
  const name = authorName(author);
  const why = reason.trim() === "" ? "." : `: ${name === undefined ? reason : withAuthorName(name, reason)}`;
  const outcome = errorOutcome("denied", `The call was not approved and did not run${why}`);
  return continueAfterResult(commitEntries(step, resultEntry(run, open, outcome)), run);
}

export function executeCall(
  step: Step,
  run: Run,
  { call, edited }: OpenCall,
  approved: boolean,
  again: boolean = false,
): Step {
  return executeCalls(step, run, [call], { approved, ...(edited && { edited }), ...(again && { again }) });
}

/** Starts calls. Each counts as running until its result, approval request or answer request arrives. */
export function executeCalls(
  step: Step,
  run: Run,
  calls: readonly ToolCall[],
  how: Pick<ToolExec, "approved" | "edited" | "again"> = { approved: false },
): Step {
  const { requestId, runId, iteration, callId = "" } = run;
  const execs = calls.map((call): ToolExec => {
    const { question, answer } = findOpenCall(step.agent.state.run ?? run, call.id) ?? {};
    const answered = question && answer !== undefined && { answered: { question: question.value, answer } };
    return { type: "tool_exec", requestId, runId, callId, iteration, call, ...how, ...answered };
  });
  const running = [...step.agent.flight.running, ...calls.map(({ id }) => id)];
  return addDirectives(updateFlight(step, { running }), ...execs);
}

export function removeRunning(agent: ReactAgent, toolCallId: string): Step {
  const { running } = agent.flight;
  const index = running.indexOf(toolCallId);
  return index < 0 ? unchanged(agent) : updateFlight(unchanged(agent), { running: running.toSpliced(index, 1) });
}

function waitingCall(
  { state: { run }, flight: { running } }: ReactAgent,
  toolCallId: string,
  requestId = run?.requestId,
): { readonly run: Run | undefined; readonly open: OpenCall | undefined } {
  const isOf = run !== undefined && run.requestId === requestId && !running.includes(toolCallId);
  return { run, open: isOf ? findOpenCall(run, toolCallId) : undefined };
}

export function findOpenCall(run: Run, toolCallId: string): OpenCall | undefined {
  for (let index = run.firstOpen; index < run.calls.length; index++) {
    const open = run.calls[index];
    if (open?.call.id === toolCallId && open.status !== "done") return open;
  }
  return undefined;
}
