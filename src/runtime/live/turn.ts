import type { Directive } from "../../agent/directive.ts";
import { isWaiting, type ReactAgent, type Step } from "../../agent/react/agent.ts";
import { decideDurable, decideNext } from "../../agent/react/decide.ts";
import { commandEntryId } from "../../agent/react/entries.ts";
import { opIdReused } from "../../agent/react/operations.ts";
import { evolve } from "../../agent/react/state.ts";
import type { Signal } from "../../agent/signal.ts";
import { lanesOfExtended } from "../../lanes/active-lane.ts";
import { readCut } from "../../lanes/answer-cut.ts";
import { ContextOpError } from "../../lanes/context-operation.ts";
import { settingIdReused } from "../../lanes/setting.ts";
import type { CommandInput } from "../../stores/command.ts";
import { CommandError, ConflictError, EntryIdReuseError, StoreError, threadNotFound } from "../../stores/errors.ts";
import type { AppendResult } from "../../stores/port.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { JsonObject } from "../../thread/json.ts";
import { failureOf, RequestError } from "../request/request-error.ts";
import { askDecided } from "./asks.ts";
import { currentRequest, effects, followedBy, update, updateRequest, wait } from "./decision.ts";
import {
  cancelOfEnded,
  consumedAsk,
  consumedBy,
  endCommandOf,
  sentBy,
  unreportedEnd,
  withoutCommand,
  withoutRows,
} from "./inbox.ts";
import { type Hold, type Live, NOT_RESUMED, type Turn } from "./live.ts";
import { performDirective, waitsToRetry } from "./perform-directive.ts";
import { setApprovalTimer, updatePhase } from "./request-state.ts";
import { rescheduled } from "./schedule.ts";
import type { Decision, LiveSignal, Moment } from "./signal.ts";
import { closeLive } from "./stopping.ts";
import { breakDown } from "./store-failure.ts";
import { metadataOf } from "./thread-metadata.ts";

/** Decides a signal of the agent. */
export function takeTurn(
  decision: Decision,
  signal: Signal,
  moment: Moment,
  { reply, isFromWork = false }: { readonly reply?: string | undefined; readonly isFromWork?: boolean } = {},
): Decision {
  const before = decision.live.agent;
  const turn: Turn = {
    signal,
    reply,
    isFromWork,
    before,
    stage: "durable",
    performed: [],
    todo: [],
    alone: [],
  };
  // Another process may have written since. The agent must read its entries before it decides.
  return signal.type === "notice"
    ? wait(decision, { type: "catch_up", turn, step: undefined, error: undefined }, (id) => ({
        type: "catch_up",
        id,
        agent: before,
      }))
    : decideTurn(decision, turn, moment);
}

export function decideTurn(decision: Decision, turn: Turn, moment: Moment): Decision {
  const { agent } = decision.live;
  let step: Step;
  try {
    step = turn.stage === "next" ? decideNext(agent) : decideDurable(agent, asOfNow(turn.signal, decision.live));
  } catch (error) {
    return undecided(decision, turn, error, moment);
  }
  return takeStep(decision, turn, step, moment);
}

/** A turn that is decided again may find more calls begun. */
function asOfNow(signal: Signal, live: Live): Signal {
  if (signal.type === "finish") return { ...signal, callWaits: waitsToRetry(live) !== undefined };
  return signal.type === "skip" ? { ...signal, begun: live.begun } : signal;
}

/** Appends the entries of a step and the outcomes of waiting commands, before anything else. */
function takeStep(decision: Decision, turn: Turn, step: Step, moment: Moment): Decision {
  const { agent: before } = decision.live;
  const fresh = { ...turn, todo: step.directives };
  const hasEntries = step.agent.thread.rev > before.thread.rev;
  const [ask] = turn.signal.type === "ask" && hasEntries ? decision.live.asks : [];
  const { run, last } = step.agent.state;
  const askSeq = (run ?? last?.run)?.askSeq ?? before.thread.rev; // messages that waited may come before it
  const delivered = { status: "delivered", seq: askSeq } as const;
  const consumes = [
    ...consumedBy(decision.live, step.directives),
    ...(ask === undefined ? [] : consumedAsk(decision.live, ask, delivered)),
    ...cancelOfEnded(decision.live, step),
  ];
  if (!hasEntries && consumes.length === 0) return performTurn(update(decision, { agent: step.agent }), fresh, moment);
  const end = decision.live.postsCommands ? endCommandOf(decision.live, step) : undefined;
  const metadata = {
    ...(hasEntries && metadataOf(decision.live, before, step, moment)),
    ...unreportedEnd(decision.live, end, consumes),
  };
  return wait(decision, { type: "append", turn: fresh, step, consumes }, (id) => {
    const posts = end === undefined ? [] : [end];
    const change = rescheduled(decision.live, step.agent, { consumes, posts });
    const sends = turn.sendsNothing ? [] : sentBy(step.directives);
    const owner = ask?.owner;
    return { type: "append", id, before, after: step.agent, metadata, owner, consumes, posts, sends, ...change };
  });
}

