import type { ToolOutcome } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import type { Run } from "./run.ts";
import { inFlight, type Step, telling } from "./step.ts";

/** A synthetic error result, to close a call that has no result. */
export function closedBecause(type: string, message: string): { readonly content: string; readonly isError: true } {
  return { content: JSON.stringify({ error: { type, message } }), isError: true };
}

/** The result of a call that had not run when the request was stopped. */
export const NOT_RUN = closedBecause("stopped", "The request was stopped; the call did not run.");
export const NOT_ANSWERED = closedBecause(
  "stopped",
  "The request was stopped before the call was answered; its outcome is unknown.",
);

/** Emits `tool_completed` in the order of the calls. A result waits until all earlier calls have theirs. */
export function tellResults(step: Step, run: Run): Step {
  const { told } = step.agent.flight;
  const firstOpen = run.calls.findIndex(({ status }) => status !== "done");
  const ready = run.calls.slice(told, firstOpen < 0 ? run.calls.length : firstOpen);
  const outcomes = ready.map(({ call }) => ({ call, outcome: outcomeOf(step.agent, run, call.id) }));
  const next = outcomes.reduce(
    (before, { call, outcome }) =>
      telling(before, run, {
        kind: "tool_completed",
        ...(run.callId !== undefined && { callId: run.callId }),
        toolCallId: call.id,
        toolName: call.name,
        data: outcome,
      }),
    step,
  );
  return inFlight(next, { told: told + ready.length });
}

/** The committed result of a call. */
export function outcomeOf({ thread }: ReactAgent, { callId, askSeq }: Run, toolCallId: string): ToolOutcome {
  const entry = thread.filterByRef("toolCallId", toolCallId).findLast(({ seq, payload, refs }) => {
    const isOfCall = refs.callId === undefined || refs.callId === callId;
    return seq > askSeq && isOfCall && "role" in payload && payload["role"] === "tool";
  });
  const { content, isError, partial } = (entry?.payload ?? {}) as Partial<ToolOutcome>; // written by us
  return { content: content ?? "", isError: isError === true, ...(partial && { partial }) };
}
