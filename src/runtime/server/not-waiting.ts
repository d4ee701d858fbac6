import { type ReactAgent, waitingCalls } from "../../agent/react/agent.ts";
import { isInTime } from "../../agent/react/tools.ts";
import type { Entry } from "../../thread/entry.ts";
import type { JsonObject } from "../../thread/json.ts";
import { RequestError } from "../request/request-error.ts";

/** The error of a decision or an answer that no call waits for. It says why. */
export function notWaiting(agent: ReactAgent, wanted: Wanted): RequestError {
  const { toolCallId, requestId } = wanted;
  const isOther = requestId !== undefined && requestId !== agent.state.run?.requestId;
  const message = isOther ? `The request ${requestId} is not open.` : reasonOf(agent, toolCallId);
  return new RequestError({ code: "not_waiting", retryable: !isOther && isEarly(agent, wanted), message });
}

/** The call runs, and may wait later: a system outside may answer before the question of the tool is stored. */
function isEarly({ thread, state }: ReactAgent, { type, toolCallId: id }: Wanted): boolean {
  const { status } = state.run?.calls.find(({ call }) => call.id === id) ?? {};
  if (status !== "started" && status !== "approved") return status === "open";
  const wasAnswered = thread.filterByRef("toolCallId", id, { partial: true }).at(-1)?.kind === "question_answered";
  return type.startsWith("answer") && !wasAnswered;
}

interface Wanted {
  /** `answer`, or a decision. */
  readonly type: string;
  readonly toolCallId: string;
  readonly requestId?: string | undefined;
}

function reasonOf(agent: ReactAgent, id: string): string {
  const { thread, state, ports } = agent;
  const entries = thread.filterByRef("toolCallId", id, { partial: true });
  const open = state.run?.calls.find(({ call }) => call.id === id);
  if (open === undefined) return pastReason(agent, id, entries);
  const { status } = open;
  switch (status) {
    case "approval_requested":
      return isInTime(open, ports.clock())
        ? `Call ${id} waits for an approval, not for an answer: approve or deny it.`
        : `The deadline of the approval of call ${id} has passed.`;
    case "asked":
      return `Call ${id} waits for the answer to its question, not for an approval: answer it.`;
    case "asleep":
      return `Call ${id} sleeps until its time. It waits for no decision.`;
    case "delegated":
      return `Call ${id} waits for another agent. Decide the calls of its thread, or cancel the request.`;
    case "answered":
      return `The question of call ${id} was answered before.`;
    case "open":
      return `Call ${id} does not wait yet. Decide it after the event approval_requested or answer_requested.`;
    case "approved":
    case "started":
      if (entries.at(-1)?.kind === "question_answered") return `The question of call ${id} was answered before.`;
      return `Call ${id} was approved before, or needs no approval, and runs. If its tool asks a question, answer it after the event answer_requested.`;
    case "denied":
    case "done":
      return pastReason(agent, id, entries);
    default:
      return status satisfies never;
  }
}

/** The call has its result, or is not known. */
function pastReason(agent: ReactAgent, id: string, entries: readonly Entry[]): string {
  const payloads = entries.map(({ payload }) => payload as JsonObject); // payloads are JSON
  const { approved, expired } = payloads.findLast((payload) => "approved" in payload) ?? {};
  if (expired === true) return `The deadline of the approval of call ${id} has passed.`;
  if (approved === true) return `Call ${id} was approved before, and has its result.`;
  if (approved === false) return `Call ${id} was denied before.`;
  const { requestId } = entries.at(-1)?.refs ?? {};
  if (requestId === undefined) {
    const waiting = waitingCalls(agent).map(({ toolCallId }) => toolCallId);
    return `No call ${id} is known. ${waiting.length === 0 ? "No call waits." : `These wait: ${waiting.join(", ")}.`}`;
  }
  if (requestId !== agent.state.run?.requestId) return `The request ${requestId} of call ${id} has ended.`;
  return `Call ${id} was answered before, or has run: it has its result.`;
}
