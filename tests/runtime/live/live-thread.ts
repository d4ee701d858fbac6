import { Thread } from "heddle";
import { type ReactSettings, reactAgent, reactSettings } from "heddle/core";
import type { Signal, ToolOutcome } from "../../../src/agent/signal.ts";
import { decideLive } from "../../../src/runtime/live/decide-live.ts";
import { type Live, newLive, type QueuedAsk } from "../../../src/runtime/live/live.ts";
import { dequeue, enqueue, NOTHING_CHECKED, skipNotDue } from "../../../src/runtime/live/queue.ts";
import type { Decision, Effect, LiveSignal, Moment } from "../../../src/runtime/live/signal.ts";
import type { Command } from "../../../src/stores/command.ts";
import { StaleHolderError, StoreError } from "../../../src/stores/errors.ts";
import type { Entry } from "../../../src/thread/entry.ts";

export const NOW: Moment = { now: 0, clock: 0, eventSeq: 0, threadId: "thread_t", waiting: 0 };

/** The errors of an append: nothing was written, the store is away, another process has the thread. */
export const OUT_OF_SPACE = new StoreError({ code: "store_failed", message: "The disk is full." });
export const AWAY = new StoreError({ code: "store_unreachable", retryable: true, message: "The store is away." });
export const TAKEN = new StaleHolderError("thread_t", 1, 2, { holder: "other", until: 9 });
export const WHY = new Error("stopped");

let ids = 0;
const ports = { clock: () => 1, ids: (prefix: string) => `${prefix}_${++ids}` };

const inputSchema = { type: "object" } as const;

/** A thread without entries and its agent, which has the tools `look` and `sign`. */
export function idle(settings: Partial<ReactSettings> = {}, rules: Partial<Live> = {}): Live {
  const tools = [
    { name: "look", inputSchema },
    { name: "sign", inputSchema },
  ];
  const definition = reactSettings({ name: "test", tools, traits: { sign: { needsApproval: true } }, ...settings });
  const agent = reactAgent(definition, ports, Thread.create({ ...ports, id: "thread_t" }));
  return {
    ...newLive(agent, {
      recover: "resume",
      queuesAsks: false,
      mintsTokens: false,
      postsCommands: true,
      reportsEnds: false,
    }),
    ...rules,
  };
}

/** A decision, and the signals that wait until they are due. */
export interface Story extends Decision {
  readonly queue: readonly LiveSignal[];
}

type Start = Live | Story;

/** Decides signals as the loop does: the first that is due, then those that its decision puts first. */
export function decided(start: Start, ...signals: readonly LiveSignal[]): Story {
  return decidedAt({}, start, ...signals);
}

export function decidedAt(moment: Partial<Moment>, start: Start, ...signals: readonly LiveSignal[]): Story {
  const queue = [...("live" in start ? start.queue : [])];
  enqueue(queue, signals);
  let last: Decision = { live: "live" in start ? start.live : start, effects: [] };
  for (;;) {
    const { count } = skipNotDue(last.live, queue, NOTHING_CHECKED);
    const signal = dequeue(queue, count);
    if (signal === undefined) return { ...last, queue };
    const { live, effects } = decideLive(last.live, signal, { ...NOW, ...moment, waiting: queue.length });
    queue.unshift(...effects.flatMap((effect) => (effect.type === "next" ? [effect.signal] : [])));
    last = { live, effects: [...last.effects, ...effects] };
  }
}

/** As `decided`. The store takes the entries of every append, and a thread that is to be shortened stays as it is. */
export function written(start: Start, ...signals: readonly LiveSignal[]): Story {
  return writtenAt({}, start, ...signals);
}

export function writtenAt(moment: Partial<Moment>, start: Start, ...signals: readonly LiveSignal[]): Story {
  let last = decidedAt(moment, start, ...signals);
  for (let done = doneWith(last); done !== undefined; done = doneWith(last)) {
    const next = decidedAt(moment, last, done);
    last = { ...next, effects: [...last.effects, ...next.effects] };
  }
  return last;
}

/** The answer to an append, or to an effect at the end of a request. */
function doneWith(last: Story): LiveSignal | undefined {
  const { hold } = last.live;
  if (hold?.type === "append") return appended(last);
  return hold?.type === "shorten" ? shortened(last) : undefined;
}

export function types({ effects }: Decision): readonly Effect["type"][] {
  return effects.map(({ type }) => type);
}

/** The effects of a type. */
export function all<Type extends Effect["type"]>({ effects }: Decision, type: Type): Extract<Effect, { type: Type }>[] {
  return effects.filter((effect): effect is Extract<Effect, { type: Type }> => effect.type === type);
}

/** The last effect of a type. */
export function find<Type extends Effect["type"]>(decision: Decision, type: Type): Extract<Effect, { type: Type }> {
  const found = all(decision, type).at(-1);
  if (found === undefined) throw new Error(`There is no effect ${type}.`);
  return found;
}

/** The entries of the last append. */
export function entriesOf(decision: Decision): readonly Entry[] {
  const { before, after: agent } = find(decision, "append");
  return agent.thread.toArray().filter(({ seq }) => seq >= before.thread.rev);
}

