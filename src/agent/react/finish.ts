import { type AnswerCut, answerText, lastAnswer, spokenCharacters } from "../../lanes/answer-cut.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { ToolCall } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { Directive } from "../directive.ts";
import type { RequestUsage, TerminationReason } from "../event.ts";
import type { CallRecord } from "../model-call.ts";
import type { Failure, ParentCall, ToolOutcome } from "../signal.ts";
import {
  addDirectives,
  commitEntries,
  emitEvent,
  NOTHING_IN_FLIGHT,
  type PendingEnd,
  type ReactAgent,
  type Step,
  updateFlight,
} from "./agent.ts";
import { endEntry, resultEntry } from "./entries.ts";
import { applyDeferred } from "./operations.ts";
import { type OpenCall, openCalls, type RequestEnd, type Run } from "./state.ts";

/** Completes the request. Appends an end entry when the last answer does not carry the end. */
export function completeRequest(step: Step, run: Run, terminationReason: TerminationReason, object?: JsonValue): Step {
  const end = { status: "completed", terminationReason } as const;
  const hasEnd = step.agent.state.run === undefined;
  const over = hasEnd ? step : commitEntries(step, endEntry(run, end));
  return finishRun(over, over.agent.state.last?.run ?? run, end, object);
}

export function failRequest(step: Step, run: Run, failure: Failure, call?: { callId: string; call: CallRecord }): Step {
  return endRequest(step, run, { status: "failed", failure }, call);
}

/** Ends the request. Closes every open call with a result, because providers reject a call without one. */
export function endRequest(
  step: Step,
  run: Run,
  ending: PendingEnd,
  call?: { callId: string; call: CallRecord },
): Step {
  const open = openCalls(run);
  const results = open.map((one) => resultEntry(run, one, openCallOutcome(ending, one)));
  const closed = open.length === 0 ? step : commitEntries(step, ...results);
  const { traits } = step.agent.settings;
  const unknown = open.filter((one) => mayHaveRun(one) && !traits[one.call.name]?.client);
  const noted = unknown.reduce((before, one) => emitInterrupted(before, run, one), closed);
  const emitted = open.length === 0 ? step : emitResults(noted, closed.agent.state.run ?? run);
  const { spoken, ...end } = { spoken: undefined, ...ending };
  const cut = spoken === undefined ? undefined : cutToSpoken(emitted.agent.thread, run, spoken);
  const over = commitEntries(emitted, endEntry(run, end, { record: call, cut }));
  return finishRun(over, over.agent.state.last?.run ?? run, end);
}

/** The cut of the last answer of a run. None where the answer does not begin with these words. */
function cutToSpoken(thread: Thread, { requestId }: Run, spoken: string): AnswerCut | undefined {
  const answer = lastAnswer(thread, requestId);
  const characters = answer && spokenCharacters(answerText(answer), spoken);
  return answer === undefined || characters === undefined ? undefined : { seq: answer.seq, characters };
}

/** A call that was not started has not run. For any other open call the outcome is unknown. */
function openCallOutcome(ending: PendingEnd, open: OpenCall): ToolOutcome {
  const what = waitedFor(open) ?? (mayHaveRun(open) ? "the outcome of this call is unknown" : DID_NOT_RUN);
  return outcomeAtEnd(ending, what);
}

function mayHaveRun({ status }: OpenCall): boolean {
  return status === "open" || status === "started";
}

/** Emits at once that the outcome of a call is unknown. Its result waits for those of the calls before it. */
export function emitInterrupted(step: Step, run: Run, { call }: OpenCall): Step {
  return emitEvent(step, run, { kind: "tool_interrupted", ...namesOf(run, call), data: {} });
}

function namesOf({ callId }: Run, { id: toolCallId, name: toolName }: ToolCall) {
  return { ...(callId !== undefined && { callId }), toolCallId, toolName };
}

export function outcomeAtEnd({ status }: PendingEnd, what: string): ToolOutcome {
  return status === "cancelled"
    ? errorOutcome("cancelled", `The request was cancelled; ${what}.`)
    : errorOutcome("interrupted", `The request failed; ${what}.`);
}

/** The steps at every end of a run, in order: deferred commands, words that came too late, last token, terminal event. */
export function finishRun(step: Step, run: Run, end: RequestEnd, object?: JsonValue): Step {
  const { requestId, runId, iteration } = run;
  const isOver = step.agent.state.run === undefined; // another process may have started a new run
  const changed = isOver ? applyDeferred(step, run) : step;
  const { steers: waiting, deferred } = changed.agent.flight;
  // A message that was accepted at rest, and did not fit beside the ask, waits for the next one.
  const [bound, steers] = [waiting.filter((one) => one.requestId), waiting.filter((one) => !one.requestId)];
  const dropped = { status: "dropped", reason: REASONS[end.status] } as const;
  const left = addDirectives(
    { ...changed, agent: { ...changed.agent, flight: { ...NOTHING_IN_FLIGHT, steers, deferred } } },
    ...bound.map(({ id }) => ({ type: "settle", id, end: dropped }) as const),
    ...answerToParent(run, end),
    { type: "checkpoint", requestId, runId, iteration, reason: "terminal" },
  );
  return addDirectives(emitEnd(left, run, end, object), { type: "stop", requestId, runId, status: end.status });
}

/** The reasons for words that were not delivered. */
const REASONS = { completed: "closed", failed: "run_failed", cancelled: "cancelled" } as const;

