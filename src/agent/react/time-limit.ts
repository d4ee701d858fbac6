import type { Failure } from "../failure.ts";
import type { ReactAgent } from "./agent.ts";
import type { Run } from "./run.ts";
import { doing, type Step } from "./step.ts";

/**
 * Schedules the run's time limit, which counts over all process starts. Waiting for approvals or outside answers does not
 * count, nor does the time between two starts.
 */
export function limited(step: Step, { requestId, runId, workedMs }: Run): Step {
  const { totalTimeoutMs } = step.agent.settings;
  if (totalTimeoutMs === undefined) return step;
  const afterMs = Math.max(0, totalTimeoutMs - workedMs);
  const signal = { type: "fail", failure: timeout(totalTimeoutMs) } as const;
  return doing(step, { type: "schedule", requestId, runId, afterMs, workedMs, signal });
}

/** The failure of a run that has used up its time; else undefined. */
export function spentTime({ settings: { totalTimeoutMs } }: ReactAgent, { workedMs }: Run): Failure | undefined {
  return totalTimeoutMs === undefined || workedMs < totalTimeoutMs ? undefined : timeout(totalTimeoutMs);
}

function timeout(totalTimeoutMs: number): Failure {
  const message = `The request was at work for more than ${totalTimeoutMs} ms. Raise totalTimeoutMs, or ask for less.`;
  return { code: "request_timeout", message };
}
