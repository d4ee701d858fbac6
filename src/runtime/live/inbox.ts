import { isoOf, type Time } from "../../agent/definition/time.ts";
import type { Directive } from "../../agent/directive.ts";
import type { ReactAgent, Step } from "../../agent/react/agent.ts";
import { cancelRow } from "../../agent/react/finish.ts";
import type { CommandEnd, Failure, Steer, StoredRequestOptions, WaitingCommand } from "../../agent/signal.ts";
import type { ContextOperation } from "../../lanes/context-operation.ts";
import { contentOf, UnreadablePayload } from "../../projection/transcript/payload.ts";
import type { Command, CommandInput, CommandOutcome, ConsumedCommand, PostedCommand } from "../../stores/command.ts";
import { copyRefs, type Refs } from "../../thread/entry.ts";
import { HeddleError } from "../../thread/errors.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import { postedOptions, timeOfAsk } from "../ask-options.ts";
import { checkAuthor } from "../author.ts";
import { requestCancelled, requestFailed, requestSuspended } from "../request/request-error.ts";
import { cancelledIn, childEndIn, endToParent, sentCommand, WITHDRAWN, withdrawnEnd } from "./children.ts";
import { effects, followedBy, update, wait } from "./decision.ts";
import type { Brought, CallerAnswer, Hold, Live, Outcomes, QueuedAsk, RemoteCall, Turn } from "./live.ts";
import { removeRequestTools, suspensionIn } from "./request-state.ts";
import { scheduledRow } from "./schedule.ts";
import type { Decision, Effect, LiveSignal } from "./signal.ts";
import { restingStatus } from "./thread-metadata.ts";

/** The row of a waiting command. */
function rowOf({ id, signal }: WaitingCommand): CommandInput {
  return { ...(signal as JsonObject), type: signal.type, id }; // a waiting command is JSON
}

/** The row of a queued ask, without its functions. One with a time names its agent, because it may be the first of its thread. */
export function rowOfAsk(
  { requestId: id, content, options, refs, keys, ...ask }: QueuedAsk,
  agent: string,
): CommandInput {
  const { author, continues, operation, at, owner } = ask;
  const ref = keys.find(([name]) => name !== "requestId")?.[0];
  const key = ref === undefined ? {} : { idempotencyRef: ref };
  const optional = {
    ...(continues !== undefined && { continues }),
    ...(operation && { operation }),
    ...(at !== undefined && { at: isoOf(at), agent }),
    ...(refs && { refs }),
    ...(author && { author }),
    ...(owner !== undefined && { owner }),
    ...key,
  };
  return { id, type: "ask", ...({ content, options, ...optional } as JsonObject) }; // checked options are JSON
}

/** The row of a remote call. */
export function rowOfCall(id: string, { method, args, isLocal, brought }: RemoteCall): CommandInput {
  return {
    id,
    type: "call",
    method,
    args,
    ...(isLocal && { local: true }),
    ...(brought && { brought: { ...brought } }),
  };
}

/** The content of a row. Any process can post one, so its body may be malformed. */
type RowContent =
  | { readonly type: "command"; readonly signal: WaitingCommand["signal"] }
  | { readonly type: "ask"; readonly ask: QueuedAsk }
  | { readonly type: "call"; readonly call: RemoteCall }
  /** `onRequestEnd` was not called yet. */
  | { readonly type: "end"; readonly requestId: string }
  /** A child has ended, or the call that asked for a request of this thread was closed. */
  | { readonly type: "child"; readonly signal: LiveSignal }
  | { readonly type: "malformed"; readonly message: string }
  /** A row of another type, which is not for the runtime. */
  | { readonly type: "unknown" };