function emitEnd(step: Step, run: Run, end: RequestEnd, object: JsonValue | undefined): Step {
  switch (end.status) {
    case "completed": {
      const { text, usage, usageByModel, finishReason } = run;
      const { terminationReason } = end;
      const ended = { terminationReason, ...(finishReason && { finishReason }) };
      const data = { text, ...ended, usage, usageByModel, ...(object !== undefined && { object }) };
      return emitEvent(step, run, { kind: "request_completed", data });
    }
    case "failed":
      return emitEvent(step, run, { kind: "request_failed", data: { failure: end.failure, ...usageOf(run) } });
    case "cancelled":
      return emitEvent(step, run, { kind: "request_cancelled", data: { reason: end.reason, ...usageOf(run) } });
    default:
      return end satisfies never;
  }
}

/** The usage of a run that ends. */
export function usageOf({ usage, usageByModel }: Run): RequestUsage {
  return { usage, usageByModel };
}

/** A synthetic error result, to close a call that has no result. `answer`: to the question of its tool. */
export function errorOutcome(
  type: string,
  message: string,
  answer?: JsonValue,
): { readonly content: string; readonly isError: true } {
  return { content: JSON.stringify({ error: { type, message, answer } }), isError: true };
}

const INTERRUPTED =
  "The call was interrupted and its outcome is unknown: it may have run. Check before you call it again.";

/** `answer`: without its tool, only the model can use the answer that the call got. */
export function interruptedOutcome(answer: JsonValue | undefined): ToolOutcome {
  return errorOutcome("interrupted", INTERRUPTED, answer);
}

/** The result of a call that had not run when the request was stopped. */
export const NOT_RUN = errorOutcome("stopped", "The request was stopped; the call did not run.");
export const NOT_ANSWERED = errorOutcome(
  "stopped",
  "The request was stopped before the call was answered; its outcome is unknown.",
);

/** The result of a call that slept when the request was stopped. */
export const NOT_AWAKE = errorOutcome("stopped", "The request was stopped before the time that the call waited for.");

const DID_NOT_RUN = "the call did not run";
export const WAITED_FOR_ANSWER = "the call waited for an answer";
const WAITED_FOR_TIME = "the call waited for its time, which had not come";

/** The reason for which a call waited that is closed before. Undefined for one that did not wait after it was called. */
export function waitedFor({ status }: Pick<OpenCall, "status">): string | undefined {
  if (status === "asleep") return WAITED_FOR_TIME;
  if (status === "delegated") return "the call waited for another agent";
  return status === "asked" || status === "answered" ? WAITED_FOR_ANSWER : undefined;
}

/** The result of a call that a steer skips. */
export function skippedOutcome(what: string = DID_NOT_RUN): ToolOutcome {
  return errorOutcome("skipped", `The user changed the plan; ${what}.`);
}

/** Emits `tool_completed` in the order of the calls. A result waits until all earlier calls have theirs. */
export function emitResults(step: Step, run: Run): Step {
  const { emittedResults } = step.agent.flight;
  const ready = run.calls.slice(emittedResults, run.firstOpen);
  const outcomes = ready.map(({ call }) => ({ call, outcome: committedOutcome(step.agent, run, call.id) }));
  const next = outcomes.reduce(
    (before, { call, outcome }) =>
      emitEvent(before, run, { kind: "tool_completed", ...namesOf(run, call), data: outcome }),
    step,
  );
  return updateFlight(next, { emittedResults: emittedResults + ready.length });
}

/** The committed result of a call. */
export function committedOutcome({ thread }: ReactAgent, { callId, askSeq }: Run, toolCallId: string): ToolOutcome {
  const entry = thread.filterByRef("toolCallId", toolCallId, { partial: true }).findLast(({ seq, payload, refs }) => {
    const isOfCall = refs.callId === undefined || refs.callId === callId;
    return seq > askSeq && isOfCall && "role" in payload && payload["role"] === "tool";
  });
  const { content, isError, partial, details } = (entry?.payload ?? {}) as Partial<ToolOutcome>; // the agent wrote this entry
  const more = { ...(partial && { partial }), ...(details !== undefined && { details }) };
  return { content: content ?? "", isError: isError === true, ...more };
}

/** The end of a child's request, for the thread that has asked it. Nothing for other requests. */
export function answerToParent(
  {
    requestId,
    options: { parent },
    text,
    usage,
    usageByModel,
  }: Pick<Run, "requestId" | "options" | "text" | "usage" | "usageByModel">,
  end: RequestEnd,
): readonly Extract<Directive, { type: "send" }>[] {
  if (parent === undefined) return [];
  const { threadId, callId, toolCallId }: ParentCall = parent;
  const more = { ...childOutcome(text, end), usage, usageByModel } as JsonObject; // all are JSON
  const command = { id: `answer_${requestId}`, type: "child_end", callId, toolCallId, ...more };
  return [{ type: "send", threadId, command }];
}

function childOutcome(text: string, end: RequestEnd): ToolOutcome {
  switch (end.status) {
    case "completed": {
      const { terminationReason } = end;
      const note = terminationReason === "final_answer" ? [] : [`[The agent ended early: ${terminationReason}.]`];
      return { content: [...(text === "" ? [] : [text]), ...note].join("\n"), isError: false };
    }
    case "failed":
      return errorOutcome(end.failure.code, `The agent failed: ${end.failure.message}`);
    case "cancelled":
      return errorOutcome("cancelled", `The request of the agent was cancelled: ${end.reason}`);
    default:
      return end satisfies never;
  }
}

/** The command that cancels the request of a child. */
export function cancelRow(requestId: string): string {
  return `cancel_${requestId}`;
}
