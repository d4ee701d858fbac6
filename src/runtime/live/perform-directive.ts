import type { Directive, ToolExec } from "../../agent/directive.ts";
import type { EventDraft } from "../../agent/event.ts";
import { endedRun, type ReactAgent, waitingCalls } from "../../agent/react/agent.ts";
import { openCalls } from "../../agent/react/state.ts";
import type { Failure } from "../../agent/signal.ts";
import { requestCancelled, requestFailed } from "../request/request-error.ts";
import { currentRequest, effects, startWork, update, updateRequest, wait } from "./decision.ts";
import { deferCommand } from "./inbox.ts";
import type { Live, RequestState, Turn } from "./live.ts";
import { forgetRequest, limitWork, openRequest } from "./request-state.ts";
import type { Decision, Moment } from "./signal.ts";

/**
 * The effects of one directive, whose entries are durable. `rest` returns the rest of the turn, which most directives
 * do not need.
 */
export function performDirective(decision: Decision, directive: Directive, rest: () => Turn, moment: Moment): Decision {
  const { live } = decision;
  if (directive.type === "settle") {
    return effects(decision, { type: "outcome", commandId: directive.id, end: directive.end });
  }
  if (live.broken !== undefined) return decision; // the request continues or ends when the log was reloaded
  if (beginsNothing(live) && BEGINNINGS.has(directive.type)) return decision;
  const opened = "requestId" in directive && "runId" in directive ? openRequest(decision, directive, 1) : decision;
  switch (directive.type) {
    case "llm_stream": {
      const { agent } = opened.live;
      const { afterMs: ms = 0 } = directive;
      const called = update(opened, { begun: [], lastCall: { directive, agent, waits: ms > 0 } });
      // A mode, and settings of an ask, differ from call to call on purpose.
      const isOwn = agent.state.run?.options.call !== undefined || agent.settings.modes !== undefined;
      const compared = isOwn ? called : compareEnvironment(called, directive.basis.environment);
      return ms > 0 ? effects(compared, { type: "timer", name: "retry", ms }) : begin(compared, directive);
    }
    case "tool_exec": {
      const begun = [...opened.live.begun, directive.call.id];
      return begin(directive.again ? update(opened, { begun }) : opened, directive);
    }
    case "check":
    case "summarize":
      return begin(opened, directive);
    case "emit":
      return emitEvent(opened, directive.requestId, directive.event, directive.iteration, moment);
    case "checkpoint":
      return mintToken(opened, directive, rest);
    case "defer":
      return deferCommand(opened, directive, rest);
    case "schedule": {
      const { requestId: _request, runId: _run, type: _type, signal: over, ...limit } = directive;
      return limitWork(opened, { ...limit, over }, moment);
    }
    case "deadline":
      return isCurrent(opened.live, directive.requestId)
        ? effects(updateRequest(opened, { hasDeadline: true }), {
            type: "timer",
            name: "deadline",
            ms: directive.afterMs,
          })
        : opened;
    case "abort":
      // A call that waits is begun, and ends as aborted.
      return isCurrent(opened.live, directive.requestId)
        ? beginRetry(effects(opened, { type: "interrupt", reason: new Error(directive.reason) }))
        : opened;
    case "stop": {
      const { requestId } = directive;
      // The thread may stay live for a long time.
      const shorten = { type: "next", signal: { type: "shorten" } } as const;
      const forgotten = forgetRequest(update(opened, { lastCall: undefined }), requestId);
      const off = opened.live.lastCall?.waits ? [RETRY_OFF] : [];
      return effects(settleRequest(forgotten, requestId), ...off, shorten);
    }
    case "await_approval":
    case "await_answer": {
      const { call, callId } = directive;
      const { deadline } = waitingCalls(opened.live.agent).find(({ toolCallId }) => toolCallId === call.id) ?? {};
      const of = { callId, toolCallId: call.id, toolName: call.name };
      const { arguments: args } = call;
      const question = directive.type === "await_answer" && directive.question ? { question: directive.question } : {};
      const event: EventDraft =
        directive.type === "await_approval"
          ? {
              kind: "approval_requested",
              ...of,
              data: { arguments: args, ...(deadline !== undefined && { deadline }) },
            }
          : { kind: "answer_requested", ...of, data: { arguments: args, ...question } };
      const iteration = opened.live.agent.state.run?.iteration ?? 0;
      return isCurrent(opened.live, directive.requestId)
        ? effects(opened, { type: "emit", event, iteration, isReplayed: true })
        : opened;
    }
    case "send":
      return effects(opened, { type: "sent", threadId: directive.threadId, agent: directive.agent });
    case "emit_request_error":
      return opened; // the caller of `ask` reads it from the outcome
    default:
      return directive satisfies never;
  }
}

/** The model call that waits for its retry. */
export function waitsToRetry({ lastCall, agent: { flight } }: Live): Live["lastCall"] {
  return lastCall?.waits && lastCall.directive.callId === flight.call?.callId ? lastCall : undefined;
}

/** Begins the model call that has waited for its retry, if there is one. */
export function beginRetry(decision: Decision): Decision {
  const lastCall = waitsToRetry(decision.live);
  if (lastCall === undefined || decision.live.broken !== undefined) return decision;
  const begun = update(decision, { lastCall: { ...lastCall, waits: false } });
  return begin(effects(begun, RETRY_OFF), lastCall.directive);
}

