import type { Failure } from "../failure.ts";
import type { Signal } from "../signal.ts";
import { type Ending, isAtWork, type ReactAgent } from "./agent.ts";
import { handedOverEntry, resultEntry } from "./entries.ts";
import { completed, ended } from "./finish.ts";
import { NOT_ANSWERED, NOT_RUN, tellResults } from "./results.ts";
import { type OpenCall, openCalls, type Run } from "./run.ts";
import { committed, doing, inFlight, type Step, stay } from "./step.ts";
import { afterTools, endIfIdle } from "./tools.ts";

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

/** The server stops: the log says what the next one need not hold for interrupted. A run that was ending ends now. */
export function handedOver(agent: ReactAgent, { begun, workedMs }: Extract<Signal, { type: "hand_over" }>): Step {
  const { run } = agent.state;
  const { runId, ending } = agent.flight;
  if (run === undefined || runId !== run.runId || !isAtWork(agent)) return stay(agent);
  return ending === undefined
    ? committed(stay(agent), handedOverEntry(run, begun, workedMs))
    : ended(stay(agent), run, ending);
}

/** The run ends with what there is: at once where nothing is at work, else when the results are in. Nobody outside is waited for. */
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

/** Calls that nobody here is at work on get the result that they were not waited for. */
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