export function contentOfRow({ id, type, body, postedAt }: Command): RowContent {
  try {
    if (type === "steer") return { type: "command", signal: { type, id, ...steerIn(body) } };
    if (type === "ask") return { type, ask: askIn(id, body, postedAt) };
    if (type === "call") return { type, call: callIn(body) };
    if (type === "child_end") return { type: "child", signal: { type: "agent", signal: childEndIn(id, body) } };
    if (type === "child_cancel")
      return { type: "child", signal: { type: "cancel_child", ...cancelledIn({ id, body }) } };
    if (type === "request_end") return { type: "end", requestId: String(body["requestId"]) };
  } catch (error) {
    const isKnown = HeddleError.isInstance(error) || error instanceof UnreadablePayload;
    return { type: "malformed", message: isKnown ? error.message : `The ${type} is malformed.` };
  }
  if (type !== "context_op") return { type: "unknown" };
  const operation = { ...(isPlainObject(body["operation"]) && body["operation"]), opId: id };
  return { type: "command", signal: { type, operation: operation as unknown as ContextOperation } }; // the agent checks it
}

function steerIn({
  steer,
  content,
  author,
  display,
  requestId,
  source,
  refs,
  skip,
  key,
  wake,
}: JsonObject): Omit<Steer, "id"> {
  const isKind = steer === "inject" || steer === "follow_up";
  return {
    steer: isKind ? steer : "steer",
    content: contentOf(content),
    ...(typeof requestId === "string" && { requestId }),
    ...(typeof source === "string" && { source }),
    ...(author !== undefined && { author: checkAuthor(author) }),
    ...(isPlainObject(display) && { display: display as JsonObject }),
    ...(refs !== undefined && { refs: copyRefs(refs, "refs") }),
    ...((skip === true || typeof skip === "number") && { skip }),
    ...(steer === "inject" && typeof key === "string" && { key }),
    ...(steer === "inject" && wake === true && { wake }),
  };
}

function callIn({ method, args, local, brought }: JsonObject): RemoteCall {
  if (typeof method === "string" && Array.isArray(args))
    return { method, args, isLocal: local === true, brought: brought as Brought | undefined }; // as a host has written it
  throw new UnreadablePayload("a call needs a method and a list of arguments");
}

/** The id of an ask that has no caller in this process. */
export function rowAskId(requestId: string): string {
  return `row ${requestId}`;
}

/** The options of a queued ask are one field, as its entry stores them. Those of a posted ask are fields of their own. */
function askIn(id: string, body: JsonObject, postedAt: number): QueuedAsk {
  // `agent` has chosen who takes the thread.
  const {
    content,
    author,
    continues,
    operation,
    options,
    at: time,
    refs: given,
    idempotencyRef,
    owner,
    agent,
    ...posted
  } = body;
  const at = timeOfAsk(time as Time | undefined, postedAt); // checked there
  if (owner !== undefined) checkName("owner", owner);
  const refs: Refs = given === undefined ? {} : copyRefs(given, "refs");
  const key = typeof idempotencyRef === "string" ? refs[idempotencyRef] : undefined;
  if (idempotencyRef !== undefined && typeof key !== "string")
    throw new UnreadablePayload("idempotencyRef must name a text of refs");
  return {
    id: rowAskId(id),
    requestId: id,
    content: contentOf(content),
    ...(author !== undefined && { author: checkAuthor(author) }),
    options: isPlainObject(options) ? (options as StoredRequestOptions) : postedOptions(posted, at ?? postedAt), // the agent checks them
    ...(typeof continues === "string" && { continues }),
    ...(isPlainObject(operation) && { operation: operation as unknown as ContextOperation }), // the agent checks it
    ...(given !== undefined && { refs }),
    ...(owner !== undefined && { owner }),
    at, // also undefined, where the row had one before
    keys: [["requestId", id], ...(typeof key === "string" ? [[String(idempotencyRef), key] as const] : [])],
    row: "waits",
  };
}

