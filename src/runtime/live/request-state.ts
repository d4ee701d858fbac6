import type { Suspension } from "../../agent/event.ts";
import { isWaiting, nextDeadline, willOnlyWait } from "../../agent/react/agent.ts";
import type { Failure } from "../../agent/signal.ts";
import { RequestError, requestFailed, requestSuspended } from "../request/request-error.ts";
import { currentRequest, effects, update, updateRequest } from "./decision.ts";
import type { Live, RequestState, WorkTime } from "./live.ts";
import type { Decision, Moment } from "./signal.ts";

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

/** The agent has its own tools and models again. */
export function takeBackTools(decision: Decision, requestId: string): Decision {
  const { given, ownTools, ownModels, agent } = decision.live;
  if (given?.requestId !== requestId) return decision;
  const settings = { ...agent.settings, ...ownTools, ...ownModels };
  return update(decision, { given: undefined, agent: { ...agent, settings } });
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

/** Milliseconds at work, over all starts. */
export function workedMs({ workedMs: before, since }: WorkTime, { now }: Moment): number {
  return Math.round(before + (since === undefined ? 0 : Math.max(0, now - since)));
}

/** For the log: how long the request was at work, if it has a time limit. */
export function workTime(request: RequestState | undefined, moment: Moment): { readonly workedMs?: number } {
  return request?.time === undefined ? {} : { workedMs: workedMs(request.time, moment) };
}

/** Limits the time that the request may be at work from now on. */
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

/** The request waits, or works again, after a signal. Its time stands still while it waits. */
export function lookAtRequest(decision: Decision, moment: Moment): Decision {
  const request = currentRequest(decision.live);
  const { agent } = decision.live;
  if (request === undefined) return decision;
  // A command may come before the request is resumed. Until then, an interrupted call is open, and only the log says what waits.
  const waits = agent.flight.runId === request.runId ? isWaiting(agent) : willOnlyWait(agent);
  if (waits === (request.phase === "waiting")) return decision;
  const { time } = request;
  const turned = updateRequest(decision, {
    phase: waits ? "waiting" : "running",
    ...(time && { time: { ...time, workedMs: workedMs(time, moment), since: waits ? undefined : moment.now } }),
  });
  const { rev } = agent.thread;
  const noted = effects(turned, { type: "rest", waits }, { type: "follow", fromSeq: waits ? rev : undefined });
  return setTimers(noted, moment);
}

/** Sets the timer for the next deadline of an approval. */
export function setApprovalTimer(decision: Decision): Decision {
  const { agent, request } = decision.live;
  const at = currentRequest(decision.live) && nextDeadline(agent);
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

/** Looks at the log again when it will be too far behind the work time. */
export function setNoteTimer(decision: Decision, moment: Moment): Decision {
  const { request, agent } = decision.live;
  const { time } = request ?? {};
  if (time === undefined) return decision;
  const logged = agent.state.run?.workedMs ?? 0;
  const left = logged + time.noteEveryMs - workedMs(time, moment);
  const ms = time.since === undefined ? undefined : Math.max(1, left <= 0 ? time.noteEveryMs : left);
  return effects(decision, { type: "timer", name: "note", ms });
}

/** Whether the log is as far behind the work time as it may be. */
export function isNoteDue(decision: Decision, moment: Moment): boolean {
  const { request, agent } = decision.live;
  if (request?.time === undefined) return false;
  return workedMs(request.time, moment) - (agent.state.run?.workedMs ?? 0) >= request.time.noteEveryMs;
}
