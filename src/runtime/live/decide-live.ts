import { heldFor } from "../../agent/react/call-context.ts";
import { opIdReused } from "../../agent/react/operations.ts";
import type { PostedCommand } from "../../stores/command.ts";
import { CommandError } from "../../stores/errors.ts";
import { requestCancelled } from "../request/request-error.ts";
import {
  advanceAsks,
  askNotPosted,
  askPosted,
  giveToRequest,
  mustWait,
  queueAsk,
  queueRows,
  refuseAsk,
  refuseAsks,
  refuseLateAsks,
  setAskTimer,
  wakeThread,
  withdrawAsk,
} from "./asks.ts";
import { cancelChild, PARENT_GONE } from "./children.ts";
import { effects, endWork, followedBy, startWork, update, updateRequest, wait } from "./decision.ts";
import {
  cancelOf,
  consume,
  consumeAgain,
  consumedAsk,
  inboxRead,
  posted,
  unwritten,
  withoutRows,
  withReplaced,
} from "./inbox.ts";
import type { Hold, Live, Outcomes, QueuedAsk } from "./live.ts";
import { beginRetry, beginsNothing, emitUnresolved } from "./perform-directive.ts";
import { closeRequest, isNoteDue, openRequest, setNoteTimer, workedMs } from "./request-state.ts";
import { hasOtherTimes, rescheduled, scheduleAfter } from "./schedule.ts";
import type { Change, Decision, Effect, LiveSignal, Moment, RequestValues, WorkResult } from "./signal.ts";
import { advanceStop, beginStop, closeLive, endGrace } from "./stopping.ts";
import {
  breakDown,
  isDeleted,
  isPermanent,
  notConsumed,
  notRestored,
  READ_ENTRIES,
  restore,
  restored,
} from "./store-failure.ts";
import { nextEventSeq, restingStatus } from "./thread-metadata.ts";
import {
  afterDeletion,
  appended,
  caughtUp,
  decideTurn,
  endTurn,
  failTurn,
  needsMore,
  notAppended,
  performTurn,
  takeTurn,
  withThread,
} from "./turn.ts";

/** The next value of a live thread, and what to do. Pure, and total: every pair of value and signal has an answer. */
export function decideLive(live: Live, signal: LiveSignal, moment: Moment): Decision {
  const decided = decide({ live, effects: [] }, signal, moment);
  const hasSignals = moment.waiting > 0 || decided.effects.some(({ type }) => type === "next");
  const isRunning = decided.live.stopping === undefined;
  const advanced = isRunning ? setAskTimer(advanceAsks(decided, moment), moment) : decided;
  return advanceStop(advanced, hasSignals, moment);
}

