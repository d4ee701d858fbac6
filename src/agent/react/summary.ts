import type { Signal } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import { gapEntry, summaryFailedEntry } from "./entries.ts";
import { completed, ended } from "./finish.ts";
import { nextCall } from "./next-call.ts";
import type { Run } from "./run.ts";
import { usageIn } from "./state.ts";
import { committed, inFlight, type Step, stay, telling } from "./step.ts";
import { summaryUpTo } from "./summary-due.ts";
import { failuresIfHopeless, gapText } from "./summary-plan.ts";

/** Appends a summary with the record of its call, and continues the run that waits for it. */
export function summarized(
  agent: ReactAgent,
  { lane, payload, call }: Extract<Signal, { type: "summary_result" }>,
): Step {
  const { run } = agent.state;
  const said = { ...payload, contextRef: lane, ...(call !== undefined && { call }) };
  const next = committed(stay(agent), { kind: "summary", payload: said, refs: ownRefs(agent, payload.toSeq) });
  if (run === undefined) return next;
  const { fromSeq, toSeq } = payload;
  const data = { fromSeq, toSeq, ...(call !== undefined && { usage: usageIn(call) }) };
  return goingOn(telling(next, run, { kind: "summary_completed", data }), toSeq);
}

/**
 * A summary failed or was discarded. Appends a note with the range and the usage, so that no process repeats the same
 * attempt. A smaller piece may be tried at once.
 */
export function notSummarized(agent: ReactAgent, signal: Extract<Signal, { type: "summary_failed" }>): Step {
  const { run } = agent.state;
  const { lane, failed, reason, call } = signal;
  const { toSeq, code } = failed;
  const isStopped = agent.flight.ending !== undefined && call === undefined;
  const noted = isStopped
    ? stay(agent)
    : committed(stay(agent), summaryFailedEntry(ownRefs(agent, toSeq), lane, signal));
  if (run === undefined) return noted;
  const data = { toSeq, reason, code, ...(call !== undefined && { usage: usageIn(call) }) };
  const told = telling(noted, run, { kind: "summary_failed", data });
  return goingOn(isStopped ? told : skippedIfHopeless(told, run, toSeq), toSeq);
}

/** After too many failures, covers a cut range with a synthetic summary, so that later ranges can be summarized. */
function skippedIfHopeless(step: Step, run: Run, toSeq: number): Step {
  const { summary } = step.agent.flight;
  if (summary?.toSeq !== toSeq || toSeq >= summary.goal.cutSeq) return step;
  const failures = failuresIfHopeless(step.agent.thread, run.lane);
  if (failures === undefined) return step;
  const { range } = summary;
  const covered = committed(step, gapEntry(run, range, gapText(range), failures));
  return telling(covered, run, { kind: "summary_skipped", data: { fromSeq: range.fromSeq, toSeq } });
}

/** A summary counts for the request only if the request started it. */
function ownRefs({ state: { run }, flight }: ReactAgent, toSeq: number): { requestId?: string; runId?: string } {
  const isOwn = run !== undefined && flight.summary?.toSeq === toSeq;
  return isOwn ? { requestId: run.requestId, runId: run.runId } : {};
}

/** Continues the run with the next piece or the next model call, if it waits for this summary. */
function goingOn(step: Step, toSeq: number): Step {
  const { run } = step.agent.state;
  const { summary, ending, finishing } = step.agent.flight;
  if (run === undefined || summary?.toSeq !== toSeq) return step;
  const free = inFlight(step, { summary: undefined });
  if (ending !== undefined) return ended(free, run, ending);
  if (finishing !== undefined) return completed(free, run, finishing);
  if (step.agent.settings.isSpent?.(run.usage, run.usageByModel)) return completed(free, run, "limit");
  const next = summaryUpTo(free, run, summary.goal);
  return next?.agent.flight.summary === undefined ? nextCall(next ?? free, run) : next;
}