/** The decision failed: a function of the caller threw, or more of the thread has to be loaded. */
function undecided(decision: Decision, turn: Turn, error: unknown, moment: Moment): Decision {
  const { agent } = decision.live;
  if (needsMore(error)) {
    return wait(decision, { type: "load", turn }, (id) => ({ type: "load", id, thread: agent.thread, error }));
  }
  if (isRefusal(turn, error)) return refuseCommand(decision, turn, error, moment);
  const isAsk = turn.signal.type === "ask";
  if (turn.stage === "durable" && !isAsk) return endTurn(decision, turn, { error }, moment);
  const message = "The projector, a reader or the token counter of the agent threw an error; `cause` has it.";
  const failure = failureOf(error, { code: "projection_failed", message });
  const { code } = failure;
  const request = currentRequest(decision.live);
  const origin = { code, threadId: moment.threadId, ...(request && { requestId: request.id }) };
  const reported = effects(updateRequest(decision, { thrown: { error, code } }), { type: "report", error, origin });
  // An ask calls functions of the caller before it is written. If one throws, the ask is refused.
  if (isAsk) return endTurn(reported, turn, { error: new RequestError({ ...failure, cause: error }) }, moment);
  return decideTurn(reported, { ...turn, stage: "durable", signal: { type: "fail", failure } }, moment);
}

/** Whether more of the thread has to be loaded. */
export function needsMore(error: unknown): boolean {
  return HeddleError.isInstance(error) && (error.code === "tail_too_short" || error.code === "lane_not_loaded");
}

/** Whether a deferred operation is refused. No caller waits for its error. */
function isRefusal({ signal, reply }: Turn, error: unknown): error is HeddleError {
  return signal.type === "context_op" && reply === undefined && ContextOpError.isInstance(error);
}

/** A deferred operation cannot be applied any more. The refusal is its outcome. */
function refuseCommand(decision: Decision, turn: Turn, { code, message }: HeddleError, moment: Moment): Decision {
  if (turn.signal.type !== "context_op") return decision;
  const { opId: id } = turn.signal.operation;
  const settle = { type: "settle", id, end: { status: "refused", code, message } } as const;
  const warning = `Thread ${moment.threadId}: the operation ${id} had waited and cannot be applied: ${message}`;
  const warned = effects(decision, { type: "warn", message: warning });
  return takeStep(warned, turn, { agent: decision.live.agent, directives: [settle] }, moment);
}

/** The entries of a turn are durable. */
export function appended(
  decision: Decision,
  { turn, step, consumes }: Extract<Hold, { type: "append" }>,
  result: AppendResult,
  moment: Moment,
): Decision {
  const agent = adopted(decision.live.agent, step.agent, result);
  const current = update(withoutRows(decision, consumes), {
    agent,
    nextRetryMs: undefined,
    ...((turn.isFromWork || turn.reply !== undefined) && { resumes: NOT_RESUMED }), // a result, or a command
  });
  return performTurn(withEnd(current, endCommandOf(decision.live, step)), turn, moment);
}

/** The end of a request is stored: `onRequestEnd` is called when its event was emitted. */
function withEnd(decision: Decision, command: CommandInput | undefined): Decision {
  if (command === undefined) return decision;
  const { inbox, postsCommands } = decision.live;
  const commandId = postsCommands ? command.id : undefined;
  const known = commandId === undefined ? decision : update(decision, { inbox: new Map([...inbox, [commandId, 0]]) });
  return followedBy(known, { type: "ended", requestId: String(command["requestId"]), commandId });
}