function decide(decision: Decision, signal: LiveSignal, moment: Moment): Decision {
  const { live } = decision;
  if (live.stopping?.phase === "closed") return afterClose(decision, signal);
  switch (signal.type) {
    case "agent":
      return decideAgent(decision, signal, moment);
    case "results":
      return decideResults(decision, signal.results, moment);
    case "worked": {
      const ended = endWork(decision, signal.id);
      const isExpected = live.work.includes(signal.id);
      return isExpected && "error" in signal ? breakDown(ended, signal.error) : ended;
    }
    case "ended": {
      const { stopping, broken, inbox } = live;
      // Otherwise the next start does it, because its row stays.
      if (stopping?.isStrict || broken !== undefined) return decision;
      const { type: _ended, ...of } = signal;
      if (of.commandId !== undefined && !inbox.has(of.commandId)) return decision; // another process has done it
      return startWork(decision, (id) => ({ type: "start", id, directive: { type: "report_end", ...of } }));
    }
    case "begun": {
      const { toolCallId } = signal;
      if (toolCallId === undefined)
        return update(decision, { lastCall: live.lastCall && { ...live.lastCall, isSent: true } });
      return update(decision, { begun: [...live.begun, toolCallId] });
    }
    case "opened":
      return opened(decision, signal, moment.threadId);
    case "ask":
      return queueAsk(decision, signal.ask, moment);
    case "asks":
      return queueRows(decision, signal.asks);
    case "call":
      // Otherwise the row is read again, here or by the next process.
      if (live.stopping !== undefined || live.broken !== undefined) return decision;
      return effects(decision, { ...signal, type: "perform_call" });
    case "wake":
      return wakeThread(decision, moment);
    case "cancel_child":
      return cancelChild(decision, signal);
    case "withdraw":
      return withdrawAsk(decision, signal);
    case "look":
      return look(decision, signal);
    case "consume": // otherwise the rows are read again with the log
      return live.broken === undefined
        ? writeOutcomes(decision, signal)
        : effects(decision, ...unwritten(live, signal, live.broken.error));
    case "schedule": {
      const then = signal.reply === undefined ? [] : [{ type: "settle", reply: signal.reply } as const];
      if (live.broken !== undefined || !live.postsCommands) return effects(decision, ...then);
      return writeOutcomes(decision, { type: "consume", consumes: [], then, metadata: {} });
    }
    case "prepared":
      return askPrepared(decision, signal.askId, signal.given, moment);
    case "postponed":
      return live.asks[0]?.id === signal.askId ? update(decision, { isAsking: false }) : decision;
    case "unprepared":
      return unprepared(decision, signal);
    case "change":
      return effects({ ...decision, live: changed(live, signal.change) }, { type: "settle", reply: signal.reply });
    case "read":
      return read(decision, signal);
    case "lost":
      return breakDown(decision, signal.error);
    case "timer":
      return timer(decision, signal.name, moment);
    case "reload":
      return live.broken === undefined
        ? effects(decision, { type: "settle", reply: signal.reply })
        : afterRestoring(decision, signal);
    case "close_request":
      return closeRequest(decision, signal.failure, signal.cause);
    case "shorten": {
      const { agent } = live;
      if (agent.state.run !== undefined || live.broken !== undefined || live.stopping !== undefined) return decision;
      return wait(decision, { type: "shorten" }, (id) => ({ type: "shorten", id, agent }));
    }
    case "stop":
      return beginStop(decision, signal.graceMs, signal.why);
    default:
      return answered(decision, signal, moment);
  }
}

/** Reads the rows again, for a caller. While a request waits, the log first: the thread may have been deleted. */
function look(decision: Decision, signal: Extract<LiveSignal, { type: "look" }>): Decision {
  const { broken, postsCommands, request } = decision.live;
  const { reply, hasRead } = signal;
  if (request?.phase === "waiting" && !hasRead) return followedBy(decision, READ_ENTRIES, { ...signal, hasRead: true });
  return broken === undefined && postsCommands
    ? wait(decision, { type: "read_inbox", turn: undefined, reply }, (id) => ({ type: "read_inbox", id }))
    : effects(decision, { type: "settle", reply });
}

/** Outcomes and metadata without an entry, and the schedule after them. */
function writeOutcomes(decision: Decision, outcomes: Outcomes): Decision {
  const { live } = decision;
  const { consumes, metadata, sends = [] } = outcomes;
  const { agent } = live;
  // The asks of these rows have left the value, so the change of their times is not known.
  const isOpen = agent.state.run !== undefined;
  const change = isOpen
    ? rescheduled(live, agent, { consumes })
    : { schedule: scheduleAfter(live, agent, { consumes }) };
  return wait(decision, outcomes, (id) => {
    return { type: "append", id, before: agent, after: agent, metadata, consumes, posts: [], sends, ...change };
  });
}

type AgentCommand = Extract<LiveSignal, { type: "agent" }>;

function decideResults(decision: Decision, given: readonly WorkResult[], moment: Moment): Decision {
  const { live } = decision;
  const results = given.filter(({ from }) => live.work.includes(from));
  if (live.broken !== undefined || results.length === 0) return decision; // the reload drops them
  const noted = results.reduce(noteWork, decision);
  return takeTurn(noted, { type: "results", results: results.map(({ signal }) => signal) }, moment, {
    isFromWork: true,
  });
}

function noteWork(
  decision: Decision,
  { from, object, thrown }: Pick<AgentCommand, "from" | "object" | "thrown">,
): Decision {
  return updateRequest(endWork(decision, from), { ...(thrown && { thrown }), object });
}

function decideAgent(decision: Decision, given: AgentCommand, moment: Moment): Decision {
  const { live } = decision;
  const { signal, reply, from } = given;
  if (from !== undefined && !live.work.includes(from)) return decision; // it was started before the log was read again
  if (live.broken !== undefined) {
    // Results of work wait for no reload: the reload drops them.
    return reply === undefined ? decision : afterRestoring(decision, { ...given, reply });
  }
  return takeTurn(noteWork(decision, given), signal, moment, { reply, isFromWork: from !== undefined });
}

