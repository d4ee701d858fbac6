import { ProjectionError } from "../../projection/error.ts";
import type { JsonObject } from "../../thread/json.ts";
import { failed } from "./finish.ts";
import type { Run } from "./run.ts";
import { delivered, due } from "./steering.ts";
import { doing, inFlight, type Step, telling } from "./step.ts";
import { summaryDue } from "./summary-due.ts";
import { basisOf, type View, viewFor } from "./view.ts";

/**
 * Starts the next model call, or a summary first if one is due. Delivers waiting steers. A context that does not fit fails
 * the request. Must be called when no tool call is open.
 */
export function nextCall(before: Step, asked: Run): Step {
  if (before.agent.flight.isPhased) return inFlight(before, { next: "call" });
  const step = delivered(before, asked, due(before.agent, false));
  const run = step.agent.state.run ?? asked;
  let view: View;
  try {
    view = viewFor(step.agent, run);
  } catch (error) {
    if (!ProjectionError.isInstance(error) || error.code === "tail_too_short") throw error;
    const { code, message } = error;
    if (run.compactions === 0) return failed(step, run, { code, message });
    const tooLong = `The provider refused the request as too long, and the context cannot be made shorter: ${message}`;
    return failed(step, run, { code: "model_context_too_long", message: tooLong });
  }
  return summaryDue(step, run, view) ?? call(tellCut(step, run, view), run, view);
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

/** Emits `context_cut` when entries are cut without a summary although automatic summaries are on. Once per cut. */
function tellCut(step: Step, run: Run, { policy, projection: { meta } }: View): Step {
  const { settings, flight, thread } = step.agent;
  const { truncated, cutSeq, view } = meta;
  if (!settings.summarizes || !policy.autoSummarize || !truncated || cutSeq === undefined) return step;
  if (flight.cutSeq === cutSeq) return step;
  const summary = view.summarySeq === undefined ? undefined : thread.at(view.summarySeq);
  const { toSeq } = (summary?.payload ?? {}) as JsonObject; // payloads are JSON
  const fromSeq = typeof toSeq === "number" ? toSeq + 1 : view.summarySeq === undefined ? 0 : thread.firstSeq;
  const data = { fromSeq: Math.min(fromSeq, cutSeq), toSeq: Math.max(0, cutSeq - 1) };
  return telling(inFlight(step, { cutSeq }), run, { kind: "context_cut", data });
}