/** The rows that the entries of a step answer. */
export function consumedBy({ inbox }: Live, directives: readonly Directive[]): readonly ConsumedCommand[] {
  return directives.flatMap((directive) => {
    if (directive.type !== "settle") return [];
    const { id, end: outcome } = directive;
    const revision = inbox.get(id);
    return revision === undefined ? [] : [{ id, outcome, revision }];
  });
}

/** The commands that directives post to other threads. */
export function sentBy(directives: readonly Directive[]): readonly PostedCommand[] {
  return directives.flatMap((directive) => (directive.type === "send" ? sentCommand(directive) : []));
}

/** The row that cancels a request, if it waits: the append that ends the request consumes it. */
export function cancelOf({ inbox }: Pick<Live, "inbox">, requestId: string): readonly ConsumedCommand[] {
  const id = cancelRow(requestId);
  const revision = inbox.get(id);
  return revision === undefined ? [] : [{ id, outcome: { status: "applied" }, revision }];
}

/** The cancel of the request that this step ends. */
export function cancelOfEnded(live: Live, { agent: { state } }: Step): readonly ConsumedCommand[] {
  const { last } = state;
  const isNew = last !== undefined && last.run.runId !== live.agent.state.last?.run.runId;
  return isNew ? cancelOf(live, last.run.requestId) : [];
}

/** The row of an ask with its outcome, if the ask is a row. */
export function consumedAsk({ inbox }: Live, ask: QueuedAsk, outcome: CommandEnd): readonly ConsumedCommand[] {
  const revision = ask.row === "waits" ? inbox.get(ask.requestId) : undefined;
  return revision === undefined ? [] : [{ id: ask.requestId, outcome, revision }];
}

/** Whether these rows are those that the value knows. Rows of unknown types do not count. */
export function isInboxRead({ inbox }: Live, rows: readonly Command[]): boolean {
  const now = inboxOf(rows);
  return now.size === inbox.size && [...now].every(([id, revision]) => inbox.get(id) === revision);
}

/** The rows that are known to wait. */
function inboxOf(commands: readonly Command[]): Live["inbox"] {
  return new Map(commands.flatMap((row) => (contentOfRow(row).type === "unknown" ? [] : [[row.id, row.revision]])));
}

/** The row that waits until `onRequestEnd` was called for the request that this step ends. */
export function endCommandOf(
  { agent: before, reportsEnds }: Pick<Live, "agent" | "reportsEnds">,
  { agent: { state } }: Step,
): CommandInput | undefined {
  const { last } = state;
  if (!reportsEnds || last === undefined || last.run.runId === before.state.last?.run.runId) return undefined;
  return { id: `${END_ROW}${last.run.runId}`, type: "request_end", requestId: last.run.requestId };
}

const END_ROW = "end_";

/** Metadata that says whether `onRequestEnd` is still to be called, so that hosts recover the thread. */
export function unreportedEnd(
  { inbox }: Live,
  end: CommandInput | undefined,
  consumes: readonly ConsumedCommand[],
): JsonObject {
  if (end !== undefined) return { unreportedEnd: true };
  const isEnd = (id: string): boolean => id.startsWith(END_ROW);
  const done = new Set(consumes.map(({ id }) => id).filter(isEnd));
  const isLast = done.size > 0 && ![...inbox.keys()].some((id) => isEnd(id) && !done.has(id));
  return isLast ? { unreportedEnd: false } : {};
}

/** Stores a waiting command as a row before its caller gets an answer. Without a store, it waits in the value only. */
export function deferCommand(
  decision: Decision,
  { id, signal, replaces }: Omit<Extract<Directive, { type: "defer" }>, "type">,
  rest: () => Turn,
): Decision {
  const { postsCommands, inbox } = decision.live;
  const older = replaces !== undefined && inbox.has(replaces) ? { replaces } : {};
  if (!postsCommands) return replaced(decision, replaces);
  if (inbox.has(id)) {
    const consumes = replaces === undefined ? [] : [{ id: replaces, outcome: REPLACED }];
    return replaces === undefined ? decision : consume(decision, consumes, replacedAnswer(replaces));
  }
  const command = rowOf({ id, signal });
  return wait(decision, { type: "post", turn: rest(), commandId: id, replaces }, (effectId) => ({
    type: "post",
    id: effectId,
    command,
    ...scheduledRow(decision.live, { id }),
    ...older,
  }));
}

