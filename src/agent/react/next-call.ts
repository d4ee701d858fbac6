import { foldLane } from "../../lanes/fold-lane.ts";
import { ProjectionError } from "../../projection/error.ts";
import { coveredSeqs, isTooLong } from "../../projection/summary/summary-range.ts";
import type { Thread } from "../../thread/thread.ts";
import type { EventDraft } from "../event.ts";
import { recordedUsage } from "../model-call.ts";
import type { Signal } from "../signal.ts";
import {
  addDirectives,
  commitEntries,
  emitEvent,
  type ReactAgent,
  type Step,
  type SummaryGoal,
  unchanged,
  updateFlight,
} from "./agent.ts";
import {
  type CallContext,
  callBasis,
  callSettingsOf,
  contextForCall,
  currentModel,
  modelIndexFor,
} from "./call-context.ts";
import { gapEntry, summaryFailedEntry } from "./entries.ts";
import { completeRequest, endRequest, failRequest } from "./finish.ts";
import type { Run } from "./state.ts";
import { deliverFitting, dueSteers } from "./steering.ts";
import { failuresIfHopeless, gapText, isSummaryOf, summaryPlan } from "./summary-plan.ts";

/**
 * Starts the next model call, or a summary first if one is due. Delivers waiting steers. A context that does not fit
 * fails the request. Must be called when no tool call is open. A retried call is sent unchanged, without new steers or
 * a summary. `known` is a context that was made before: it is used while the thread is the same.
 */
export function startNextCall(before: Step, asked: Run, known?: KnownContext): Step {
  if (before.agent.flight.isPhased) return updateFlight(before, { next: "call" });
  const { retry } = before.agent.flight;
  const step = retry === undefined ? deliverFitting(before, asked, dueSteers(before.agent, false)) : before;
  const run = step.agent.state.run ?? asked;
  let context: CallContext;
  try {
    context = known?.of === step.agent.thread ? known.context : contextForCall(step.agent, run);
  } catch (error) {
    if (!ProjectionError.isInstance(error) || error.code === "tail_too_short") throw error;
    const { code, message } = error;
    if (run.compactions === 0) return failRequest(step, run, { code, message });
    const tooLong = `The provider refused the request as too long, and the context cannot be made shorter: ${message}`;
    return failRequest(step, run, { code: "model_context_too_long", message: tooLong });
  }
  if (retry !== undefined) return startCall(step, run, context);
  return startDueSummary(step, run, context) ?? startCall(emitCut(step, run, context), run, context);
}

/** The context of an ask was made to check that it fits. */
interface KnownContext {
  readonly context: CallContext;
  readonly of: Thread;
}

function startCall(step: Step, run: Run, context: CallContext): Step {
  const { agent } = step;
  const { messages, toolSpec, meta } = context.projection;
  const { retry } = agent.flight;
  const callId = retry?.callId ?? agent.ports.ids("call");
  const { basis, blobs } = callBasis(agent, run, context);
  const { requestId, runId } = run;
  const iteration = run.iteration + 1;
  const model = currentModel(agent);
  const settings = callSettingsOf(agent, run, context.held);
  const out = updateFlight(step, { call: { callId, basis }, retry: undefined, running: [], emittedResults: 0 });
  const { estimatedTokens, truncated, needsSummary, boundary, budget } = meta;
  const data = {
    ...(model !== undefined && { model }),
    estimatedTokens,
    messages: messages.length,
    meta: { truncated, needsSummary, ...(boundary !== undefined && { boundary }), budget },
  };
  const started = { kind: "llm_started", callId, data } as const;
  const emitted = retry === undefined ? emitEvent(out, { ...run, iteration }, started) : out;
  const call = { callId, iteration, messages, toolSpec, settings, basis, blobs };
  const request = { requestId, runId, ...call, ...modelIndexFor(agent, run) };
  const { callId: _callId, ...again } = retry ?? {};
  return addDirectives(emitted, { type: "llm_stream", ...request, ...again });
}

