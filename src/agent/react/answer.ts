import { contentText, hasContent, type ToolCall } from "../../thread/message.ts";
import { addModelUsage, addUsage, type CallRecord, type ModelAnswer } from "../model-call.ts";
import type { Failure, OutputCheck, Signal, ToolOutcome } from "../signal.ts";
import {
  addDirectives,
  commitEntries,
  emitEvent,
  type ReactAgent,
  type Step,
  unchanged,
  updateFlight,
} from "./agent.ts";
import { currentModel, heldFor, roomAfterRefusal, toolsFor } from "./call-context.ts";
import { answerEntry, callErrorEntry, repairEntry, resultEntry, retriedEntry } from "./entries.ts";
import {
  completeRequest,
  endRequest,
  errorOutcome,
  failRequest,
  NOT_RUN,
  outcomeAtEnd,
  skippedOutcome,
} from "./finish.ts";
import { startNextCall } from "./next-call.ts";
import type { RequestEnd, Run } from "./state.ts";
import { deliverFitting, dropTooLong, dueSteers, skipsCalls } from "./steering.ts";
import { continueAfterResult, continueAfterTools, executeCalls } from "./tools.ts";

type Result = Extract<Signal, { type: "llm_result" }>;
type ModelError = Extract<Signal, { type: "llm_error" }>;

/** The record of the call that returned an answer. */
interface RecordedCall {
  readonly callId: string;
  readonly call: CallRecord;
}

/** Commits the model's answer as one entry, then runs its tool calls or ends the request. */
export function handleModelResult(agent: ReactAgent, signal: Result): Step {
  const { run } = agent.state;
  const { callId, answer, output } = signal;
  const call = callRecord(agent, signal, answer);
  if (run === undefined || call === undefined) return unchanged(agent);
  const step = updateFlight(unchanged(agent), { call: undefined });
  const record = { callId, call };
  const retried = isInterrupted(answer.finishReason)
    ? retryCall(step, run, signal, { record, failure: CUT })
    : undefined;
  if (retried !== undefined) return retried;
  const { ending, finishing } = agent.flight;
  const isCut = isInterrupted(answer.finishReason) && ending === undefined && finishing === undefined;
  if (answer.toolCalls.length > 0) {
    return isCut ? failAfterCut(step, run, answer, record) : commitWithCalls(step, run, answer, record);
  }
  if (ending !== undefined) {
    const ended = commitEntries(step, answerEntry(run, answer, record));
    return endRequest(ended, ended.agent.state.run ?? run, ending);
  }
  if (answer.finishReason === "paused") {
    const paused = commitEntries(step, answerEntry(run, answer, record));
    const after = paused.agent.state.run ?? run;
    return continueAfterTools(emitAnswer(paused, after, answer, record), after);
  }
  const failure = answerFailure(answer);
  if (failure !== undefined) return commitAndFail(step, run, answer, record, failure);
  return output?.ok === false
    ? repairOrFail(step, run, answer, { record, output, isSpent: signal.isSpent })
    : commitWithoutCalls(step, run, answer, record, signal);
}

/**
 * Calls that cannot run get an error result at once; the others are executed. Uses the frozen calls from the log, because
 * the model adapter could still change those of the answer.
 */
function commitWithCalls(step: Step, run: Run, modelAnswer: ModelAnswer, record: RecordedCall): Step {
  const next = commitEntries(step, answerEntry(run, modelAnswer, record));
  const after = next.agent.state.run ?? run;
  const answer = { ...modelAnswer, toolCalls: after.calls.map(({ call }) => call) };
  const closings = answer.toolCalls.map((call) => ({
    call,
    closed: refusedCallOutcome(next.agent, after, answer, call),
  }));
  const results = closings.flatMap(({ call, closed }) =>
    closed === undefined ? [] : [resultEntry(after, { call }, closed)],
  );
  const emitted = emitAnswer(next, after, answer, record);
  const written = results.length === 0 ? emitted : commitEntries(emitted, ...results);
  const runnable = closings.flatMap(({ call, closed }) => (closed === undefined ? [call] : []));
  const begun = executeCalls(written, after, runnable);
  return results.length === 0 ? begun : continueAfterResult(begun, after);
}