/** A command that came while the log could not be written is decided after a reload, or fails with the error. */
function afterRestoring(
  decision: Decision,
  signal: Extract<LiveSignal, { type: "agent" | "reload" }> & { readonly reply: string },
): Decision {
  return signal.hasWaited
    ? effects(decision, { type: "settle", reply: signal.reply, error: decision.live.broken?.error })
    : restore(decision, { ...signal, hasWaited: true });
}

/** Another thread got a command: it is to start, or to read its inbox again. */
function sent({ threadId, agent }: PostedCommand): Effect {
  return { type: "sent", threadId, agent };
}

/** The current effect has answered. Other signals waited for it. */
function answered(decision: Decision, signal: Extract<LiveSignal, { readonly id: string }>, moment: Moment): Decision {
  const { hold } = decision.live;
  if (hold?.id !== signal.id) return decision;
  const current = update(decision, { hold: undefined });
  if (signal.type === "failed") return holdFailed(current, hold, signal.error, moment);
  switch (hold.type) {
    case "append":
      return signal.type === "appended" ? appended(current, hold, signal.result, moment) : current;
    case "catch_up":
      return signal.type === "caught_up" ? caughtUp(current, hold, signal.agent, moment) : current;
    case "load":
      return signal.type === "loaded"
        ? decideTurn(update(current, { agent: withThread(current.live.agent, signal.thread) }), hold.turn, moment)
        : current;
    case "load_for_read": {
      if (signal.type !== "loaded") return current;
      const loaded = update(current, { agent: withThread(current.live.agent, signal.thread) });
      return hold.read.isAhead && signal.isAmple
        ? effects(loaded, { type: "settle", reply: hold.read.reply })
        : read(loaded, hold.read);
    }
    case "mint":
      return performTurn(current, hold.turn, moment);
    case "post": {
      if (signal.type !== "posted") return current;
      const [known, settle] = posted(current, hold, signal);
      const { turn } = hold;
      return performTurn(known, settle === undefined ? turn : { ...turn, todo: [settle, ...turn.todo] }, moment);
    }
    case "post_ask":
      return signal.type === "posted" ? askPosted(current, hold.askId, signal) : current;
    case "consume":
      if (signal.type !== "appended") return current;
      return effects(withoutRows(current, hold.consumes), ...hold.then, ...(hold.sends ?? []).map(sent));
    case "read_inbox": {
      if (signal.type !== "inbox_read") return current;
      const read = inboxRead(current, signal.rows, { threadId: moment.threadId, isFolded: false });
      const { turn, reply, again } = hold;
      if (again !== undefined) return consumeAgain(read, again);
      if (turn === undefined) {
        const isOther = hasOtherTimes(current.live, signal.rows);
        const timed = isOther ? followedBy(read, { type: "schedule" }) : read;
        return reply === undefined ? timed : effects(timed, { type: "settle", reply });
      }
      // An ask was changed or withdrawn: it is prepared again.
      return turn.signal.type === "ask" ? update(read, { isAsking: false }) : decideTurn(read, turn, moment);
    }
    case "restore":
      return signal.type === "restored" ? restored(current, hold, signal, moment) : current;
    case "shorten":
      return signal.type === "shortened"
        ? update(current, { agent: { ...current.live.agent, thread: signal.agent.thread, state: signal.agent.state } })
        : current;
    default:
      return hold satisfies never;
  }
}

function holdFailed(decision: Decision, hold: Hold, error: unknown, moment: Moment): Decision {
  switch (hold.type) {
    case "append":
      return notAppended(decision, hold, error, moment);
    case "catch_up":
    case "load":
      return endTurn(decision, hold.turn, { error }, moment);
    case "load_for_read":
      return effects(decision, { type: "settle", reply: hold.read.reply, ...(hold.read.isAhead ? {} : { error }) });
    case "mint":
      return performTurn(breakDown(decision, error), hold.turn, moment);
    case "post":
      return notPosted(decision, hold, error, moment);
    case "post_ask":
      if (isDeleted(error)) return breakDown(decision, error); // the ask begins a new thread
      return askNotPosted(isPermanent(error) ? breakDown(decision, error) : decision, hold.askId, error);
    case "consume": {
      const { id: _id, ...again } = hold;
      return notConsumed(decision, again, error);
    }
    case "read_inbox":
      if (hold.turn !== undefined) return failTurn(decision, hold.turn, error, moment);
      if (hold.again !== undefined) return notConsumed(decision, hold.again, error);
      return hold.reply === undefined ? decision : effects(decision, { type: "settle", reply: hold.reply }); // read later
    case "restore":
      return refuseAsks(notRestored(decision, hold, error), error);
    case "shorten":
      return decision; // the thread is not shortened
    default:
      return hold satisfies never;
  }
}

