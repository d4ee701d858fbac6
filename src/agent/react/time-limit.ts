import type { Run } from "./run.ts";
import { doing, type Step } from "./step.ts";

/** A run may be at work for so long; the time that it waits for somebody outside does not count. */
export function limited(step: Step, { requestId, runId }: Run): Step {
  const { totalTimeoutMs: afterMs } = step.agent.settings;
  if (afterMs === undefined) return step;
  const message = `The request was at work for more than ${afterMs} ms. Raise totalTimeoutMs, or ask for less.`;
  const signal = { type: "fail", failure: { code: "request_timeout", message } } as const;
  return doing(step, { type: "schedule", requestId, runId, afterMs, signal });
}