/** A store may have an operation or a setting already. Then it has another place in the log, and the time of the store. */
function adopted(before: ReactAgent, after: ReactAgent, { entries }: AppendResult): ReactAgent {
  if (!entries.some(({ kind }) => kind === "ai_context_operation" || kind === "ai_setting")) return after;
  if (entries[0]?.seq !== before.thread.rev) return { ...after, thread: before.thread, state: before.state };
  const inputs = entries.map(({ seq: _seq, ...entry }) => entry);
  return { ...after, thread: before.thread.append(inputs), state: entries.reduce(evolve, before.state) };
}

/** The entries of a turn were refused, or the answer of the store was lost. */
export function notAppended(
  decision: Decision,
  { turn, step }: Extract<Hold, { type: "append" }>,
  given: unknown,
  moment: Moment,
): Decision {
  const { agent } = decision.live;
  // The log has entries of these commands, and the request still needs its end.
  const known = EntryIdReuseError.isInstance(given) ? given.entryIds : [];
  const alone = agent.flight.deferred.filter(({ id }) => known.includes(commandEntryId(id)));
  if (alone.length > 0) {
    const without = alone.reduce((before, { id }) => withoutCommand(before, id), agent);
    return decideTurn(update(decision, { agent: without }), { ...turn, alone: [...turn.alone, ...alone] }, moment);
  }
  const error = operationError(given, agent, step);
  if (isRefusal(turn, error)) return refuseCommand(decision, turn, error, moment);
  if (ContextOpError.isInstance(error)) return endTurn(decision, turn, { error }, moment);
  if (CommandError.isInstance(error)) {
    const isSent = sentBy(step.directives).some(({ command }) => command.id === error.commandId);
    if (isSent && !turn.sendsNothing) return decideTurn(decision, { ...turn, sendsNothing: true }, moment);
    return wait(decision, { type: "read_inbox", turn }, (id) => ({ type: "read_inbox", id }));
  }
  if (ConflictError.isInstance(error)) {
    return wait(decision, { type: "catch_up", turn, step, error }, (id) => ({ type: "catch_up", id, agent }));
  }
  return failTurn(decision, turn, error, moment);
}

function operationError(error: unknown, before: ReactAgent, { agent: after }: Step): unknown {
  if (!EntryIdReuseError.isInstance(error)) return error;
  const fresh = after.thread.slice(before.thread.rev, after.thread.lastSeq);
  const operation = fresh.find(
    (entry) => entry.kind === "ai_context_operation" || entry.kind === "ai_setting" || readCut(entry) !== undefined,
  );
  if (operation === undefined) return error;
  const opId = String((operation.payload as JsonObject)["opId"]); // payloads are JSON
  return operation.kind === "ai_setting" ? settingIdReused(opId) : opIdReused(opId);
}

/** The entries of other writers were read, or the open run is not in the log any more. */
export function caughtUp(
  decision: Decision,
  { turn, step, error }: Extract<Hold, { type: "catch_up" }>,
  agent: ReactAgent | undefined,
  moment: Moment,
): Decision {
  const hasMore = agent !== undefined && agent.thread !== decision.live.agent.thread;
  const current =
    agent === undefined
      ? decision
      : update(decision, { agent: { ...decision.live.agent, thread: agent.thread, state: agent.state } });
  if (agent !== undefined && step === undefined) return decideTurn(current, turn, moment);
  if (!hasMore) {
    const isGone = agent === undefined || (ConflictError.isInstance(error) && error.actual === 0);
    const why = isGone ? threadNotFound(moment.threadId) : error;
    return step === undefined ? afterDeletion(decision, turn, why) : failTurn(decision, turn, why, moment);
  }
  // The effects of the turn are found by comparing with this state.
  const before = { ...turn.before, thread: agent.thread, state: agent.state };
  const again = decideTurn(current, { ...turn, before }, moment);
  // The new entries may decide calls of the request.
  return effects(again, { type: "next", signal: { type: "agent", signal: { type: "notice" } } });
}

/** The thread was deleted, so its open request fails. Then the command is decided on the thread that there is now. */
export function afterDeletion(decision: Decision, { signal, reply }: Turn, error: unknown): Decision {
  return followedBy(breakDown(decision, error), { type: "agent", signal, ...(reply !== undefined && { reply }) });
}

