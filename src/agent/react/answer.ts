import type { ToolCall } from "../../thread/message.ts";
import { addModelUsage, addUsage, type ModelAnswer } from "../answer.ts";
import type { CallRecord } from "../call-record.ts";
import type { Failure } from "../failure.ts";
import type { OutputCheck, Signal, ToolOutcome } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import { saysSomething, textOf } from "./content.ts";
import { correctedRoom } from "./corrected-room.ts";
import type { RequestEnd } from "./end.ts";
import { answerEntry, callErrorEntry, repairEntry, resultEntry } from "./entries.ts";
import { closedAtEnd, completed, ended, failed } from "./finish.ts";
import { nextCall } from "./next-call.ts";
import { closedBecause, NOT_RUN } from "./results.ts";
import type { Run } from "./run.ts";
import { delivered, due } from "./steering.ts";
import { committed, doing, inFlight, type Step, stay, telling } from "./step.ts";
import { afterResult, executing } from "./tools.ts";
import { toolsFor } from "./view.ts";

type Result = Extract<Signal, { type: "llm_result" }>;
type ModelError = Extract<Signal, { type: "llm_error" }>;

/** The record of the call that returned an answer. */
interface Said {
  readonly callId: string;
  readonly call: CallRecord;
}

/** Commits the model's answer as one entry, then runs its tool calls or ends the request. */
export function answered(agent: ReactAgent, signal: Result): Step {
  const { run } = agent.state;
  const { callId, answer, output } = signal;
  const call = recordOf(agent, signal, answer);
  if (run === undefined || call === undefined) return stay(agent);
  const step = inFlight(stay(agent), { call: undefined });
  const said = { callId, call };
  if (answer.toolCalls.length > 0) return called(step, run, answer, said);
  const { ending } = agent.flight;
  if (ending !== undefined) {
    const kept = committed(step, answerEntry(run, answer, said));
    return ended(kept, kept.agent.state.run ?? run, ending);
  }
  const failure = failureOf(answer);
  if (failure !== undefined) return broken(step, run, answer, said, failure);
  return output?.ok === false ? repaired(step, run, answer, { said, output }) : spoken(step, run, answer, said, output);
}

/**
 * Calls that cannot run get an error result at once; the others are executed. Uses the frozen calls from the log, because
 * the model adapter could still change those of the answer.
 */
function called(step: Step, run: Run, given: ModelAnswer, said: Said): Step {
  const next = committed(step, answerEntry(run, given, said));
  const after = next.agent.state.run ?? run;
  const answer = { ...given, toolCalls: after.calls.map(({ call }) => call) };
  const closings = answer.toolCalls.map((call) => ({ call, closed: closedUnrun(next.agent, after, answer, call) }));
  const results = closings.flatMap(({ call: { id, name }, closed }) =>
    closed === undefined ? [] : [resultEntry(after, id, name, closed)],
  );
  const told = tellAnswer(next, after, answer, said);
  const begun = closings.reduce(
    (before, { call, closed }) => (closed === undefined ? executing(before, after, { call }, false) : before),
    results.length === 0 ? told : committed(told, ...results),
  );
  return results.length === 0 ? begun : afterResult(begun, after);
}

function closedUnrun(
  agent: ReactAgent,
  run: Run,
  { finishReason }: ModelAnswer,
  call: ToolCall,
): ToolOutcome | undefined {
  const { ending } = agent.flight;
  if (ending !== undefined) return closedAtEnd(ending, "the call did not run");
  if (agent.flight.finishing !== undefined) return NOT_RUN;
  if (finishReason === "length" || isBroken(finishReason)) {
    return closedBecause("truncated", "The answer was cut before its end; the call may be incomplete and was not run.");
  }
  const tools = toolsFor(agent, run);
  if (tools.some(({ name }) => name === call.name)) return undefined;
  const known = tools.map(({ name }) => name).join(", ") || "none";
  return closedBecause("tool_unknown", `There is no tool of this name. The tools are: ${known}.`);
}

/** An answer without calls ends the request, unless steers are waiting and another model call is allowed. */
function spoken(step: Step, run: Run, answer: ModelAnswer, said: Said, output: OutputCheck | undefined): Step {
  const words = isLastCall(step.agent, run, answer) ? [] : due(step.agent, true);
  if (words.length > 0) {
    const next = committed(step, answerEntry(run, answer, said));
    const after = next.agent.state.run ?? run;
    const injected = delivered(tellAnswer(next, after, answer, said), after, words);
    return nextCall(injected, injected.agent.state.run ?? after);
  }
  const end: RequestEnd = { status: "completed", terminationReason: "final_answer" };
  const last = committed(step, answerEntry(run, answer, { ...said, end }));
  const final = last.agent.state.last?.run ?? run;
  return completed(
    tellAnswer(last, final, answer, said),
    final,
    "final_answer",
    output?.ok ? output.object : undefined,
  );
}

interface WrongShape {
  readonly said: Said;
  readonly output: Extract<OutputCheck, { ok: false }>;
}