/** The kinds of the events that were emitted. */
export function events(decision: Decision): readonly string[] {
  return all(decision, "emit").map(({ event }) => event.kind);
}

export const ask: QueuedAsk = { id: "ask 1", requestId: "req_1", content: "Hi.", options: {}, keys: [] };
export const asking: LiveSignal = { type: "ask", ask };
export const prepared: LiveSignal = { type: "prepared", askId: ask.id, given: {} };

export function command(signal: Signal, reply = "r"): LiveSignal {
  return { type: "agent", signal, reply };
}

export const cancel: Signal = { type: "cancel", reason: "Enough." };

/** The answer of a store that took the entries of the append that is on its way. */
export function appended({ live: { agent, hold } }: Decision): LiveSignal {
  if (hold?.type === "consume")
    return { type: "appended", id: hold.id, result: { entries: [], replayed: false } as never }; // as below
  if (hold?.type !== "append") throw new Error("Nothing is being appended.");
  const entries = hold.step.agent.thread.toArray().filter(({ seq }) => seq >= agent.thread.rev);
  return { type: "appended", id: hold.id, result: { entries, replayed: false } as never }; // the agent reads only these fields
}

/** The thread of a request that has ended was not shortened. */
export function shortened({ live: { agent, hold } }: Decision): LiveSignal {
  return { type: "shortened", id: hold?.id ?? "", agent };
}

/** The answer of an effect that failed. */
export function failed(decision: Decision, error: unknown): LiveSignal {
  const id = decision.live.hold?.id;
  if (id === undefined) throw new Error("No effect is to answer.");
  return { type: "failed", id, error };
}

/** A request whose model call is at work. */
export function running(live = idle()): Story {
  return written(live, asking, prepared);
}

/** The id of the last model call. */
function callIdOf(decision: Decision): string {
  const { directive } = find(decision, "start");
  return directive.type === "llm_stream" ? directive.callId : "";
}

/** The answer of the last model call that a story has started. */
export function answer(started: Decision, calls: readonly string[] = [], more: object = {}): LiveSignal {
  const toolCalls = calls.map((name, index) => ({ id: `call_${index}`, name, arguments: {} }));
  const finishReason = calls.length > 0 ? ("tool-calls" as const) : ("stop" as const);
  const content = calls.length > 0 ? "" : "Hello.";
  const { id: from } = find(started, "start");
  const signal = {
    type: "llm_result",
    callId: callIdOf(started),
    answer: { content, toolCalls, finishReason, usage: {} },
  } as const;
  return { type: "agent", from, signal, ...more };
}

/** The model call was aborted. */
export function aborted(started: Decision, more: object = {}): LiveSignal {
  const { id: from } = find(started, "start");
  const failure = { code: "model_aborted", message: "The call was aborted." };
  return { type: "agent", from, signal: { type: "llm_error", callId: callIdOf(started), failure }, ...more };
}

/** A request whose model has called tools. */
export function calling(names: readonly string[], live = idle()): Story {
  const asked = running(live);
  return written(asked, answer(asked, names));
}

type ToolSignal = Extract<Signal, { type: "tool_result" | "approval_needed" | "answer_needed" }>;

/** What came of a tool call that a story has started. */
export function fromTool(
  started: Decision,
  type: ToolSignal["type"] = "tool_result",
  toolCallId = "call_0",
): LiveSignal {
  const outcome: ToolOutcome = { content: "Seen.", isError: false };
  const start = all(started, "start").find(
    ({ directive }) => directive.type === "tool_exec" && directive.call.id === toolCallId,
  );
  if (start?.directive.type !== "tool_exec") throw new Error(`The call ${toolCallId} was not started.`);
  return { type: "agent", from: start.id, signal: { type, callId: start.directive.callId, toolCallId, outcome } };
}

/** A request that waits for the approval of `sign`. */
export function waiting(live = idle()): Story {
  const called = calling(["sign"], live);
  return written(called, fromTool(called, "approval_needed"));
}

/** The log as it is without the append that failed. */
export function restored(decision: Decision, more: object = {}): LiveSignal {
  const { id } = find(decision, "restore");
  const { agent } = decision.live;
  const { flight } = reactAgent(agent.settings, ports);
  return { type: "restored", id, agent: { ...agent, flight }, rows: [], ...more };
}

export const replace = {
  opId: "op_1",
  contextRef: "default",
  operation: { type: "replace", reason: "manual", resultContext: { id: "ctx", entries: [] } },
} as const;

/** An operation that waits, as a row. */
export function operationRow(operation: object = replace): Command {
  return { id: replace.opId, type: "context_op", body: { operation } as never, revision: 0, postedAt: 1 }; // JSON
}

/** A steer that waits, as a row. */
export function row(id: string, content: string, revision = 0): Command {
  return { id, type: "steer", body: { steer: "steer", content, requestId: "req_1" }, revision, postedAt: 1 };
}

/** An ask that waits, as a row. */
export function askRow(id: string, content = "Hi."): Command {
  return { id, type: "ask", body: { content }, revision: 0, postedAt: 1 };
}
