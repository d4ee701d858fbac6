import type { Failure } from "../failure.ts";
import type { Signal } from "../signal.ts";
import { isAtWork, type ReactAgent } from "./agent.ts";
import { workedEntry } from "./entries.ts";
import type { Run } from "./run.ts";
import { committed, doing, type Step, stay } from "./step.ts";

/**
 * Schedules the run's time limit, which counts over all process starts. Waiting for approvals or outside answers does not
 * count, nor does the time between two starts.
 */
export function limited(step: Step, { requestId, runId, workedMs }: Run): Step {
  const { totalTimeoutMs } = step.agent.settings;
  if (totalTimeoutMs === undefined) return step;
  const afterMs = Math.max(0, totalTimeoutMs - workedMs);
  const signal = { type: "fail", failure: timeout(totalTimeoutMs) } as const;
  const noteEveryMs = Math.max(1, Math.ceil(totalTimeoutMs / NOTES));
  return doing(step, { type: "schedule", requestId, runId, afterMs, workedMs, noteEveryMs, signal });
}

/** Time at work is in the log at each tenth of the limit at the latest: so much a process that is killed can lose. */
const NOTES = 10;

/** Nothing is noted that the log has, and nothing of a run that is ending or waits. */
export function timeNoted(agent: ReactAgent, { workedMs }: Extract<Signal, { type: "worked" }>): Step {
  const { run } = agent.state;
  const { runId, ending } = agent.flight;
  const isWorking = run !== undefined && runId === run.runId && ending === undefined && isAtWork(agent);
  return isWorking && workedMs > run.workedMs ? committed(stay(agent), workedEntry(run, workedMs)) : stay(agent);
}

/** The failure of a run that has used up its time; else undefined. */
export function spentTime({ settings: { totalTimeoutMs } }: ReactAgent, { workedMs }: Run): Failure | undefined {
  return totalTimeoutMs === undefined || workedMs < totalTimeoutMs ? undefined : timeout(totalTimeoutMs);
}

function timeout(totalTimeoutMs: number): Failure {
  const message = `The request was at work for more than ${totalTimeoutMs} ms. Raise totalTimeoutMs, or ask for less.`;
  return { code: "request_timeout", message };
}