const RETRY_OFF = { type: "timer", name: "retry", ms: undefined } as const;

/** Whether no work may start because of a stop. An ask from before the stop is still taken, and its first call made. */
export function beginsNothing({ stopping, isAsking, asks: [ask], agent: { state } }: Live): boolean {
  const isTaken = isAsking && ask !== undefined && ask.requestId === state.run?.requestId;
  return stopping !== undefined && (stopping.isStrict || !isTaken);
}

/** Whether a tool call has its result; "soon" while one is written because a steer skips it. Such a call must not begin. */
export function isClosed({ agent, hold }: Live, { callId, call }: ToolExec): boolean | "soon" {
  const hasResult = ({ state: { run } }: ReactAgent): boolean =>
    run?.callId === callId && !openCalls(run).some((open) => open.call.id === call.id);
  if (hasResult(agent)) return true;
  return hold?.type === "append" && hold.turn.signal.type === "skip" && hasResult(hold.step.agent) && "soon";
}

/** Directives that start work. */
const BEGINNINGS: ReadonlySet<Directive["type"]> = new Set(["llm_stream", "tool_exec", "summarize", "check"]);

function begin(
  decision: Decision,
  directive: Extract<Directive, { type: "llm_stream" | "tool_exec" | "summarize" | "check" }>,
): Decision {
  const { requestId } = directive;
  if (requestId !== undefined && decision.live.request?.id !== requestId) return decision;
  const begun = startWork(decision, (id) => ({ type: "start", id, directive }));
  return directive.type === "llm_stream" ? updateRequest(begun, { call: begun.live.work.at(-1) }) : begun;
}

/** Another prompt or other tools empty the provider's cache. The first change is reported. */
function compareEnvironment(decision: Decision, hash: string): Decision {
  const { environment } = decision.live;
  const isOther = environment.hash !== undefined && environment.hash !== hash;
  const hasChanged = environment.hasChanged || isOther;
  const compared = update(decision, { environment: { hash, hasChanged } });
  return isOther && !environment.hasChanged ? effects(compared, { type: "warn_of_change" }) : compared;
}

function isCurrent(live: Live, requestId: string): boolean {
  return currentRequest(live)?.id === requestId;
}

const TERMINAL: ReadonlySet<EventDraft["kind"]> = new Set(["request_completed", "request_failed", "request_cancelled"]);

function emitEvent(
  decision: Decision,
  requestId: string,
  given: EventDraft,
  iteration: number,
  { threadId }: Moment,
): Decision {
  const request = currentRequest(decision.live);
  if (request?.id !== requestId) return decision;
  const event = withObject(request, given);
  const emitted = effects(decision, { type: "emit", event, iteration });
  if (event.kind === "request_started") return emitUnresolved(emitted, iteration);
  if (event.kind === "tool_interrupted" && decision.live.agent.settings.traits[event.toolName] === undefined) {
    const { toolCallId, toolName } = event;
    const message = `Thread ${threadId}: the call ${toolCallId} of ${toolName} may have run, and this process has no such tool.`;
    return effects(emitted, { type: "warn", message });
  }
  return TERMINAL.has(event.kind) ? updateRequest(emitted, { hasEmittedEnd: true }) : emitted;
}

/** Emits `tool_unresolved` for each tool without code, once per request and process. */
export function emitUnresolved(decision: Decision, iteration: number): Decision {
  const { unresolved } = decision.live;
  return effects(
    decision,
    ...unresolved.map((data) => ({ type: "emit", iteration, event: { kind: "tool_unresolved", data } }) as const),
  );
}

/** Adds the checked object, which the agent does not have because it is not in the log. */
function withObject({ object }: RequestState, event: EventDraft): EventDraft {
  if (event.kind !== "request_completed" || object === undefined) return event;
  return event.data.terminationReason === "final_answer" ? { ...event, data: { ...event.data, object } } : event;
}

function mintToken(
  decision: Decision,
  { requestId, reason: phase }: Extract<Directive, { type: "checkpoint" }>,
  rest: () => Turn,
): Decision {
  const { mintsTokens, agent } = decision.live;
  const run = agent.state.run ?? agent.state.last?.run;
  if (!mintsTokens || run === undefined || !isCurrent(decision.live, requestId)) return decision;
  return wait(decision, { type: "mint", turn: rest() }, (id) => ({ type: "mint", id, agent, run, phase }));
}

/** The request has ended: its result is settled. */
function settleRequest(decision: Decision, requestId: string): Decision {
  const { request, agent } = decision.live;
  if (request?.id !== requestId || request.phase === "over") return decision;
  const last = endedRun(agent, request.runId);
  if (last === undefined) return decision;
  const over = updateRequest(decision, { phase: "over", object: undefined });
  const { end } = last;
  switch (end.status) {
    case "completed":
      return effects(over, { type: "complete", thread: agent.thread, ended: last, object: request.object });
    case "failed":
      return effects(over, {
        type: "reject",
        error: requestFailed(requestId, end.failure, causeOf(request, end.failure), last.run),
      });
    case "cancelled":
      return effects(over, { type: "reject", error: requestCancelled(requestId, end.reason, last.run) });
    default:
      return end satisfies never;
  }
}

/** The cause of a failure. The last error is not the cause if a retry after it succeeded. */
function causeOf({ thrown }: RequestState, { code }: Failure): unknown {
  return thrown?.code === code ? thrown.error : undefined;
}
