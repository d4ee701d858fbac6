import type { SummaryGoal } from "./agent.ts";
import type { Run } from "./run.ts";
import { doing, inFlight, type Step, telling } from "./step.ts";
import { summaryPlan } from "./summary-plan.ts";
import type { View } from "./view.ts";

/** Starts the summary that the view needs. Undefined when none is due or none can be started now. */
export function summaryDue(step: Step, run: Run, { policy, projection: { meta } }: View): Step | undefined {
  const { settings } = step.agent;
  const { boundary, truncated, view } = meta;
  const isEmergency = run.compactions > 0;
  const wanted = settings.summarizes && policy.summarization !== "none" && (policy.autoSummarize || isEmergency);
  if (!wanted || !meta.needsSummary) return undefined;
  const cutSeq = truncated && view.startItem === undefined ? (meta.cutSeq ?? 0) : 0;
  // If the range before the kept turns cannot be summarized, try the range that is cut.
  const ends = [boundary, cutSeq - 1].filter((seq): seq is number => seq !== undefined && seq >= 0);
  for (const toSeq of new Set(ends)) {
    const started = summaryUpTo(step, run, { toSeq, policy, isEmergency, cutSeq });
    if (started !== undefined) return started;
  }
  return undefined;
}

/** Starts the next summary towards the goal. */
export function summaryUpTo(step: Step, run: Run, goal: SummaryGoal): Step | undefined {
  const plan = summaryPlan(step.agent, run.lane, goal);
  if (plan === undefined) return undefined;
  const { range, maxTokens } = plan;
  const { toSeq } = range;
  const out = inFlight(step, { summary: { toSeq, range, goal } });
  const told = telling(out, run, { kind: "summary_started", data: { toSeq } });
  const model = goal.policy.summarizationModel;
  return doing(told, {
    type: "summarize",
    requestId: run.requestId,
    lane: run.lane,
    range,
    maxTokens,
    reason: goal.isEmergency ? "emergency" : "automatic",
    ...(model !== undefined && { model }),
  });
}