function repaired(step: Step, run: Run, answer: ModelAnswer, { said, output: { issues } }: WrongShape): Step {
  if (isLastCall(step.agent, run, answer) || run.repairs >= step.agent.settings.outputRetries) {
    const message = `The model's answer is not of the shape asked for: ${issues.join("; ")}. Raise outputRetries, or ask for less.`;
    return broken(step, run, answer, said, { code: "output_invalid", message });
  }
  const next = committed(step, answerEntry(run, answer, said));
  const after = next.agent.state.run ?? run;
  const list = issues.map((issue) => `- ${issue}`).join("\n");
  const wish = `Your answer does not have the shape that was asked for:\n${list}\nAnswer again with the corrected JSON and nothing else.`;
  const asked = committed(tellAnswer(next, after, answer, said), repairEntry(after, wish));
  const again = asked.agent.state.run ?? after;
  return nextCall(telling(asked, again, { kind: "output_repaired", data: { issues, attempt: again.repairs } }), again);
}

/** Commits the answer and fails the request. */
function broken(step: Step, run: Run, answer: ModelAnswer, said: Said, failure: Failure): Step {
  const partial = isBroken(answer.finishReason) ? ({ partial: true } as const) : {};
  const next = committed(step, answerEntry(run, answer, { ...said, ...partial }));
  const after = next.agent.state.run ?? run;
  return failed(tellAnswer(next, after, answer, said), after, failure);
}

/** Whether the request must not make another model call. */
function isLastCall({ settings, flight }: ReactAgent, run: Run, { usage }: ModelAnswer): boolean {
  const { options, iteration } = run;
  if (flight.finishing !== undefined) return true;
  if (iteration + 1 >= (options.maxIterations ?? settings.maxIterations)) return true;
  const byModel = addModelUsage(run.usageByModel, settings.model, usage);
  return settings.isSpent?.(addUsage(run.usage, usage), byModel) === true;
}

/** The failure of an incomplete or withheld answer, if any. */
function failureOf({ content, finishReason }: ModelAnswer): Failure | undefined {
  if (finishReason === "content-filter" && !saysSomething(content)) {
    return {
      code: "model_refused",
      message: "The provider withheld the answer. Ask differently, or ask another model.",
    };
  }
  if (!isBroken(finishReason)) return undefined;
  const message = "The model's stream ended before its answer did. Ask again.";
  return { code: "model_stream_interrupted", message, retryable: true };
}

function isBroken(finishReason: ModelAnswer["finishReason"]): boolean {
  return finishReason === "interrupted" || finishReason === "error";
}

function tellAnswer(step: Step, run: Run, answer: ModelAnswer, { callId, call }: Said): Step {
  const { content, toolCalls, usage, finishReason } = answer;
  const { requestId, runId, iteration } = run;
  const told = telling(step, run, {
    kind: "llm_completed",
    callId,
    data: { text: textOf(content), toolCalls, usage, finishReason, view: call.view },
  });
  return doing(told, { type: "checkpoint", requestId, runId, iteration, reason: "after_llm" });
}

/** The most "too long" refusals of one request, when each reports how long the prompt was. */
const REFUSALS = 3;

/** Whether to retry with a shorter prompt: once without numbers, then only while the refusals' numbers give a smaller room. */
function mayBeShorter(run: Run, { promptTokens }: Failure, room: number | undefined): boolean {
  if (run.compactions === 0) return true;
  if (room === undefined || promptTokens === undefined) return false;
  return run.compactions < REFUSALS && room < (run.correctedRoom ?? Number.POSITIVE_INFINITY);
}

/** A failed model call. Retries with a shorter prompt when it was too long; otherwise ends the request. */
export function notAnswered(agent: ReactAgent, signal: ModelError): Step {
  const { run } = agent.state;
  const { callId, failure, partial } = signal;
  const call = recordOf(agent, signal, { usage: partial?.usage ?? {}, finishReason: "error" });
  if (run === undefined || call === undefined) return stay(agent);
  const step = inFlight(stay(agent), { call: undefined });
  const isTooLong = failure.code === "model_context_too_long" && agent.flight.ending === undefined;
  const room = isTooLong ? correctedRoom(agent, call, failure) : undefined;
  if (isTooLong && mayBeShorter(run, failure, room)) {
    const noted = committed(step, callErrorEntry(run, { callId, call }, failure, room));
    const { finishing } = agent.flight;
    const after = noted.agent.state.run ?? run;
    return finishing === undefined ? nextCall(noted, after) : completed(noted, after, finishing);
  }
  const ending = agent.flight.ending ?? ({ status: "failed", failure } as const);
  if (partial === undefined || !saysSomething(partial.content)) return ended(step, run, ending, { callId, call });
  // Keeps only the text: providers reject unfinished thinking parts and calls that did not arrive.
  const answer = { content: textOf(partial.content), toolCalls: [] };
  const kept = committed(step, answerEntry(run, answer, { callId, call, partial: true }));
  return ended(kept, kept.agent.state.run ?? run, ending);
}

/** The record of a call. Undefined when this call is no longer pending, so that a late answer is ignored. */
function recordOf(
  { flight }: ReactAgent,
  { callId, sent, eventSeq, workedMs }: Pick<Result, "callId" | "sent" | "eventSeq" | "workedMs">,
  { usage, finishReason }: Pick<ModelAnswer, "usage" | "finishReason">,
): CallRecord | undefined {
  if (flight.call?.callId !== callId) return undefined;
  return {
    ...flight.call.basis,
    ...(sent && { fingerprint: sent.fingerprint, sent: sent.blob }),
    usage,
    finishReason,
    ...(eventSeq !== undefined && { eventSeq }),
    ...(workedMs !== undefined && { workedMs }),
  };
}
