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

/** A summary was written: it is appended with the record of its call, and the run that waited for it continues. */
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
 * A summary was not written, or was discarded. A note keeps what was tried, so that no process tries the same again and again,
 * and what it has cost. A smaller piece may be tried at once.
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

/** What is not shown any more and no attempt could summarize is covered by a line that says so, and blocks nothing else. */
function skippedIfHopeless(step: Step, run: Run, toSeq: number): Step {
  const { summary } = step.agent.flight;
  if (summary?.toSeq !== toSeq || toSeq >= summary.goal.cutSeq) return step;
  const failures = failuresIfHopeless(step.agent.thread, run.lane);
  if (failures === undefined) return step;
  const { range } = summary;
  const covered = committed(step, gapEntry(run, range, gapText(range), failures));
  return telling(covered, run, { kind: "summary_skipped", data: { fromSeq: range.fromSeq, toSeq } });
}

/** A request does not pay for a summary that another caller has asked for. */
function ownRefs({ state: { run }, flight }: ReactAgent, toSeq: number): { requestId?: string; runId?: string } {
  const isOwn = run !== undefined && flight.summary?.toSeq === toSeq;
  return isOwn ? { requestId: run.requestId, runId: run.runId } : {};
}

/** Only the summary that the run waits for lets it continue: with the next piece, or with the model. */
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