/** Emits `context_cut` when entries are cut without a summary although automatic summaries are on. Once per cut. */
function emitCut(step: Step, run: Run, { policy, projection: { meta } }: CallContext): Step {
  const { settings, flight, thread } = step.agent;
  const { truncated, cutSeq, view } = meta;
  if (!settings.summarizes || !policy.autoSummarize || !truncated || cutSeq === undefined) return step;
  if (flight.cutSeq === cutSeq) return step;
  // The summary may be before the loaded entries, but the fold of the lane knows it.
  const summary = foldLane(thread, run.lane).items.find(({ entry }) => entry.seq === view.summarySeq);
  const data = { fromSeq: Math.min((summary?.reach ?? -1) + 1, cutSeq), toSeq: Math.max(0, cutSeq - 1) };
  return emitEvent(updateFlight(step, { cutSeq }), run, { kind: "context_cut", data });
}

/** Starts the summary that the context needs. Undefined when none is due or none can be started now. */
function startDueSummary(step: Step, run: Run, { policy, projection: { meta } }: CallContext): Step | undefined {
  const { settings } = step.agent;
  const { boundary, truncated, view } = meta;
  const isEmergency = run.compactions > 0;
  const isWritten = settings.summarizes && (policy.autoSummarize || isEmergency);
  const isRequested = !isWritten && settings.requestsSummaries === true && policy.summarization === "request_new";
  const wanted = (isWritten && policy.summarization !== "none") || isRequested;
  if (!wanted || !meta.needsSummary) return undefined;
  const isCut = truncated && meta.needsSummaryReason !== "summary_too_long";
  const cutSeq = isCut && view.startItem === undefined ? (meta.cutSeq ?? 0) : 0;
  // If the range before the kept turns cannot be summarized, try the range that is cut.
  const ends = [boundary, cutSeq - 1].filter((seq): seq is number => seq !== undefined && seq >= 0);
  for (const toSeq of new Set(ends)) {
    const started = startSummary(step, run, {
      toSeq,
      policy,
      isEmergency,
      cutSeq,
      ...(isRequested && { requested: meta }),
    });
    if (started !== undefined) return started;
  }
  return undefined;
}

/** Starts the next summary towards the goal. */
function startSummary(step: Step, run: Run, goal: SummaryGoal): Step | undefined {
  const plan = summaryPlan(step.agent, run.lane, goal);
  if (plan === undefined) return undefined;
  const { range, maxTokens } = plan;
  const { toSeq } = range;
  const { requested, isEmergency } = goal;
  const out = updateFlight(step, { summary: { toSeq, range, goal } });
  const event: EventDraft =
    requested === undefined
      ? { kind: "summary_started", data: { toSeq } }
      : { kind: "summary_requested", data: { ...coveredSeqs(range), reason: requested.needsSummaryReason } };
  const emitted = emitEvent(out, run, event);
  const model = goal.policy.summarizationModel;
  return addDirectives(emitted, {
    type: "summarize",
    requestId: run.requestId,
    lane: run.lane,
    range,
    maxTokens,
    reason: requested === undefined ? (isEmergency ? "emergency" : "automatic") : "requested",
    ...(requested !== undefined && { meta: requested }),
    ...(model !== undefined && { model }),
  });
}

/** Appends a summary with the record of its call, and continues the run that waits for it. */
export function handleSummary(
  agent: ReactAgent,
  { lane, payload, call, isSpent }: Extract<Signal, { type: "summary_result" }>,
): Step {
  const { run } = agent.state;
  const fields = { ...payload, contextRef: lane, ...(call !== undefined && { call }) };
  const next = commitEntries(unchanged(agent), {
    kind: "summary",
    payload: fields,
    refs: ownRefs(agent, payload.toSeq),
  });
  if (run === undefined) return next;
  const { fromSeq, toSeq } = payload;
  const data = { fromSeq, toSeq, ...(call !== undefined && { usage: recordedUsage(call) }) };
  return continueAfterSummary(emitEvent(next, run, { kind: "summary_completed", data }), toSeq, isSpent);
}

