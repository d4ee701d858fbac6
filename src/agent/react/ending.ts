import type { Failure } from "../failure.ts";
import type { Signal } from "../signal.ts";
import { type Ending, isAtWork, type ReactAgent } from "./agent.ts";
import { handedOverEntry, resultEntry } from "./entries.ts";
import { completed, ended } from "./finish.ts";
import { NOT_ANSWERED, NOT_RUN, tellResults } from "./results.ts";
import { type OpenCall, openCalls, type Run } from "./run.ts";
import { committed, doing, inFlight, type Step, stay } from "./step.ts";
import { afterTools, endIfIdle } from "./tools.ts";

/** Cancels the run: aborts running calls, and commits the end when all have reported back. */
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

/** Starts to end the run. Later reasons are ignored. */
function ending(agent: ReactAgent, why: Ending): Step {
  const { run } = agent.state;
  if (run === undefined || agent.flight.ending !== undefined) return stay(agent);
  const reason = why.status === "cancelled" ? why.reason : why.failure.code;
  const { requestId, runId } = run;
  const aborting = doing(inFlight(stay(agent), { ending: why }), { type: "abort", requestId, runId, reason });
  return endIfIdle(aborting, run);
}

/** The server stops. Notes which calls have started, so that the next server resumes the others. A run that is ending ends now. */
export function handedOver(agent: ReactAgent, { begun, workedMs }: Extract<Signal, { type: "hand_over" }>): Step {
  const { run } = agent.state;
  const { runId, ending } = agent.flight;
  if (run === undefined || runId !== run.runId || !isAtWork(agent)) return stay(agent);
  return ending === undefined
    ? committed(stay(agent), handedOverEntry(run, begun, workedMs))
    : ended(stay(agent), run, ending);
}

/** Completes the run with the answer so far, after running calls have finished. Does not wait for approvals or outside answers. */
export function finished(
  agent: ReactAgent,
  { requestId, terminationReason }: Extract<Signal, { type: "finish" }>,
): Step {
  const { run } = agent.state;
  const isOther = requestId !== undefined && requestId !== run?.requestId;
  if (run === undefined || isOther || agent.flight.ending !== undefined) return stay(agent);
  const waiting = openCalls(run).filter(({ call }) => !agent.flight.running.includes(call.id));
  const finishing = inFlight(stay(agent), { finishing: terminationReason });
  if (waiting.length > 0) return unwaited(finishing, run, waiting);
  return isAtWork(agent) ? finishing : completed(finishing, run, terminationReason);
}

/** Closes calls that are not running with a result that says so. */
function unwaited(step: Step, before: Run, waiting: readonly OpenCall[]): Step {
  const results = waiting.map(({ call, status }) => {
    const mayHaveRun = status === "open" || status === "started";
    return resultEntry(before, call.id, call.name, mayHaveRun ? NOT_ANSWERED : NOT_RUN);
  });
  const closed = committed(step, ...results);
  const run = closed.agent.state.run ?? before;
  const told = tellResults(closed, run);
  return openCalls(run).length > 0 ? told : afterTools(told, run);
}