function refusedCallOutcome(
  agent: ReactAgent,
  run: Run,
  { finishReason }: ModelAnswer,
  call: ToolCall,
): ToolOutcome | undefined {
  const { ending } = agent.flight;
  if (ending !== undefined) return outcomeAtEnd(ending, "the call did not run");
  if (agent.flight.finishing !== undefined) return NOT_RUN;
  if (skipsCalls(agent, run)) return skippedOutcome();
  if (finishReason === "length") {
    return errorOutcome("truncated", "The answer was cut before its end; the call may be incomplete and was not run.");
  }
  const tools = toolsFor(agent, run.options, heldFor(agent, run));
  if (tools.some(({ name }) => name === call.name)) return undefined;
  const known = tools.map(({ name }) => name).join(", ") || "none";
  return errorOutcome("tool_unknown", `There is no tool of this name. The tools are: ${known}.`);
}

/** An answer without calls ends the request, unless steers are waiting and another model call is allowed. */
function commitWithoutCalls(
  step: Step,
  run: Run,
  answer: ModelAnswer,
  record: RecordedCall,
  result: Pick<Result, "output" | "isSpent">,
): Step {
  const { output, isSpent } = result;
  const words = isLastCall(step.agent, run, answer, isSpent) ? [] : dueSteers(step.agent, true);
  const [first] = words;
  if (first !== undefined) {
    const next = commitEntries(step, answerEntry(run, answer, record));
    const after = next.agent.state.run ?? run;
    const answered = emitAnswer(next, after, answer, record);
    const injected = deliverFitting(answered, after, words);
    if (injected === answered) return commitWithoutCalls(dropTooLong(step, first), run, answer, record, result);
    return startNextCall(injected, injected.agent.state.run ?? after);
  }
  const end: RequestEnd = { status: "completed", terminationReason: "final_answer" };
  const last = commitEntries(step, answerEntry(run, answer, { ...record, end }));
  const final = last.agent.state.last?.run ?? run;
  return completeRequest(
    emitAnswer(last, final, answer, record),
    final,
    "final_answer",
    output?.ok ? output.object : undefined,
  );
}

interface WrongShape {
  readonly isSpent: boolean | undefined;
  readonly record: RecordedCall;
  readonly output: Extract<OutputCheck, { ok: false }>;
}

function repairOrFail(step: Step, run: Run, answer: ModelAnswer, wrong: WrongShape): Step {
  const { record, output, isSpent } = wrong;
  const { issues } = output;
  if (isLastCall(step.agent, run, answer, isSpent) || run.repairs >= step.agent.settings.outputRetries) {
    const message = `The model's answer is not of the shape asked for: ${issues.join("; ")}. Raise outputRetries, or ask for less.`;
    return commitAndFail(step, run, answer, record, { code: "output_invalid", message });
  }
  const next = commitEntries(step, answerEntry(run, answer, record));
  const after = next.agent.state.run ?? run;
  const list = issues.map((issue) => `- ${issue}`).join("\n");
  const wish = `Your answer does not have the shape that was asked for:\n${list}\nAnswer again with the corrected JSON and nothing else.`;
  const asked = commitEntries(emitAnswer(next, after, answer, record), repairEntry(after, wish));
  const again = asked.agent.state.run ?? after;
  return startNextCall(
    emitEvent(asked, again, { kind: "output_repaired", data: { issues, attempt: again.repairs } }),
    again,
  );
}

/** Commits the answer and fails the request. */
function commitAndFail(step: Step, run: Run, answer: ModelAnswer, record: RecordedCall, failure: Failure): Step {
  const partial = isInterrupted(answer.finishReason) ? ({ partial: true } as const) : {};
  const next = commitEntries(step, answerEntry(run, answer, { ...record, ...partial }));
  const after = next.agent.state.run ?? run;
  return failRequest(emitAnswer(next, after, answer, record), after, failure);
}

/** The last attempt was cut within or after its calls. They may be incomplete, so only the text is kept. */
function failAfterCut(step: Step, run: Run, answer: ModelAnswer, record: RecordedCall): Step {
  const content = contentText(answer.content);
  if (!hasContent(content)) return endRequest(step, run, { status: "failed", failure: CUT }, record);
  return commitAndFail(step, run, { ...answer, content, toolCalls: [] }, record, CUT);
}