/** A command whose row could not be stored is dropped. The caller gets the error. */
function notPosted(
  decision: Decision,
  { turn, commandId, replaces }: Extract<Hold, { type: "post" }>,
  error: unknown,
  moment: Moment,
): Decision {
  const without = update(decision, { agent: withReplaced(decision.live.agent, { turn, commandId, replaces }) });
  if (isPermanent(error)) return endTurn(breakDown(without, error), turn, { error }, moment);
  if (isDeleted(error)) return afterDeletion(without, turn, error);
  // The row of another command has this id. After other errors, this one may have a row.
  const isOther = CommandError.isInstance(error);
  const withdrawn = isOther ? without : effects(without, { type: "withdraw_row", commandId });
  const isOperation = isOther && turn.signal.type === "context_op";
  return endTurn(withdrawn, turn, { error: isOperation ? opIdReused(commandId) : error }, moment);
}

/** The values of the ask are ready: the agent decides. */
function askPrepared(decision: Decision, askId: string, made: RequestValues | undefined, moment: Moment): Decision {
  const { live } = decision;
  const [ask] = live.asks;
  if (ask?.id !== askId) return decision;
  if (mustWait(live, ask)) return update(decision, { isAsking: false });
  if (cancelOf(live, ask.requestId).length > 0) {
    const left = update(decision, { asks: live.asks.slice(1), isAsking: false });
    return refuseAsk(left, ask, requestCancelled(ask.requestId, PARENT_GONE));
  }
  const isRefused = live.agent.state.run !== undefined;
  // The request that was to refuse it has ended: now its values are needed.
  if (made === undefined && !isRefused) return update(decision, { isAsking: false });
  const given = made ?? {};
  // A setting came while the ask was prepared: prepare it again.
  if (given.held !== undefined && hasOtherSettings(live.agent, given.held, ask))
    return update(decision, { isAsking: false });
  const { requestId, content, author, source, continues, operation, refs } = ask;
  const { systemPrompt, models, traceparent, options = ask.options } = given;
  const signal = {
    type: "ask" as const,
    requestId,
    content,
    options: {
      ...options,
      ...(models?.stored !== undefined && { model: models.stored }),
      ...(traceparent !== undefined && { traceparent }),
    },
    ...(continues !== undefined && { continues }),
    ...(operation && { operation }),
    ...(refs && { refs }),
    ...(author && { author }),
    ...(source !== undefined && { source }),
    ...(ask.row === "waits" && { hasWaited: true as const }),
    ...(systemPrompt !== undefined && { systemPrompt }),
  };
  // The agent refuses this ask. The open request keeps the values of its own ask.
  return takeTurn(isRefused ? decision : giveToRequest(decision, requestId, given), signal, moment);
}

function hasOtherSettings(
  agent: Live["agent"],
  { seqs }: NonNullable<RequestValues["held"]>,
  { operation }: Pick<QueuedAsk, "operation">,
): boolean {
  const now = heldFor(agent, agent.state.run, operation?.contextRef).seqs;
  return now.length !== seqs.length || now.some((seq, index) => seq !== seqs[index]);
}

