import type { Signal } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import { completed, ended } from "./finish.ts";
import { nextCall } from "./next-call.ts";
import { usageIn } from "./state.ts";
import { committed, inFlight, type Step, stay, telling } from "./step.ts";

/** A summary was written: it is appended, with what its call was made from, and the run that waited for it goes on. */
export function summarized(
  agent: ReactAgent,
  { lane, payload, call }: Extract<Signal, { type: "summary_result" }>,
): Step {
  const { run } = agent.state;
  // What somebody else has asked for, the request does not pay for.
  const isOwn = run !== undefined && agent.flight.summary?.toSeq === payload.toSeq;
  const refs = isOwn ? { requestId: run.requestId, runId: run.runId } : {};
  const said = { ...payload, contextRef: lane, ...(call !== undefined && { call }) };
  const next = committed(stay(agent), { kind: "summary", payload: said, refs });
  if (run === undefined) return next;
  const { fromSeq, toSeq } = payload;
  const data = { fromSeq, toSeq, ...(call !== undefined && { usage: usageIn(call) }) };
  return goingOn(telling(next, run, { kind: "summary_completed", data }), toSeq);
}

export function notSummarized(agent: ReactAgent, { toSeq, reason }: Extract<Signal, { type: "summary_failed" }>): Step {
  const { run } = agent.state;
  const step = stay(agent);
  return goingOn(
    run === undefined ? step : telling(step, run, { kind: "summary_failed", data: { toSeq, reason } }),
    toSeq,
  );
}

/** Only the summary that the run waits for lets it go on; somebody may have asked for others. */
function goingOn(step: Step, toSeq: number): Step {
  const { run } = step.agent.state;
  const { summary, ending, finishing } = step.agent.flight;
  if (run === undefined || summary?.toSeq !== toSeq) return step;
  const free = inFlight(step, { summary: undefined });
  if (ending !== undefined) return ended(free, run, ending);
  return finishing === undefined ? nextCall(free, run) : completed(free, run, finishing);
}