/** Whether the request must not make another model call. */
function isLastCall(agent: ReactAgent, run: Run, { usage }: ModelAnswer, isCostly: boolean | undefined): boolean {
  const { settings, flight } = agent;
  const { options, iteration } = run;
  if (flight.finishing !== undefined || isCostly) return true;
  if (iteration + 1 >= (options.maxIterations ?? settings.maxIterations)) return true;
  const byModel = addModelUsage(run.usageByModel, currentModel(agent), usage);
  return settings.isSpent?.(addUsage(run.usage, usage), byModel, options.limits) === true;
}

/** Usually a model that has spent all of its tokens on thinking. The same call would end the same way, so it is not retried. */
const EMPTY: Failure = {
  code: "model_answer_empty",
  message:
    "The model reached its limit of output tokens before the first word of its answer. Raise maxOutputTokens, or reduce reasoning.",
};

const CUT: Failure = {
  code: "model_stream_interrupted",
  message: "The model's stream ended before its answer did. Ask again.",
  retryable: true,
};

/** The failure of an incomplete or withheld answer, if any. */
function answerFailure({ content, finishReason }: ModelAnswer): Failure | undefined {
  if (finishReason === "content-filter" && !hasContent(content)) {
    return {
      code: "model_refused",
      message: "The provider withheld the answer. Ask differently, or ask another model.",
    };
  }
  if (finishReason === "length" && !hasContent(content)) return EMPTY;
  return isInterrupted(finishReason) ? CUT : undefined;
}

function isInterrupted(finishReason: ModelAnswer["finishReason"]): boolean {
  return finishReason === "interrupted" || finishReason === "error";
}

function emitAnswer(step: Step, run: Run, answer: ModelAnswer, { callId, call }: RecordedCall): Step {
  const { content, toolCalls, usage, finishReason } = answer;
  const parts = typeof content === "string" ? {} : { content };
  const { requestId, runId, iteration } = run;
  const { thread } = step.agent;
  const { id: entryId = "" } = thread.at(thread.lastSeq) ?? {}; // just committed
  const emitted = emitEvent(step, run, {
    kind: "llm_completed",
    callId,
    data: { entryId, text: contentText(content), ...parts, toolCalls, usage, finishReason, view: call.view },
  });
  return addDirectives(emitted, { type: "checkpoint", requestId, runId, iteration, reason: "after_llm" });
}

/** The most "too long" refusals of one request, when each reports how long the prompt was. */
const MAX_REFUSALS = 3;

/** Whether to retry with a shorter prompt: once without numbers, then only while the numbers of the refusals give a lower limit. */
function canRetryShorter(run: Run, { promptTokens }: Failure, limit: number | undefined): boolean {
  if (run.compactions === 0) return true;
  if (limit === undefined || promptTokens === undefined) return false;
  return run.compactions < MAX_REFUSALS && limit < (run.correctedRoom ?? Number.POSITIVE_INFINITY);
}

/** A failed model call. Retries with a shorter prompt when it was too long; otherwise ends the request. */
export function handleModelError(agent: ReactAgent, signal: ModelError): Step {
  const { run } = agent.state;
  const { callId, failure, partial } = signal;
  const call = callRecord(agent, signal, { usage: partial?.usage ?? {}, finishReason: "error" });
  if (run === undefined || call === undefined) return unchanged(agent);
  const step = updateFlight(unchanged(agent), { call: undefined });
  const { ending: why, finishing } = agent.flight;
  if (signal.isStale && why === undefined) {
    if (finishing !== undefined) return completeRequest(step, run, finishing);
    return startNextCall(updateFlight(step, { retry: { callId, afterMs: 0, isRenewed: true } }), run);
  }
  const isTooLong = failure.code === "model_context_too_long" && why === undefined;
  const limit = isTooLong ? roomAfterRefusal(agent, call, failure) : undefined;
  if (isTooLong && canRetryShorter(run, failure, limit)) {
    const noted = commitEntries(step, callErrorEntry(run, { callId, call }, failure, limit));
    const after = noted.agent.state.run ?? run;
    return finishing === undefined ? startNextCall(noted, after) : completeRequest(noted, after, finishing);
  }
  const retried = retryCall(step, run, signal, { record: { callId, call }, failure });
  if (retried !== undefined) return retried;
  const ending = why ?? ({ status: "failed", failure } as const);
  if (partial === undefined || !hasContent(partial.content)) return endRequest(step, run, ending, { callId, call });
  // Keeps only the text: providers reject unfinished thinking parts and calls that did not arrive.
  const answer = { content: contentText(partial.content), toolCalls: [] };
  const ended = commitEntries(step, answerEntry(run, answer, { callId, call, partial: true }));
  return endRequest(ended, ended.agent.state.run ?? run, ending);
}

