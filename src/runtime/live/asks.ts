import { timeOf } from "../../agent/definition/time.ts";
import type { ReactSettings } from "../../agent/react/settings.ts";
import { deadlineFailure } from "../../agent/react/time-limit.ts";
import type { CommandEnd } from "../../agent/signal.ts";
import { CommandError } from "../../stores/errors.ts";
import type { Entry } from "../../thread/entry.ts";
import { type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import {
  failureOf,
  notAccepted,
  queueFull,
  requestCancelled,
  requestFailed,
  requestReused,
  requestSuspended,
} from "../request/request-error.ts";
import { endToParent } from "./children.ts";
import { effects, update, wait } from "./decision.ts";
import { cancelOf, consume, consumedAsk, endOf, rowAskId, rowOfAsk, withoutCommand } from "./inbox.ts";
import type { CallerAnswer, Live, QueuedAsk, ToolFacts, Turn } from "./live.ts";
import { forgetRequest, suspensionIn } from "./request-state.ts";
import { isDue, scheduledRow } from "./schedule.ts";
import type { Change, Decision, LiveSignal, Moment, RequestValues } from "./signal.ts";
import { UNKNOWN } from "./store-failure.ts";
import { restingStatus } from "./thread-metadata.ts";

/** Adds an ask to the end of the queue. An ask that is read from its row again is in the queue already. */
export function queueAsk(decision: Decision, ask: QueuedAsk, { clock }: Moment): Decision {
  const { asks, agent, queuesAsks } = decision.live;
  const { requestId } = ask;
  const isKnown = asks.some((one) => one.row === "waits" && one.requestId === requestId);
  if (isKnown && ask.row === "waits") return decision;
  const { maxPending = asks.length + 1 } = agent.settings;
  // The first that is due is not counted if it can be accepted at once.
  const isFree = agent.state.run === undefined && [...asks, ask].some((one) => isDue(one, clock));
  const waiting = asks.length + (isFree ? 0 : 1);
  const isFull = (ask.queues ?? queuesAsks) && !isKnown && ask.row === undefined && waiting > maxPending;
  if (isFull) return effects(decision, { type: "settle_ask", askId: ask.id, error: queueFull(requestId, maxPending) });
  return update(decision, { asks: [...asks, ask] });
}

/** Adds asks that are rows, except for those that are in the queue already. */
export function queueRows(decision: Decision, rows: readonly QueuedAsk[]): Decision {
  const { asks } = decision.live;
  const known = new Set(asks.flatMap(({ row, requestId }) => (row === "waits" ? [requestId] : [])));
  return update(decision, { asks: [...asks, ...rows.filter(({ requestId }) => !known.has(requestId))] });
}

/** At rest, a message that wakes the thread becomes an ask. It keeps its row and its id. */
export function wakeThread(decision: Decision, moment: Moment): Decision {
  const { agent, stopping, broken } = decision.live;
  const steer = agent.flight.steers.find(({ wake }) => wake);
  if (steer === undefined || agent.state.run !== undefined || stopping !== undefined || broken !== undefined)
    return decision;
  const { id: requestId, content, source, refs } = steer;
  const keys = [["requestId", requestId]] as const;
  const ask = { id: rowAskId(requestId), requestId, content, source, refs, options: {}, keys, row: "waits" } as const;
  return queueAsk(update(decision, { agent: withoutCommand(agent, requestId) }), ask, moment);
}

/** For its receipt, the end of a message that has become an ask. */
export function endOfWoken(
  askId: string,
  { state: { run, last } }: Live["agent"],
  known: Entry | undefined,
  failure: { readonly error?: unknown },
): { readonly id: string; readonly end: CommandEnd } | undefined {
  const prefix = rowAskId("");
  if (!askId.startsWith(prefix)) return undefined;
  const seq = known?.seq ?? (run ?? last?.run)?.askSeq;
  const isRefused = "error" in failure || seq === undefined;
  const end = isRefused ? ({ status: "dropped", reason: "closed" } as const) : ({ status: "delivered", seq } as const);
  return { id: askId.slice(prefix.length), end };
}

/** Prepares the next ask that is due, if there is one and no request is in its way. The others become rows. */
export function advanceAsks(decision: Decision, { clock }: Moment): Decision {
  const timed = inTurn(decision, clock);
  const { asks, isAsking, hold, broken } = timed.live;
  const [ask] = asks;
  if (ask === undefined || hold !== undefined) return timed;
  const waits = !isDue(ask, clock) || (broken === undefined && mustWait(timed.live, ask));
  if (isAsking || waits) return postAsk(timed, asks.slice(isAsking ? 1 : 0));
  return postAsk(effects(update(timed, { isAsking: true }), { type: "prepare", ask }), asks.slice(1));
}

/** Asks whose time has come are before the others, in the order of their rows. The one that is being prepared stays first. */
function inTurn(decision: Decision, clock: number): Decision {
  const { asks, isAsking, inbox } = decision.live;
  if (asks.every(({ at }) => at === undefined)) return decision;
  const places = [...inbox.keys()];
  const place = ({ requestId }: QueuedAsk): number => {
    const index = places.indexOf(requestId);
    return index < 0 ? places.length : index; // its row comes last
  };
  const first = isAsking ? 1 : 0;
  const rest = asks.slice(first).toSorted((a, b) => {
    return Number(isDue(b, clock)) - Number(isDue(a, clock)) || place(a) - place(b);
  });
  const isSame = rest.every((ask, index) => ask === asks[first + index]);
  return isSame ? decision : update(decision, { asks: [...asks.slice(0, first), ...rest] });
}

/** Whether an ask waits for the end of an open request, also of one that is suspended. */
export function mustWait(
  { queuesAsks, agent }: Pick<Live, "queuesAsks" | "agent">,
  { row, queues = queuesAsks }: Pick<QueuedAsk, "row" | "queues">,
): boolean {
  return (queues || row !== undefined) && agent.state.run !== undefined;
}

/** Stores the first queued ask that has no row as a row. */
function postAsk(decision: Decision, waiting: readonly QueuedAsk[]): Decision {
  const { postsCommands, queuesAsks, broken } = decision.live;
  const ask = waiting.find(({ row, queues = queuesAsks }) => row === undefined && queues);
  if (ask === undefined || !postsCommands || broken !== undefined) return decision;
  const { live } = decision;
  const row = scheduledRow(live, { id: ask.requestId, isTimed: ask.at !== undefined });
  return wait(decision, { type: "post_ask", askId: ask.id }, (id) => {
    return { type: "post", id, command: rowOfAsk(ask, live.agent.settings.name), ...row };
  });
}

/** The ask is stored as a row. If it was answered before, it ends or is refused as it was then. */
export function askPosted(
  decision: Decision,
  askId: string,
  { outcome, row }: Pick<Extract<LiveSignal, { type: "posted" }>, "outcome" | "row">,
): Decision {
  const { asks, inbox } = decision.live;
  const ask = asks.find(({ id }) => id === askId);
  if (ask === undefined) return decision; // it was withdrawn in the meantime
  const { requestId } = ask;
  const end = outcome && endOf(outcome);
  const isOther = row !== undefined && (row.type !== "ask" || !isSameAsk(row.body, ask));
  if (isOther) return leave(decision, ask, requestReused(requestId, "requestId"));
  if (end?.status === "refused") return leave(decision, ask, notAccepted(requestId, end));
  if (end?.status === "dropped") return leave(decision, ask, requestCancelled(requestId, end.reason));
  // The time of the row is that of the first ask. One that was answered has its answer at once.
  const rowAt = row === undefined ? ask.at : timeOf(row.body["at"], row.postedAt);
  const at = end === undefined ? rowAt : undefined;
  const now = asks.map((one) =>
    one === ask
      ? { ...one, keys: keysOfRow(ask), row: end === undefined ? ("waits" as const) : ("answered" as const), at }
      : one,
  );
  const posted = update(decision, {
    asks: now,
    ...(end === undefined && { inbox: new Map([...inbox, [requestId, row?.revision ?? 0]]) }),
  });
  return end === undefined && at !== undefined ? effects(posted, { type: "ask_waits", askId }) : posted;
}

function isSameAsk({ content = null, continues }: JsonObject, ask: QueuedAsk): boolean {
  return continues === ask.continues && sameJson(content, ask.content as JsonValue); // both are JSON
}

/** The row is found by the request id, so that id identifies the ask too. */
function keysOfRow({ requestId, keys }: QueuedAsk): QueuedAsk["keys"] {
  return [["requestId", requestId], ...keys.filter(([name]) => name !== "requestId")];
}

/** Drops an ask whose row could not be stored. After an error of the store it may still have a row. */
export function askNotPosted(decision: Decision, askId: string, error: unknown): Decision {
  const ask = decision.live.asks.find(({ id }) => id === askId);
  if (ask === undefined) return decision;
  const left = leave(decision, ask, error);
  return CommandError.isInstance(error) ? left : effects(left, { type: "withdraw_row", commandId: ask.requestId });
}

function leave(decision: Decision, ask: QueuedAsk, error: unknown): Decision {
  const left = update(decision, { asks: decision.live.asks.filter((one) => one !== ask) });
  return effects(left, { type: "settle_ask", askId: ask.id, error });
}

const CANCELLED = "The ask was cancelled before its turn.";

/** Removes queued asks. The caller `reply` waits until that is durable, and gets the removed asks. */
export function withdrawAsk(
  decision: Decision,
  { requestId, askId, error, reply }: Omit<Extract<LiveSignal, { type: "withdraw" }>, "type">,
): Decision {
  const { asks, isAsking, request } = decision.live;
  // Its signal ends the preparation of an ask.
  const waiting = askId === undefined ? asks : queued(decision.live);
  const isAll = requestId === undefined && askId === undefined;
  const gone = waiting.filter((one) => isAll || one.id === askId || one.requestId === requestId);
  const ids = new Set(gone.flatMap((one) => (one.row === undefined ? [] : [one.requestId])));
  const same = waiting.filter((one) => gone.includes(one) || (one.row !== undefined && ids.has(one.requestId)));
  const others = asks.filter((one) => !same.includes(one));
  const kept = new Set([request?.id, ...others.map((one) => one.requestId)]);
  const left = gone.reduce(
    (before, one) => (kept.has(one.requestId) ? before : forgetRequest(before, one.requestId)),
    update(decision, { asks: others, isAsking: isAsking && others[0] === asks[0] }),
  );
  const settled = same.map(({ id, requestId, row }) => {
    return { type: "settle_ask", askId: id, error, ...(row === "waits" && { requestId }) } as const;
  });
  const answer: readonly CallerAnswer[] = reply === undefined ? [] : [{ type: "settle", reply, value: gone }];
  const outcome = { status: "dropped", reason: "cancelled" } as const;
  const consumes = gone.flatMap((ask) => consumedAsk(left.live, ask, outcome));
  const sends = gone.flatMap((ask) => endToParent(ask, { status: "cancelled", reason: CANCELLED }));
  const metadata = consumes.length === 0 ? {} : restingStatus(left.live);
  return consume(left, consumes, [...settled, ...answer], metadata, sends);
}

/** Refuses all queued asks, except for one that is being prepared. Asks that are rows wait for the next process. */
export function refuseAsks(decision: Decision, error: unknown): Decision {
  const { asks, isAsking, hold } = decision.live;
  const mayBeRow = ({ id, row }: QueuedAsk): boolean =>
    row === "waits" || (hold?.type === "post_ask" && hold.askId === id);
  const refused = queued(decision.live);
  const rows = refused.filter(({ row }) => row === "waits").map((ask) => ({ ...ask, id: rowAskId(ask.requestId) }));
  const left = update(decision, { asks: [...(isAsking ? asks.slice(0, 1) : []), ...rows] });
  const suspension = suspensionIn(decision.live);
  return effects(
    left,
    ...refused.map((ask) => {
      const why = mayBeRow(ask) ? requestSuspended(ask.requestId, suspension, { cause: error }) : error;
      return { type: "settle_ask", askId: ask.id, error: why } as const;
    }),
  );
}

/** Sets the values that the caller passed with the request. */
export function giveToRequest(
  decision: Decision,
  requestId: string,
  { context, tools, models, exactCounter, held, systemPrompt }: RequestValues,
): Decision {
  const { live } = decision;
  const { agent } = live;
  const ownTools = held?.facts ?? live.ownTools;
  const [model, ...fallbacks] = models?.names ?? [];
  const called = models === undefined ? live.ownModels : { model, fallbacks };
  const facts = { ...withTools(ownTools, tools), ...called, ...(exactCounter && { exactCounter }) };
  const settings = { ...agent.settings, ...facts };
  const unresolved = held?.unresolved ?? live.unresolved;
  return update(decision, {
    ownTools,
    unresolved,
    given: { requestId, context, tools, systemPrompt },
    agent: { ...agent, settings },
  });
}

/** Sets the values of a request that could not be made when it was resumed. */
export function supplying(requestId: string, values: RequestValues): Change {
  const { systemPrompt } = values;
  return {
    live: (live) => giveToRequest({ live, effects: [] }, requestId, values).live,
    agent: ({ flight, ...agent }, live) => ({
      ...agent,
      settings: live.agent.settings,
      flight: systemPrompt === undefined ? flight : { ...flight, systemPrompt },
    }),
  };
}

/** The thread has another agent. The values of the open request for it come next. */
export function becoming(settings: ReactSettings, rules: Pick<Live, "recover" | "queuesAsks" | "reportsEnds">): Change {
  const { tools, traits, model, fallbacks } = settings;
  return {
    live: (live) => ({
      ...live,
      ...rules,
      ownTools: { tools, traits },
      ownModels: { model, fallbacks },
      environment: { ...live.environment, hash: undefined },
      request: live.request && { ...live.request, time: undefined }, // a limit of the agent before does not hold
    }),
    agent: ({ flight, ...agent }) => ({ ...agent, settings, flight: { ...flight, systemPrompt: undefined } }),
  };
}

/** A change of the context of the open request, or of the tools that only this request has. */
export function giving(requestId: string, { context, tools }: Pick<RequestValues, "context" | "tools">): Change {
  return {
    live: (live) => {
      const before = live.given?.requestId === requestId ? live.given : undefined;
      const given = { ...before, requestId, context: context ?? before?.context, tools: tools ?? before?.tools };
      return { ...live, given };
    },
    agent: (agent, { ownTools, given }) => ({
      ...agent,
      settings: { ...agent.settings, ...withTools(ownTools, given?.tools) },
    }),
  };
}

/** Adds the tools of an ask to those of the agent. One of the same name replaces the agent's, in its place. */
export function withTools(own: ToolFacts, more: ToolFacts | undefined): ToolFacts {
  if (more === undefined) return own;
  const specs = new Map([...own.tools, ...more.tools].map((spec) => [spec.name, spec]));
  return { tools: [...specs.values()], traits: { ...own.traits, ...more.traits } };
}

/** The agent accepted or refused the ask, or the decision failed. */
export function askDecided(decision: Decision, { performed }: Turn, outcome: { readonly error?: unknown }): Decision {
  const [ask, ...others] = decision.live.asks;
  if (ask === undefined) return decision;
  const left = update(decision, { asks: others, isAsking: false });
  const refused = performed.find(({ type }) => type === "emit_request_error");
  if ("error" in outcome) return refuseAsk(left, ask, outcome.error);
  if (refused?.type === "emit_request_error") return refuseAsk(left, ask, notAccepted(ask.requestId, refused.failure));
  // The ask is in the log. Its request may have failed here before it was opened.
  const { live } = left;
  if (live.request?.id !== ask.requestId) return refuseAsk(left, ask, endOfRequest(live, ask.requestId));
  return settleSame(left, ask, {});
}

/** Whether the log may have the ask, and the request is resumed when the store is back. Otherwise its caller asks again. */
function mayResume({ broken, given, agent }: Live, { requestId, keys }: QueuedAsk): boolean {
  const isAway = broken?.suspension?.reason === "store" && given?.requestId === requestId;
  return isAway && (keys.length > 0 || agent.state.run?.requestId === requestId);
}

type AskAnswer = { readonly error?: unknown };

function settleSame(decision: Decision, ask: QueuedAsk, answer: AskAnswer): Decision {
  const [left, answers] = answerSame(decision, ask, answer);
  return effects(left, ...answers);
}

/** Callers that repeated the ask while it waited get the same answer. */
function answerSame(
  decision: Decision,
  ask: QueuedAsk,
  answer: AskAnswer,
): readonly [Decision, readonly CallerAnswer[]] {
  const { asks } = decision.live;
  const isSame = (one: QueuedAsk): boolean =>
    ask.row !== undefined && one.row !== undefined && one.requestId === ask.requestId;
  const answers = [ask, ...asks.filter(isSame)].map(
    ({ id }) => ({ type: "settle_ask", askId: id, ...answer }) as const,
  );
  return [update(decision, { asks: asks.filter((one) => !isSame(one)) }), answers];
}

/**
 * The ask was refused: it leaves the queue, and its row gets an outcome. If the outcome cannot be written, the ask
 * waits for the next process.
 */
export function refuseAsk(decision: Decision, ask: QueuedAsk, error: unknown): Decision {
  const { live } = decision;
  const { requestId } = ask;
  const isOther = live.request?.id !== requestId && !mayResume(live, ask);
  const forgotten = isOther ? forgetRequest(decision, requestId) : decision;
  const { code, message } = failureOf(error, UNKNOWN);
  const consumes = [...consumedAsk(live, ask, { status: "refused", code, message }), ...cancelOf(live, requestId)];
  if (consumes.length === 0) return settleSame(forgotten, ask, { error });
  if (live.broken !== undefined || live.stopping !== undefined) {
    return settleSame(forgotten, ask, { error: requestSuspended(requestId, suspensionIn(live), { cause: error }) });
  }
  const [left, answers] = answerSame(forgotten, ask, { error });
  return consume(
    left,
    consumes,
    answers.map((answer) => ({ ...answer, requestId })),
    restingStatus(left.live),
    endToParent(ask, { status: "failed", failure: { code, message } }),
  );
}

/** Sets the timer for the next time or deadline of the queued asks. A failed write has to be repaired first. */
export function setAskTimer(decision: Decision, { clock }: Moment): Decision {
  const { live } = decision;
  const deadlines = live.broken === undefined ? queued(live).flatMap(({ options }) => options.deadline ?? []) : [];
  const times = live.asks.flatMap((ask) => (ask.at === undefined || isDue(ask, clock) ? [] : [ask.at]));
  const at = deadlines.length + times.length === 0 ? undefined : Math.min(...deadlines, ...times);
  if (at === live.askTimer) return decision;
  const timer = { type: "timer", name: "ask", ms: undefined, ...(at !== undefined && { at }) } as const;
  return effects(update(decision, { askTimer: at }), timer);
}

/** Refuses the queued asks whose deadline is over. */
export function refuseLateAsks(decision: Decision): Decision {
  const { live } = decision;
  for (const ask of live.broken === undefined ? queued(live) : []) {
    const failure = deadlineFailure(live.agent, ask.options);
    if (failure === undefined) continue;
    const left = update(decision, { asks: live.asks.filter((one) => one !== ask) });
    return refuseLateAsks(refuseAsk(left, ask, notAccepted(ask.requestId, failure)));
  }
  return decision;
}

/** The asks that wait for their turn. One that is being prepared is decided, so it ends by itself. */
function queued({ asks, isAsking }: Live): readonly QueuedAsk[] {
  return isAsking ? asks.slice(1) : asks;
}

/** The error for an ask that is in the log but that this process cannot run. */
function endOfRequest(live: Live, requestId: string): Error {
  const { broken } = live;
  const isFailed = broken !== undefined && broken.suspension === undefined;
  return isFailed
    ? requestFailed(requestId, broken.failure)
    : requestSuspended(requestId, suspensionIn(live), { ...broken, cause: broken?.error });
}
