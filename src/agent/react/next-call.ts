import { foldLane } from "../../lanes/fold-lane.ts";
import { ProjectionError } from "../../projection/error.ts";
import type { SummaryRange } from "../../projection/summarise/range.ts";
import { summaryRangeOf } from "../../projection/summarise/range-of.ts";
import type { Thread } from "../../thread/thread.ts";
import type { ReactAgent } from "./agent.ts";
import { failed } from "./finish.ts";
import type { Run } from "./run.ts";
import { delivered, due } from "./steering.ts";
import { doing, inFlight, type Step, telling } from "./step.ts";
import { basisOf, type View, viewFor } from "./view.ts";

/**
 * Shows the model what there is now, with what was steered in since, after a summary where one is due. What cannot be
 * shown ends the request. No call is open when this is asked.
 */
export function nextCall(before: Step, asked: Run): Step {
  const step = delivered(before, asked, due(before.agent, false));
  const run = step.agent.state.run ?? asked;
  let view: View;
  try {
    view = viewFor(step.agent, run);
  } catch (error) {
    if (!ProjectionError.isInstance(error) || error.code === "tail_too_short") throw error;
    const { code, message } = error;
    if (run.compactions === 0) return failed(step, run, { code, message });
    const tooLong = `The provider refused the request as too long, and it cannot be made shorter: ${message}`;
    return failed(step, run, { code: "model_context_too_long", message: tooLong });
  }
  return summaryDue(step, run, view) ?? call(step, run, view);
}

function call(step: Step, run: Run, view: View): Step {
  const { agent } = step;
  const { messages, toolSpec, meta } = view.projection;
  const callId = agent.ports.ids("call");
  const { basis, blobs } = basisOf(agent, view);
  const { requestId, runId } = run;
  const iteration = run.iteration + 1;
  const { model, call: settings } = agent.settings;
  const out = inFlight(step, { call: { callId, basis }, running: [], told: 0 });
  const told = telling(
    out,
    { ...run, iteration },
    {
      kind: "llm_started",
      callId,
      data: { ...(model !== undefined && { model }), estimatedTokens: meta.estimatedTokens, messages: messages.length },
    },
  );
  const request = { requestId, runId, callId, iteration, messages, toolSpec, settings, basis, blobs };
  return doing(told, { type: "llm_stream", ...request });
}

function summaryDue(step: Step, run: Run, { policy, projection: { meta } }: View): Step | undefined {
  const { settings } = step.agent;
  const { boundary } = meta;
  const isEmergency = run.compactions > 0;
  const wanted = settings.summarizes && policy.summarization !== "none" && (policy.autoSummarize || isEmergency);
  if (!wanted || !meta.needsSummary || boundary === undefined) return undefined;
  return summaryUpTo(step, run, { toSeq: boundary, model: policy.summarizationModel, isEmergency });
}

/** Boundaries move on, so the old ones do not come again. */
const REMEMBERED_BOUNDARIES = 64;

interface Wanted {
  readonly toSeq: number;
  readonly model: string | undefined;
  readonly isEmergency: boolean;
}

function summaryUpTo(step: Step, run: Run, { toSeq, model, isEmergency }: Wanted): Step | undefined {
  const { agent } = step;
  if (agent.flight.triedSeqs.includes(toSeq)) return undefined;
  const range = rangeUpTo(agent, run.lane, toSeq);
  if (range === undefined) return undefined;
  const triedSeqs = [...agent.flight.triedSeqs, toSeq].slice(-REMEMBERED_BOUNDARIES);
  const out = inFlight(step, { summary: { toSeq, emergency: isEmergency }, triedSeqs });
  const told = telling(out, run, { kind: "summary_started", data: { toSeq } });
  return doing(told, {
    type: "summarize",
    requestId: run.requestId,
    lane: run.lane,
    range,
    reason: isEmergency ? "emergency" : "automatic",
    ...(model !== undefined && { model }),
  });
}

/** What a summary up to a seq is to be made of. */
export function rangeUpTo({ thread, settings }: ReactAgent, lane: string, toSeq: number): SummaryRange | undefined {
  const range = summaryRangeOf({ thread, lane, model: settings.model, readers: settings.readers }, toSeq);
  if (range === undefined) mustReach(toSeq, thread, lane);
  else mustReachBack(range, thread, lane);
  return range;
}

/** Rows that an exchange at the edge may take. */
const AN_EXCHANGE = 64;

/** Nothing to summarise before what is loaded: whoever says so must have looked there. */
function mustReach(toSeq: number, thread: Thread, lane: string): void {
  const neededFromSeq = Math.max(0, toSeq - AN_EXCHANGE);
  if (thread.firstSeq <= neededFromSeq || foldLane(thread, lane).complete) return;
  throw tooShort(neededFromSeq, "The summary ends before the entries loaded.");
}

/** A summary of what happens to be loaded would lose what lies before it. */
function mustReachBack({ previous }: SummaryRange, thread: Thread, lane: string): void {
  const { firstSeq } = thread;
  if (firstSeq === 0 || (previous !== undefined && previous.toSeq >= firstSeq - 1)) return;
  if (foldLane(thread, lane).complete) return;
  throw tooShort(previous === undefined ? 0 : previous.toSeq + 1, "The summary begins before the entries loaded.");
}

function tooShort(neededFromSeq: number, why: string): ProjectionError {
  const message = `${why} Load the thread from seq ${neededFromSeq}.`;
  return new ProjectionError({ code: "tail_too_short", message, neededFromSeq });
}
