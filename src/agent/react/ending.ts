import type { Failure } from "../failure.ts";
import type { Signal } from "../signal.ts";
import { type Ending, isAtWork, type ReactAgent } from "./agent.ts";
import { completed } from "./finish.ts";
import { openCalls } from "./run.ts";
import { doing, inFlight, type Step, stay } from "./step.ts";
import { endIfIdle } from "./tools.ts";

/** Somebody wants the run to end: what is at work is interrupted, and the end is committed when it has said its last. */
export function cancelled(
  agent: ReactAgent,
  { requestId, reason = "The request was cancelled." }: Extract<Signal, { type: "cancel" }>,
): Step {
  const { run } = agent.state;
  if (requestId !== undefined && requestId !== run?.requestId) return stay(agent);
  return ending(agent, { status: "cancelled", reason });
}

export function broken(agent: ReactAgent, failure: Failure): Step {
  return ending(agent, { status: "failed", failure });
}

/** The first reason counts. */
function ending(agent: ReactAgent, why: Ending): Step {
  const { run } = agent.state;
  if (run === undefined || agent.flight.ending !== undefined) return stay(agent);
  const reason = why.status === "cancelled" ? why.reason : why.failure.code;
  const { requestId, runId } = run;
  const aborting = doing(inFlight(stay(agent), { ending: why }), { type: "abort", requestId, runId, reason });
  return endIfIdle(aborting, run);
}

/** The run ends with what there is: at once where nothing is open, else when the results are in. */
export function finished(agent: ReactAgent, { terminationReason }: Extract<Signal, { type: "finish" }>): Step {
  const { run } = agent.state;
  if (run === undefined || agent.flight.ending !== undefined) return stay(agent);
  if (isAtWork(agent) || openCalls(run).length > 0) return inFlight(stay(agent), { finishing: terminationReason });
  return completed(stay(agent), run, terminationReason);
}