/** The outcome of a message that a newer one with the same key has replaced. */
export const REPLACED = { status: "dropped", reason: "replaced" } as const;

function replacedAnswer(commandId: string): readonly CallerAnswer[] {
  return [{ type: "outcome", commandId, end: REPLACED }];
}

function replaced(decision: Decision, id: string | undefined): Decision {
  if (id === undefined) return decision;
  return withoutRows(effects(decision, ...replacedAnswer(id)), [{ id, outcome: REPLACED }]);
}

/** The row is stored. Returns the end of a command that was answered before, in this process or in another. */
export function posted(
  decision: Decision,
  hold: Extract<Hold, { type: "post" }>,
  { outcome, row }: Pick<Extract<LiveSignal, { type: "posted" }>, "outcome" | "row">,
): readonly [Decision, Extract<Directive, { type: "settle" }> | undefined] {
  const { inbox, agent } = decision.live;
  const { commandId: id, replaces } = hold;
  if (outcome !== undefined) {
    return [update(decision, { agent: withReplaced(agent, hold) }), { type: "settle", id, end: endOf(outcome) }];
  }
  const waiting = update(decision, { inbox: new Map([...inbox, [id, row?.revision ?? 0]]) });
  const last = replaced(waiting, replaces);
  return [row === undefined ? last : amended(last, [row]), undefined];
}

/** The agent without a command that was not stored, and with the one that it was to replace. */
export function withReplaced(
  agent: ReactAgent,
  { turn, commandId, replaces }: Pick<Extract<Hold, { type: "post" }>, "turn" | "commandId" | "replaces">,
): ReactAgent {
  const left = withoutCommand(agent, commandId);
  const older = turn.before.flight.steers.filter(({ id }) => id === replaces);
  return { ...left, flight: { ...left.flight, steers: [...older, ...left.flight.steers] } };
}

export function withoutCommand(agent: ReactAgent, id: string): ReactAgent {
  const { steers, deferred } = agent.flight;
  const isOther = (command: { readonly id: string }): boolean => command.id !== id;
  return { ...agent, flight: { ...agent.flight, steers: steers.filter(isOther), deferred: deferred.filter(isOther) } };
}

/** The rows have their outcome. */
export function withoutRows(decision: Decision, consumes: readonly ConsumedCommand[]): Decision {
  if (consumes.length === 0) return decision;
  const done = new Set(consumes.map(({ id }) => id));
  return update(decision, { inbox: new Map([...decision.live.inbox].filter(([id]) => !done.has(id))) });
}

/** Outcomes without entries: the log stays byte-equal. The effects `then` come after. */
export function consume(
  decision: Decision,
  consumes: readonly ConsumedCommand[],
  then: readonly CallerAnswer[],
  metadata: JsonObject = {},
  sends: readonly PostedCommand[] = [],
): Decision {
  if (consumes.length + sends.length + Object.keys(metadata).length === 0) return effects(decision, ...then);
  return followedBy(decision, { type: "consume", consumes, then, metadata, ...(sends.length > 0 && { sends }) });
}

/** The rows were read again: writes the outcomes of those that still wait, as they are now. */
export function consumeAgain(decision: Decision, { consumes, then, metadata, sends }: Outcomes): Decision {
  const { inbox } = decision.live;
  const left = consumes.flatMap((one) => {
    const revision = inbox.get(one.id);
    return revision === undefined ? [] : [{ ...one, revision }];
  });
  return consume(decision, left, then, metadata, sends);
}

