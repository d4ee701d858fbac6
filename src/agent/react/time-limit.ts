import type { Failure, Signal, StoredRequestOptions } from "../signal.ts";
import { addDirectives, commitEntries, hasPendingWork, type ReactAgent, type Step, unchanged } from "./agent.ts";
import { workedEntry } from "./entries.ts";
import type { Run } from "./state.ts";

/**
 * Schedules the run's time limit, which counts over all process starts. Waiting for approvals or outside answers does not
 * count, nor does the time between two starts.
 */
export function scheduleTimeLimit(step: Step, run: Run): Step {
  return scheduleWorkLimit(scheduleDeadline(step, run), run);
}

export function scheduleWorkLimit(step: Step, run: Run): Step {
  const { requestId, runId, workedMs } = run;
  const { totalTimeoutMs } = step.agent.settings;
  if (totalTimeoutMs === undefined) return step;
  const afterMs = Math.max(0, totalTimeoutMs - workedMs);
  const signal = { type: "fail", failure: timeout(totalTimeoutMs) } as const;
  const noteEveryMs = Math.max(1, Math.ceil(totalTimeoutMs / NOTES));
  return addDirectives(step, { type: "schedule", requestId, runId, afterMs, workedMs, noteEveryMs, signal });
}

/** Timers take no longer times. The deadline is checked when one ends. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function scheduleDeadline(step: Step, { requestId, runId, options: { deadline } }: Run): Step {
  if (deadline === undefined) return step;
  const afterMs = Math.min(Math.max(0, deadline - step.agent.ports.clock()), MAX_TIMER_MS);
  return addDirectives(step, { type: "deadline", requestId, runId, afterMs });
}

/** The deadline is not over, by the clock: looks again later. */
export function rescheduleDeadline(agent: ReactAgent): Step {
  const { run } = agent.state;
  return run === undefined || run.runId !== agent.flight.runId
    ? unchanged(agent)
    : scheduleDeadline(unchanged(agent), run);
}

/** The failure of a request whose deadline is over; else undefined. */
export function deadlineFailure(
  { ports }: Pick<ReactAgent, "ports">,
  { deadline }: StoredRequestOptions,
): Failure | undefined {
  if (deadline === undefined || ports.clock() < deadline) return undefined;
  const message = "The request was not done at its deadline. Ask again with a later one, or ask for less.";
  return { code: "deadline_exceeded", message };
}

/** The log records the work time at least at each tenth of the limit. A killed process loses at most that much. */
const NOTES = 10;

/** Records the work time, unless the log has it already or the run is ending or waiting. */
export function handleWorked(agent: ReactAgent, { workedMs }: Extract<Signal, { type: "worked" }>): Step {
  const { run } = agent.state;
  const { runId, ending } = agent.flight;
  const isWorking = run !== undefined && runId === run.runId && ending === undefined && hasPendingWork(agent);
  return isWorking && workedMs > run.workedMs
    ? commitEntries(unchanged(agent), workedEntry(run, workedMs))
    : unchanged(agent);
}

/** The failure of a run that has used up its time; else undefined. */
export function timeLimitFailure({ settings: { totalTimeoutMs } }: ReactAgent, { workedMs }: Run): Failure | undefined {
  return totalTimeoutMs === undefined || workedMs < totalTimeoutMs ? undefined : timeout(totalTimeoutMs);
}

function timeout(totalTimeoutMs: number): Failure {
  const message = `The request worked for more than ${totalTimeoutMs} ms. Raise totalTimeoutMs, or ask for less.`;
  return { code: "request_timeout", message };
}