/**
 * A summary failed or was discarded. Appends a note with the range and the usage, so that no process repeats the same
 * attempt. A smaller piece may be tried at once.
 */
export function handleSummaryFailed(agent: ReactAgent, signal: Extract<Signal, { type: "summary_failed" }>): Step {
  const { run } = agent.state;
  const { lane, failed, reason, call, isSpent } = signal;
  const { toSeq, code } = failed;
  const { ending, finishing, summary } = agent.flight;
  const isFinishing = finishing !== undefined && summary?.goal.requested !== undefined;
  const isStopped = (ending !== undefined || isFinishing) && call === undefined;
  const noted = isStopped
    ? unchanged(agent)
    : commitEntries(unchanged(agent), summaryFailedEntry(ownRefs(agent, toSeq), lane, signal));
  if (run === undefined) return noted;
  const data = { toSeq, reason, code, ...(call !== undefined && { usage: recordedUsage(call) }) };
  const emitted = emitEvent(noted, run, { kind: "summary_failed", data });
  return continueAfterSummary(isStopped ? emitted : skipIfHopeless(emitted, run, toSeq), toSeq, isSpent);
}

/** After too many failures, covers a cut range with a synthetic summary, so that later ranges can be summarized. */
function skipIfHopeless(step: Step, run: Run, toSeq: number): Step {
  const { summary } = step.agent.flight;
  if (summary?.toSeq !== toSeq || toSeq >= summary.goal.cutSeq) return step;
  const failures = failuresIfHopeless(step.agent.thread, run.lane);
  if (failures === undefined) return step;
  const { range } = summary;
  const text = gapText(range);
  if (range.previous !== undefined && isTooLong(text, range)) return step; // the summary before it stays
  const covered = commitEntries(step, gapEntry(run, range, text, failures));
  return emitEvent(covered, run, { kind: "summary_skipped", data: { fromSeq: range.fromSeq, toSeq } });
}

/** A summary counts for the request only if the request started it. */
function ownRefs({ state: { run }, flight }: ReactAgent, toSeq: number): { requestId?: string; runId?: string } {
  const isOwn = run !== undefined && flight.summary?.toSeq === toSeq;
  return isOwn ? { requestId: run.requestId, runId: run.runId } : {};
}

/** Continues the run if another writer has appended the summary that it has requested. */
export function noticeSummary(agent: ReactAgent): Step {
  const { flight, thread, state } = agent;
  const { run } = state;
  const { summary } = flight;
  if (run === undefined || summary?.goal.requested === undefined) return unchanged(agent);
  const last = thread
    .filterByKind("summary", { partial: true })
    .findLast((entry) => isSummaryOf(entry, run.lane, summary.toSeq));
  if (last === undefined) return unchanged(agent);
  const { fromSeq, toSeq } = last.payload;
  return continueAfterSummary(
    emitEvent(unchanged(agent), run, { kind: "summary_completed", data: { fromSeq, toSeq } }),
    toSeq,
  );
}

/** Continues the run with the next piece or the next model call, if it waits for this summary. */
function continueAfterSummary(step: Step, toSeq: number, isSpent = false): Step {
  const { run } = step.agent.state;
  const { summary, ending, finishing } = step.agent.flight;
  const reaches = toSeq === summary?.toSeq || (summary?.goal.requested !== undefined && toSeq > summary.toSeq);
  if (run === undefined || summary === undefined || !reaches) return step;
  const free = updateFlight(step, { summary: undefined });
  if (ending !== undefined) return endRequest(free, run, ending);
  if (finishing !== undefined) return completeRequest(free, run, finishing);
  const isOver = isSpent || step.agent.settings.isSpent?.(run.usage, run.usageByModel, run.options.limits);
  if (isOver) return completeRequest(free, run, "limit");
  const next = startSummary(free, run, summary.goal);
  return next?.agent.flight.summary === undefined ? startNextCall(next ?? free, run) : next;
}
