import type { Suspension } from "../../agent/event.ts";
import type { Failure } from "../../agent/signal.ts";
import { RequestError, requestFailed, requestSuspended } from "../request/request-error.ts";
import { currentRequest, effects, update, updateRequest } from "./decision.ts";
import type { Live, RequestState } from "./live.ts";
import type { Decision } from "./signal.ts";
import { stopTime } from "./work-time.ts";

/** Opens a request here, unless it is known. One that has ended does not open again, and one that was suspended does. */
export function openRequest(
  decision: Decision,
  { requestId: id, runId }: { readonly requestId: string; readonly runId: string },
  firstEventSeq: number,
): Decision {
  const { request } = decision.live;
  // The run distinguishes it from a request of a thread that was deleted since.
  const isKnown = request?.id === id && request.runId === runId;
  if (isKnown && request.phase !== "suspended") return decision;
  const fresh: RequestState = { id, runId, phase: "running", hasEmittedEnd: false };
  return effects(update(decision, { request: fresh }), { type: "open_request", requestId: id, runId, firstEventSeq });
}

/** The request does not need its tools, its time limit and its place in the log any more. */
export function forgetRequest(decision: Decision, requestId: string): Decision {
  if (decision.live.request?.id !== requestId) return effects(decision, { type: "forget", requestId });
  const forgotten = effects(stopTime(decision), { type: "forget", requestId }, { type: "follow", fromSeq: undefined });
  return takeBackTools(forgotten, requestId);
}

/** The agent has its own tools again. */
export function takeBackTools(decision: Decision, requestId: string): Decision {
  const { given, ownTools, agent } = decision.live;
  if (given?.requestId !== requestId) return decision;
  return update(decision, { given: undefined, agent: { ...agent, settings: { ...agent.settings, ...ownTools } } });
}

/** Why this process does not carry an open request. */
export function suspensionIn({ broken }: Live): Suspension {
  return broken?.suspension ?? { reason: broken === undefined ? "stopped" : "store" };
}

/** Ends a request here and not in the log. If only the store was away, it may be resumed here: what the caller gave is kept. */
export function suspendRequest(
  decision: Decision,
  suspension: Suspension,
  why: { readonly failure?: Failure; readonly cause?: unknown },
): Decision {
  const request = currentRequest(decision.live);
  if (request === undefined || request.hasEmittedEnd) return decision;
  const stopped = suspension.reason === "store" ? stopTime(decision) : forgetRequest(decision, request.id);
  const error = requestSuspended(request.id, suspension, why);
  const iteration = decision.live.agent.state.run?.iteration ?? 0;
  return effects(
    updateRequest(stopped, { phase: "suspended" }),
    { type: "interrupt", reason: error },
    { type: "suspend", suspension, iteration, error },
  );
}

/** Ends a request with a failure that the log does not have. */
export function closeRequest(decision: Decision, failure: Failure, cause: unknown): Decision {
  const request = currentRequest(decision.live);
  if (request === undefined) return decision;
  const { code, message } = failure;
  return effects(
    updateRequest(forgetRequest(decision, request.id), { phase: "over" }),
    { type: "interrupt", reason: new RequestError({ code, message }) },
    { type: "emit", event: { kind: "request_failed", data: { failure } }, iteration: 0 },
    { type: "reject", error: requestFailed(request.id, failure, cause) },
  );
}