/**
 * The answers to callers when outcomes could not be written. The rows wait, here or for another process. Those that another read
 * of the rows gives are left out.
 */
export function unwritten(
  live: Live,
  { consumes: [row], then }: Pick<Outcomes, "consumes" | "then">,
  cause: unknown,
): readonly CallerAnswer[] {
  const suspended = (requestId: string): Error => requestSuspended(requestId, suspensionIn(live), { cause });
  return then.flatMap((answer): readonly CallerAnswer[] => {
    if (answer.type === "outcome") return [];
    if (answer.type === "settle") return [row === undefined ? answer : { ...answer, error: suspended(row.id) }];
    if (answer.type !== "settle_ask" || answer.requestId === undefined) return [answer];
    return [{ ...answer, error: suspended(answer.requestId) }];
  });
}

interface ReadOf {
  readonly threadId: string;
  /** The agent was just read from the log, so it has none of the commands. */
  readonly isFolded: boolean;
  /** The thread was deleted, and its commands with it. */
  readonly deleted?: Failure | undefined;
}

/** The rows of the inbox were read: the value gets the commands that wait now. */
export function inboxRead(
  decision: Decision,
  commands: readonly Command[],
  { threadId, isFolded, deleted }: ReadOf,
): Decision {
  const { inbox, agent, asks } = decision.live;
  const now = inboxOf(commands);
  const gone = [...inbox.keys()].filter((id) => !now.has(id));
  const isGone = (ask: QueuedAsk): boolean => ask.row === "waits" && !now.has(ask.requestId);
  const left = update(decision, {
    inbox: now,
    agent: gone.reduce(withoutCommand, agent),
    asks: asks.filter((ask) => !isGone(ask)),
    ...(asks[0] !== undefined && isGone(asks[0]) && { isAsking: false }),
  });
  const withdrawn = { status: "dropped", reason: deleted ? "run_failed" : "withdrawn" } as const;
  const ended = isFolded && !deleted ? [] : gone; // an append whose answer was lost may have delivered them
  const ends = ended.map((commandId) => ({ type: "outcome", commandId, end: withdrawn }) as const);
  const withdraw = (before: Decision, ask: QueuedAsk): Decision => withdrawnAsk(before, ask, deleted);
  const asksLeft = asks.filter(isGone).reduce(withdraw, effects(left, ...ends));
  const fresh = isFolded ? commands : commands.filter(({ id }) => !inbox.has(id));
  const warned = effects(asksLeft, ...fresh.flatMap((row) => rowWarning(row, threadId)));
  const sends = asks.filter(isGone).flatMap((ask) => endToParent(ask, withdrawnEnd(deleted)));
  const rested = asks.some(isGone) ? consume(warned, [], [], restingStatus(warned.live), sends) : warned;
  return followedBy(amended(rested, commands), ...signalsOf(fresh));
}

function withdrawnAsk(decision: Decision, { id, requestId }: QueuedAsk, deleted?: Failure): Decision {
  const error = deleted ? requestFailed(requestId, deleted) : requestCancelled(requestId, WITHDRAWN);
  return effects(
    removeRequestTools(decision, requestId),
    { type: "forget", requestId },
    { type: "settle_ask", askId: id, error },
  );
}

/** A row that nothing in this process waits for, and that is not taken. */
function rowWarning(row: Command, threadId: string): readonly Effect[] {
  const { id, type } = row;
  const content = contentOfRow(row);
  const command = `Thread ${threadId}: its inbox has the command ${id} of the type ${JSON.stringify(type)}`;
  if (content.type === "malformed")
    return [{ type: "warn", message: `${command}, which is malformed and refused: ${content.message}` }];
  if (content.type !== "unknown") return [];
  return [{ type: "warn", message: `${command}, which no agent takes. It waits until it is withdrawn.` }];
}