const DEFAULT_RETRIES = 4;

interface FailedCall {
  readonly record: RecordedCall;
  readonly failure: Failure;
}

/** Failures that another model cannot help: the call was aborted, was answered with a refusal, or no model was found here. */
const FINAL: readonly string[] = ["model_aborted", "model_refused", "model_unresolved"];

/**
 * Makes a failed call again, as after a crash: with the same model, or with the next one after its last attempt. Undefined when
 * there is no next one, or the request is ending.
 */
function retryCall(
  step: Step,
  run: Run,
  { retryMs, isSpent }: Result | ModelError,
  { record, failure }: FailedCall,
): Step | undefined {
  const { settings, flight } = step.agent;
  if (flight.ending !== undefined) return undefined;
  const isOfModel = failure.code.startsWith("model_") && !FINAL.includes(failure.code);
  const next = isOfModel ? settings.fallbacks?.[run.modelIndex] : undefined;
  const isRetried = retryMs !== undefined && run.failedAttempts < (settings.modelMaxRetries ?? DEFAULT_RETRIES);
  const isSame = isRetried && (next === undefined || !isLongWait(step.agent, run, failure, retryMs));
  const model = isSame ? undefined : next;
  if (!isSame && model === undefined) return undefined;
  const noted = commitEntries(step, retriedEntry(run, record, failure, model));
  const after = noted.agent.state.run ?? run;
  const { callId } = record;
  if (flight.finishing !== undefined) return completeRequest(noted, after, flight.finishing);
  const isOver = isSpent || settings.isSpent?.(after.usage, after.usageByModel, run.options.limits);
  if (isOver) return completeRequest(noted, after, "limit");
  const waitMs = isSame ? retryMs : 0;
  const attempt = after.failedAttempts + after.failedBefore;
  const data = { failure, attempt, waitMs, ...(model !== undefined && { model }) };
  const emitted = emitEvent(noted, { ...after, iteration: after.iteration + 1 }, { kind: "llm_retried", callId, data });
  return startNextCall(updateFlight(emitted, { retry: { callId, afterMs: waitMs } }), after);
}

/** A provider may ask for minutes. Another model is called sooner. */
const MAX_WAIT_WITH_NEXT_MS = 5_000;

function isLongWait({ ports }: ReactAgent, { options }: Run, { retryAfterMs = 0 }: Failure, waitMs: number): boolean {
  const { deadline = Number.POSITIVE_INFINITY } = options;
  return retryAfterMs > MAX_WAIT_WITH_NEXT_MS || ports.clock() + waitMs >= deadline;
}

/** The record of a call. Undefined when this call is no longer pending, so that a late answer is ignored. */
function callRecord(
  { flight, state: { run } }: ReactAgent,
  {
    callId,
    sent,
    repaired,
    eventSeq,
    workedMs,
  }: Pick<Result, "callId" | "sent" | "repaired" | "eventSeq" | "workedMs">,
  { usage, finishReason }: Pick<ModelAnswer, "usage" | "finishReason">,
): CallRecord | undefined {
  if (flight.call?.callId !== callId) return undefined;
  const failed = run === undefined ? 0 : run.failedAttempts + run.failedBefore;
  return {
    ...flight.call.basis,
    ...(sent && { fingerprint: sent.fingerprint, sent: sent.blob, ...(sent.model && { model: sent.model }) }),
    ...(repaired && { repaired }),
    usage,
    finishReason,
    ...(failed > 0 && { attempts: failed + 1 }),
    ...(eventSeq !== undefined && { eventSeq }),
    ...(workedMs !== undefined && { workedMs }),
  };
}