/** Resumes what the last process left: an open request, and waiting commands. */
function opened(
  decision: Decision,
  { rows, first, given, reply }: Extract<LiveSignal, { type: "opened" }>,
  threadId: string,
): Decision {
  const { run } = decision.live.agent.state;
  const read = (before: Decision): Decision => inboxRead(before, rows, { threadId, isFolded: true });
  if (run === undefined || first === undefined) return followedBy(read(decision), { type: "reload", reply });
  const seq = nextEventSeq(decision.live.agent.thread, run);
  const begun = read(emitUnresolved(openRequest(decision, run, seq), run.iteration));
  if (given === undefined) return followedBy(begun, { type: "agent", signal: first }, { type: "reload", reply });
  const { failed, systemPrompt } = given;
  const supplied = giveToRequest(begun, run.requestId, given);
  if (failed === undefined) {
    const signal = { ...first, ...(systemPrompt !== undefined && { systemPrompt }) } as typeof first; // `first` is always a `resume`
    return followedBy(supplied, { type: "agent", signal }, { type: "reload", reply });
  }
  const { error, code, message } = failed;
  const signal = { ...first, failure: { code, message } } as typeof first; // `first` is always a `resume`
  return followedBy(
    updateRequest(supplied, { thrown: { error, code } }),
    { type: "agent", signal },
    { type: "reload", reply },
  );
}

function unprepared(
  decision: Decision,
  { askId, error, known }: Extract<LiveSignal, { type: "unprepared" }>,
): Decision {
  const [ask, ...others] = decision.live.asks;
  if (ask?.id !== askId) return decision;
  const left = update(decision, { asks: others, isAsking: false });
  if (known === undefined) return refuseAsk(left, ask, error);
  const outcome = { status: "delivered", seq: known.seq } as const;
  const settled = { type: "settle_ask", askId, known } as const;
  return consume(left, consumedAsk(left.live, ask, outcome), [settled], restingStatus(left.live));
}

/** Applies a change to the agent, and to the agent of an append that is under way. */
function changed(before: Live, { live: ofLive, agent: ofAgent }: Change): Live {
  const live = ofLive?.(before) ?? before;
  if (ofAgent === undefined) return live;
  const { hold } = live;
  const isAppending = hold?.type === "append";
  return {
    ...live,
    agent: ofAgent(live.agent, live),
    ...(isAppending && { hold: { ...hold, step: { ...hold.step, agent: ofAgent(hold.step.agent, live) } } }),
  };
}

function read(decision: Decision, signal: Extract<LiveSignal, { type: "read" }>): Decision {
  const { agent } = decision.live;
  const { reply, isAhead } = signal;
  try {
    const value = signal.read(agent);
    return effects(decision, { type: "settle", reply, ...(!isAhead && { value }) });
  } catch (error) {
    if (!needsMore(error)) return effects(decision, { type: "settle", reply, ...(!isAhead && { error }) });
    const { thread } = agent;
    return wait(decision, { type: "load_for_read", read: signal, error }, (id) => ({
      type: "load",
      id,
      thread,
      error,
    }));
  }
}

function timer(decision: Decision, name: Extract<LiveSignal, { type: "timer" }>["name"], moment: Moment): Decision {
  const { live } = decision;
  const { time } = live.request ?? {};
  switch (name) {
    case "limit":
      return time === undefined ? decision : takeTurn(decision, time.over, moment);
    case "deadline":
      return live.request?.hasDeadline ? takeTurn(decision, { type: "deadline" }, moment) : decision;
    case "ask":
      return refuseLateAsks(update(decision, { askTimer: undefined }));
    case "note": {
      if (time === undefined || live.broken !== undefined) return decision;
      const again = setNoteTimer(decision, moment);
      return isNoteDue(decision, moment)
        ? takeTurn(again, { type: "worked", workedMs: workedMs(time, moment) }, moment)
        : again;
    }
    case "approval": {
      const fired = updateRequest(decision, { approvalDeadline: undefined });
      return live.broken === undefined ? takeTurn(fired, { type: "expire" }, moment) : fired;
    }
    case "retry":
      return beginsNothing(live) ? decision : beginRetry(decision);
    case "reload":
      return live.broken === undefined || live.stopping !== undefined ? decision : restore(decision);
    case "grace":
      return endGrace(decision);
    case "give_up":
      return closeLive(decision, true);
    default:
      return name satisfies never;
  }
}

/** A released thread decides nothing. Callers get the error. */
function afterClose(decision: Decision, signal: LiveSignal): Decision {
  const error = decision.live.stopping?.why;
  if (signal.type === "ask") return effects(decision, { type: "settle_ask", askId: signal.ask.id, error });
  if (signal.type === "consume") return effects(decision, ...unwritten(decision.live, signal, error));
  const reply = "reply" in signal ? signal.reply : undefined;
  return reply === undefined ? decision : effects(decision, { type: "settle", reply, error });
}
