import type { Suspension } from "../../agent/event.ts";
import { isWaiting, nextDeadline, willOnlyWait } from "../../agent/react/agent.ts";
import { hasChildren } from "../../agent/react/state.ts";
import type { Failure } from "../../agent/signal.ts";
import { RequestError, requestFailed, requestSuspended } from "../request/request-error.ts";
import { currentRequest, effects, update, updateRequest } from "./decision.ts";
import type { Live, RequestState, WorkTime } from "./live.ts";
import type { Decision, Moment } from "./signal.ts";

/** Opens a request here, unless it is open. A suspended one is opened again, one that has ended is not. */
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

/** Clears the tools, the time limit and the log watch of a request that has ended here. */
export function forgetRequest(decision: Decision, requestId: string): Decision {
  const forgotten = effects(removeRequestTools(decision, requestId), { type: "forget", requestId });
  if (decision.live.request?.id !== requestId) return forgotten;
  return effects(stopTime(forgotten), { type: "follow", fromSeq: undefined });
}

/** Removes the tools and models of the request: the agent has its own again. */
export function removeRequestTools(decision: Decision, requestId: string): Decision {
  const { given, ownTools, ownModels, agent } = decision.live;
  if (given?.requestId !== requestId) return decision;
  const settings = { ...agent.settings, ...ownTools, ...ownModels };
  return update(decision, { given: undefined, agent: { ...agent, settings } });
}

/** Why this process does not run an open request. */
export function suspensionIn({ broken }: Live): Suspension {
  return broken?.suspension ?? { reason: broken === undefined ? "stopped" : "store" };
}

/** Ends a request here but not in the log. If only the store was away, the values of its caller are kept for a resume. */
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

/** The working time over all starts, in milliseconds. */
export function workedMs({ workedMs: before, since }: WorkTime, { now }: Moment): number {
  return Math.round(before + (since === undefined ? 0 : Math.max(0, now - since)));
}

/** The working time for the log, if the request has a time limit. */
export function workTime(request: RequestState | undefined, moment: Moment): { readonly workedMs?: number } {
  return request?.time === undefined ? {} : { workedMs: workedMs(request.time, moment) };
}

/** Sets the working time that is left to the request. */
export function limitWork(
  decision: Decision,
  {
    afterMs,
    workedMs: before,
    noteEveryMs,
    over,
  }: {
    readonly afterMs: number;
    readonly workedMs: number;
    readonly noteEveryMs: number;
    readonly over: WorkTime["over"];
  },
  moment: Moment,
): Decision {
  const request = currentRequest(decision.live);
  if (request === undefined) return decision;
  const since = request.phase === "waiting" ? undefined : moment.now;
  const time: WorkTime = { limitMs: before + afterMs, noteEveryMs, workedMs: before, since, over };
  return setTimers(updateRequest(decision, { time }), moment);
}

/** Updates whether the request waits, after a signal. Its working time is paused while it waits. */
export function updatePhase(decision: Decision, moment: Moment): Decision {
  const request = currentRequest(decision.live);
  const { agent } = decision.live;
  if (request === undefined) return decision;
  // A command may come before the request is resumed. Until then interrupted calls are open, so the log says whether it
  // waits.
  const waits = agent.flight.runId === request.runId ? isWaiting(agent) : willOnlyWait(agent);
  // A request whose calls wait for agents is running for those who watch it.
  const delegates = waits && hasChildren(agent.state.run);
  const { delegates: before = false } = request;
  if (waits === (request.phase === "waiting")) {
    if (delegates === before) return decision;
    return effects(updateRequest(decision, { delegates }), { type: "rest", waits: waits && !delegates });
  }
  const { time } = request;
  const turned = updateRequest(decision, {
    phase: waits ? "waiting" : "running",
    ...(delegates !== before && { delegates }),
    ...(time && { time: { ...time, workedMs: workedMs(time, moment), since: waits ? undefined : moment.now } }),
  });
  const { rev } = agent.thread;
  const noted = effects(
    turned,
    { type: "rest", waits: waits && !delegates },
    { type: "follow", fromSeq: waits ? rev : undefined },
  );
  return setTimers(noted, moment);
}

/** Sets the timer for the next deadline of an approval. A request that ends has none: its calls are closed with it. */
export function setApprovalTimer(decision: Decision): Decision {
  const { agent, request } = decision.live;
  const isOpen = currentRequest(decision.live) !== undefined && agent.flight.ending === undefined;
  const at = isOpen ? nextDeadline(agent) : undefined;
  if (request === undefined || at === request.approvalDeadline) return decision;
  const timer = { type: "timer", name: "approval", ms: undefined, ...(at !== undefined && { at }) } as const;
  return effects(updateRequest(decision, { approvalDeadline: at }), timer);
}

/** No timer of the request fires from now on. */
function stopTime(decision: Decision): Decision {
  const { time, hasDeadline = false } = decision.live.request ?? {};
  const off = { type: "timer", ms: undefined } as const;
  const stopped = hasDeadline
    ? effects(updateRequest(decision, { hasDeadline: false }), { ...off, name: "deadline" })
    : decision;
  if (time === undefined) return stopped;
  return effects(updateRequest(stopped, { time: undefined }), { ...off, name: "limit" }, { ...off, name: "note" });
}

function setTimers(decision: Decision, moment: Moment): Decision {
  const { time } = decision.live.request ?? {};
  if (time === undefined) return decision;
  const ms = time.since === undefined ? undefined : Math.max(0, time.limitMs - workedMs(time, moment));
  return setNoteTimer(effects(decision, { type: "timer", name: "limit", ms }), moment);
}

/** Sets the timer for the next record of the working time. */
export function setNoteTimer(decision: Decision, moment: Moment): Decision {
  const { request, agent } = decision.live;
  const { time } = request ?? {};
  if (time === undefined) return decision;
  const logged = agent.state.run?.workedMs ?? 0;
  const left = logged + time.noteEveryMs - workedMs(time, moment);
  const ms = time.since === undefined ? undefined : Math.max(1, left <= 0 ? time.noteEveryMs : left);
  return effects(decision, { type: "timer", name: "note", ms });
}

/** Whether the working time has to be recorded now. */
export function isNoteDue(decision: Decision, moment: Moment): boolean {
  const { request, agent } = decision.live;
  if (request?.time === undefined) return false;
  return workedMs(request.time, moment) - (agent.state.run?.workedMs ?? 0) >= request.time.noteEveryMs;
}
