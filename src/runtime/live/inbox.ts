import type { Directive } from "../../agent/directive.ts";
import type { ReactAgent, Step } from "../../agent/react/agent.ts";
import type { CommandEnd, Steer, WaitingCommand } from "../../agent/signal.ts";
import type { ContextOperation } from "../../lanes/context-operation.ts";
import { contentOf } from "../../projection/transcript/payload.ts";
import type { Command, CommandInput, CommandOutcome, ConsumedCommand } from "../../stores/command.ts";
import { copyRefs } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import { effects, followedBy, update, wait } from "./decision.ts";
import type { Hold, Live, Turn } from "./live.ts";
import type { Decision, LiveSignal } from "./signal.ts";

/** The row of a command that waits. */
function rowOf({ id, signal }: WaitingCommand): CommandInput {
  return { ...(signal as JsonObject), type: signal.type, id }; // a waiting command is JSON
}

/** Any process can post a row. The agent refuses a steer without content, and an operation that is malformed. */
function signalOf({ id, type, body }: Command): WaitingCommand["signal"] | undefined {
  if (type === "steer") return { type, id, ...steerIn(body) };
  if (type !== "context_op") return undefined;
  const operation = { ...(isPlainObject(body["operation"]) && body["operation"]), opId: id };
  return { type, operation: operation as unknown as ContextOperation }; // the agent checks it
}

function steerIn({ steer, content, requestId, source, refs }: JsonObject): Omit<Steer, "id"> {
  const isKind = steer === "inject" || steer === "follow_up";
  try {
    return {
      steer: isKind ? steer : "steer",
      content: contentOf(content),
      ...(typeof requestId === "string" && { requestId }),
      ...(typeof source === "string" && { source }),
      ...(refs !== undefined && { refs: copyRefs(refs, "refs") }),
    };
  } catch {
    return { steer: "steer", content: "" };
  }
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

/** The rows that are known to wait. */
export function inboxOf(commands: readonly Command[]): Live["inbox"] {
  return new Map(commands.flatMap((row) => (signalsOf([row]).length > 0 ? [[row.id, row.revision]] : [])));
}

/** The row that waits until `onRequestEnd` was called for the request that this step ends. */
export function endCommandOf(
  { agent: before, reportsEnds }: Pick<Live, "agent" | "reportsEnds">,
  { agent: { state } }: Step,
): CommandInput | undefined {
  const { last } = state;
  if (!reportsEnds || last === undefined || last.run.runId === before.state.last?.run.runId) return undefined;
  return { id: `end_${last.run.runId}`, type: "request_end", requestId: last.run.requestId };
}

/** A command that waits is a row before its caller gets an answer. Without a store, it waits in the value only. */
export function deferCommand(decision: Decision, { id, signal }: WaitingCommand, rest: () => Turn): Decision {
  const { postsCommands, inbox } = decision.live;
  if (!postsCommands || inbox.has(id)) return decision;
  const command = rowOf({ id, signal });
  return wait(decision, { type: "post", turn: rest(), commandId: id }, (effectId) => ({
    type: "post",
    id: effectId,
    command,
  }));
}

/** The row is there. Returns the end of a command that was answered before, in this process or in another. */
export function posted(
  decision: Decision,
  { commandId: id }: Extract<Hold, { type: "post" }>,
  outcome: CommandOutcome | undefined,
): readonly [Decision, Extract<Directive, { type: "settle" }> | undefined] {
  const { inbox, agent } = decision.live;
  if (outcome === undefined) return [update(decision, { inbox: new Map([...inbox, [id, 0]]) }), undefined];
  return [update(decision, { agent: withoutCommand(agent, id) }), { type: "settle", id, end: endOf(outcome) }];
}

export function withoutCommand(agent: ReactAgent, id: string): ReactAgent {
  const { steers, deferred } = agent.flight;
  const isOther = (command: { readonly id: string }): boolean => command.id !== id;
  return { ...agent, flight: { ...agent.flight, steers: steers.filter(isOther), deferred: deferred.filter(isOther) } };
}

/** Another process has withdrawn, amended or posted rows: the value gets those that wait now. */
export function inboxRead(decision: Decision, commands: readonly Command[]): Decision {
  const { inbox, agent: before } = decision.live;
  const now = inboxOf(commands);
  const gone = [...inbox.keys()].filter((id) => !now.has(id));
  const agent = commands.reduce(withAmended, gone.reduce(withoutCommand, before));
  const withdrawn = { status: "dropped", reason: "withdrawn" } as const;
  const settled = gone.map((commandId) => ({ type: "outcome", commandId, end: withdrawn }) as const);
  const fresh = commands.filter(({ id }) => !inbox.has(id));
  return followedBy(effects(update(decision, { inbox: now, agent }), ...settled), ...signalsOf(fresh));
}

/** A command that waits, as its row says now. */
function withAmended(agent: ReactAgent, row: Command): ReactAgent {
  const signal = signalOf(row);
  const { steers, deferred } = agent.flight;
  const flight = {
    steers: steers.map((one) =>
      one.id === row.id && signal?.type === "steer" ? { ...one, ...steerIn(row.body) } : one,
    ),
    deferred: deferred.map((one) => (one.id === row.id && signal?.type === "context_op" ? { ...one, signal } : one)),
  };
  return { ...agent, flight: { ...agent.flight, ...flight } };
}

/** Rows that wait, as signals in their order. Those of other types are not of the runtime. */
export function signalsOf(commands: readonly Command[]): readonly LiveSignal[] {
  return commands.flatMap((command): readonly LiveSignal[] => {
    const { id: commandId, type, body } = command;
    if (type === "request_end") return [{ type: "ended", requestId: String(body["requestId"]), commandId }];
    const signal = signalOf(command);
    return signal === undefined ? [] : [{ type: "agent", signal }];
  });
}

/** The outcome of a row, also of one that was purged or withdrawn. */
function endOf({ status, seq, reason, code, message }: CommandOutcome): CommandEnd {
  if (status === "applied") return { status };
  if (status === "refused") return { status, code: String(code), message: String(message) };
  if ((status === "delivered" || status === "logged") && typeof seq === "number") return { status: "delivered", seq };
  return { status: "dropped", reason: typeof reason === "string" ? reason : status };
}