export function failTurn(decision: Decision, turn: Turn, error: unknown, moment: Moment): Decision {
  const isOthers = turn.signal.type === "ask" && StoreError.isInstance(error) && error.code === "owner_mismatch";
  if (turn.signal.type === "worked" || isOthers) return endTurn(decision, turn, { error }, moment);
  // Perhaps only one of them cannot be stored.
  if (turn.signal.type === "results") {
    return followedBy(endTurn(decision, turn, {}, moment), ...turn.signal.results.map(asSignal));
  }
  return endTurn(breakDown(decision, error), turn, { error }, moment);
}

function asSignal(signal: Signal): LiveSignal {
  return { type: "agent", signal };
}

/** Performs what is left of a turn, then decides what comes next. */
export function performTurn(decision: Decision, turn: Turn, moment: Moment): Decision {
  let current = decision;
  let index = 0;
  for (const directive of turn.todo) {
    const end = ++index;
    const rest = (): Turn => ({
      ...turn,
      performed: [...turn.performed, ...turn.todo.slice(0, end)],
      todo: turn.todo.slice(end),
    });
    current = performDirective(current, directive, rest, moment);
    // After a failed checkpoint the log is being reloaded. The rest of the turn does not wait for that.
    if (current.live.hold !== decision.live.hold) return current;
  }
  return afterPerforming(current, { ...turn, performed: [...turn.performed, ...turn.todo], todo: [] }, moment);
}

function afterPerforming(decision: Decision, turn: Turn, moment: Moment): Decision {
  const { agent, broken } = decision.live;
  if (turn.alone.length > 0) {
    const signals = turn.alone.map(({ signal }) => ({ type: "agent", signal }) as const);
    return afterPerforming(followedBy(decision, ...signals), { ...turn, alone: [] }, moment);
  }
  switch (turn.stage) {
    case "durable":
      return agent.flight.next === undefined || broken !== undefined
        ? afterPerforming(decision, { ...turn, stage: "next" }, moment)
        : decideTurn(decision, { ...turn, stage: "next" }, moment);
    case "next": {
      const mark = waitingCheckpoint(turn.before, agent);
      return performTurn(decision, { ...turn, stage: "mark", todo: mark === undefined ? [] : [mark] }, moment);
    }
    case "mark":
      return endTurn(decision, turn, {}, moment);
    default:
      return turn.stage satisfies never;
  }
}

/** The checkpoint of a run that starts to wait. Results that came in before it are in the log. */
function waitingCheckpoint(before: ReactAgent, after: ReactAgent): Directive | undefined {
  const { run } = after.state;
  if (run === undefined || isWaiting(before) || !isWaiting(after)) return undefined;
  const { requestId, runId, iteration } = run;
  return { type: "checkpoint", requestId, runId, iteration, reason: "after_llm" };
}

/** Answers the caller. If the result of work is lost, no caller gets the error, so the request fails. */
export function endTurn(
  decision: Decision,
  turn: Turn,
  outcome: { readonly error?: unknown },
  moment: Moment,
): Decision {
  const { reply, signal } = turn;
  const isLost = "error" in outcome && turn.isFromWork && decision.live.broken === undefined;
  const current = isLost ? breakDown(decision, outcome.error) : decision;
  const looked = setApprovalTimer(updatePhase(current, moment));
  const ended = signal.type === "ask" ? askDecided(looked, turn, outcome) : looked;
  if (signal.type === "hand_over") return closeLive(ended, false);
  const settled = reply === undefined ? ended : effects(ended, { type: "settle", reply, turn, ...outcome });
  // The message is a row now. A process that stops before its calls are skipped leaves that to the next one.
  const isSkipping = signal.type === "steer" && signal.skip !== undefined;
  if (isSkipping) return followedBy(settled, { type: "agent", signal: { type: "skip" } });
  return signal.type === "steer" && signal.wake ? followedBy(settled, { type: "wake" }) : settled;
}

/** The state of the lanes with more of the thread. */
export function withThread(agent: ReactAgent, thread: ReactAgent["thread"]): ReactAgent {
  return { ...agent, thread, state: { ...agent.state, lanes: lanesOfExtended(thread, agent.state.lanes) } };
}