/** Updates waiting commands from their rows. A command that became malformed is refused. */
function amended(decision: Decision, rows: readonly Command[]): Decision {
  return rows.reduce((before, row) => {
    const { agent, asks } = before.live;
    const { steers, deferred } = agent.flight;
    const content = contentOfRow(row);
    const isKnown = row.type === "steer" && steers.some(({ id }) => id === row.id);
    if (content.type === "ask") {
      const { id: _id, ...now } = content.ask;
      const same = asks.map((one) => (one.row === "waits" && one.requestId === row.id ? { ...one, ...now } : one));
      return update(before, { asks: same });
    }
    if (content.type !== "command") {
      const ask = asks.find((one) => one.row === "waits" && one.requestId === row.id);
      if (!isKnown && ask === undefined) return before;
      const left = { agent: withoutCommand(agent, row.id), asks: asks.filter((one) => one !== ask) };
      const refused = followedBy(update(before, left), ...refusal(row, content));
      if (ask === undefined) return refused;
      return consume(withdrawnAsk(refused, ask), [], [], {}, endToParent(ask, withdrawnEnd()));
    }
    const { signal } = content;
    const flight = {
      steers: steers.map((one) =>
        one.id === row.id && signal.type === "steer" ? { ...one, ...steerIn(row.body) } : one,
      ),
      deferred: deferred.map((one) => (one.id === row.id && signal.type === "context_op" ? { ...one, signal } : one)),
    };
    // A message that wakes the thread may be an ask already.
    const same = asks.map((one) =>
      signal.type === "steer" && one.row === "waits" && one.requestId === row.id
        ? { ...one, content: signal.content }
        : one,
    );
    return update(before, { agent: { ...agent, flight: { ...agent.flight, ...flight } }, asks: same });
  }, decision);
}

/** Waiting rows as signals, in order. Asks that follow each other are one signal, because there may be thousands. */
function signalsOf(commands: readonly Command[]): readonly LiveSignal[] {
  const signals = eachSignal(commands);
  return signals.flatMap((signal, index): readonly LiveSignal[] => {
    if (signal.type !== "ask" || signals[index - 1]?.type === signal.type) return signal.type === "ask" ? [] : [signal];
    const end = signals.findIndex(({ type }, at) => at > index && type !== "ask");
    const asks = signals.slice(index, end < 0 ? undefined : end);
    return [{ type: "asks", asks: asks.flatMap((one) => (one.type === "ask" ? [one.ask] : [])) }];
  });
}

function eachSignal(commands: readonly Command[]): readonly LiveSignal[] {
  return commands.flatMap((row): readonly LiveSignal[] => {
    const content = contentOfRow(row);
    if (content.type === "end") return [{ type: "ended", requestId: content.requestId, commandId: row.id }];
    if (content.type === "command") return [{ type: "agent", signal: content.signal }];
    if (content.type === "child") return [content.signal];
    if (content.type === "ask") return [{ type: "ask", ask: content.ask }];
    if (content.type === "call")
      return [{ type: "call", commandId: row.id, revision: row.revision, call: content.call }];
    return refusal(row, content);
  });
}

function refusal({ id, revision }: Command, content: RowContent): readonly LiveSignal[] {
  if (content.type !== "malformed") return [];
  const outcome = { status: "refused", code: "command_invalid", message: content.message } as const;
  const then = [{ type: "outcome", commandId: id, end: outcome }] as const;
  return [{ type: "consume", consumes: [{ id, outcome, revision }], then, metadata: {} }];
}

/** The outcome of a row, also of one that was purged or withdrawn. */
export function endOf({ status, seq, reason, code, message }: CommandOutcome): CommandEnd {
  if (status === "applied") return { status };
  if (status === "refused") return { status, code: String(code), message: String(message) };
  if ((status === "delivered" || status === "logged") && typeof seq === "number") return { status: "delivered", seq };
  return { status: "dropped", reason: typeof reason === "string" ? reason : status };
}
