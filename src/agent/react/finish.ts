import type { JsonValue } from "../../thread/json.ts";
import type { CallRecord } from "../call-record.ts";
import type { TerminationReason } from "../event.ts";
import type { Failure } from "../failure.ts";
import type { ContextOperation } from "../operation.ts";
import type { ToolOutcome } from "../signal.ts";
import { AT_REST, type Ending } from "./agent.ts";
import type { RequestEnd } from "./end.ts";
import { endEntry, resultEntry } from "./entries.ts";
import { applied } from "./operations.ts";
import { closedBecause, tellResults } from "./results.ts";
import { type OpenCall, openCalls, type Run } from "./run.ts";
import { committed, doing, type Step, telling } from "./step.ts";

/** Completes the request. Appends an end entry when the last answer does not carry the end. */
export function completed(step: Step, run: Run, terminationReason: TerminationReason, object?: JsonValue): Step {
  const end = { status: "completed", terminationReason } as const;
  const isSaid = step.agent.state.run === undefined;
  const over = isSaid ? step : committed(step, endEntry(run, end));
  return closing(over, over.agent.state.last?.run ?? run, end, object);
}

export function failed(step: Step, run: Run, failure: Failure, call?: { callId: string; call: CallRecord }): Step {
  return ended(step, run, { status: "failed", failure }, call);
}

/** Ends the request. Closes every open call with a result, because providers reject a call without one. */
export function ended(step: Step, run: Run, ending: Ending, call?: { callId: string; call: CallRecord }): Step {
  const open = openCalls(run);
  const results = open.map((one) => resultEntry(run, one.call.id, one.call.name, closedBy(ending, one)));
  const closed = open.length === 0 ? step : committed(step, ...results);
  const told = open.length === 0 ? step : tellResults(closed, closed.agent.state.run ?? run);
  const over = committed(told, endEntry(run, ending, call));
  return closing(over, over.agent.state.last?.run ?? run, ending);
}

/** A call that was not started has not run. For any other open call the outcome is unknown. */
function closedBy(ending: Ending, { status }: OpenCall): ToolOutcome {
  const hasNotRun = status !== "open" && status !== "started";
  return closedAtEnd(ending, hasNotRun ? "the call did not run" : "the outcome of this call is unknown");
}

export function closedAtEnd({ status }: Ending, what: string): ToolOutcome {
  return status === "cancelled"
    ? closedBecause("cancelled", `The request was cancelled; ${what}.`)
    : closedBecause("interrupted", `The request failed; ${what}.`);
}

/** The steps at every end of a run, in order: deferred operation, receipts, last token, terminal event. */
export function closing(step: Step, run: Run, end: RequestEnd, object?: JsonValue): Step {
  const { requestId, runId, iteration } = run;
  const { steers, contextOp } = step.agent.flight;
  const isOver = step.agent.state.run === undefined; // another process may have started a new run
  const changed = contextOp !== undefined && isOver ? tellApplied(applied(step, contextOp), run, contextOp) : step;
  const left = doing(
    { ...changed, agent: { ...changed.agent, flight: AT_REST } },
    ...steers.map(({ id }) => ({ type: "receipt", id, delivered: false, reason: REASONS[end.status] }) as const),
    { type: "checkpoint", requestId, runId, iteration, reason: "terminal" },
  );
  const told = doing(tellEnd(left, run, end, object), { type: "stop", requestId, runId, status: end.status });
  return contextOp === undefined ? told : doing(told, { type: "apply_context_op", operation: contextOp });
}

function tellApplied(step: Step, run: Run, { opId, contextRef }: ContextOperation): Step {
  return telling(step, run, { kind: "context_op_applied", data: { opId, lane: contextRef } });
}

/** Receipt reasons for steers that were not delivered. */
const REASONS = { completed: "closed", failed: "run_failed", cancelled: "cancelled" } as const;

function tellEnd(step: Step, run: Run, end: RequestEnd, object: JsonValue | undefined): Step {
  switch (end.status) {
    case "completed": {
      const { text, usage, usageByModel, finishReason } = run;
      const { terminationReason } = end;
      const ended = { terminationReason, ...(finishReason && { finishReason }) };
      const data = { text, ...ended, usage, usageByModel, ...(object !== undefined && { object }) };
      return telling(step, run, { kind: "request_completed", data });
    }
    case "failed":
      return telling(step, run, { kind: "request_failed", data: { failure: end.failure } });
    case "cancelled":
      return telling(step, run, { kind: "request_cancelled", data: { reason: end.reason } });
    default:
      return end satisfies never;
  }
}
