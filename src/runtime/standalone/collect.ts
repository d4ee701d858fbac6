import type { AgentEvent } from "../../agent/event.ts";
import { RequestError, requestCancelled, requestFailed } from "../request/request-error.ts";
import { type CallSummary, endedWith, type RequestResult } from "../request/result.ts";

/** The result that a run's events tell of: the same as the run's own, but for the thread, which no event carries. */
export async function collectEvents(events: AsyncIterable<AgentEvent>): Promise<RequestResult> {
  const calls: CallSummary[] = [];
  let requestId: string | undefined;
  for await (const event of events) {
    requestId = event.requestId;
    switch (event.kind) {
      case "llm_completed":
        calls.push({ callId: event.callId, usage: event.data.usage, view: event.data.view });
        break;
      case "request_completed": {
        const { object, terminationReason, ...said } = event.data;
        const ended = endedWith(terminationReason, object);
        return Object.freeze({ requestId, runId: event.runId, ...said, calls, ...ended });
      }
      case "request_failed":
        throw requestFailed(requestId, event.data.failure);
      case "request_cancelled":
        throw requestCancelled(requestId, event.data.reason);
      default:
        break;
    }
  }
  const message =
    "The events ended without a terminal one: the run waits, or the stream was cut. Continue its last token.";
  throw new RequestError({ code: "events_incomplete", message, ...(requestId !== undefined && { requestId }) });
}
