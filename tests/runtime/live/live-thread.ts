import { Thread } from "heddle";
import { type ReactSettings, reactAgent, reactSettings } from "heddle/core";
import { decideLive } from "../../../src/runtime/live/decide-live.ts";
import { type Live, newLive, type QueuedAsk } from "../../../src/runtime/live/live.ts";
import type { Decision, Effect, LiveSignal, Moment } from "../../../src/runtime/live/signal.ts";

export const NOW: Moment = { now: 0, eventSeq: 0, threadId: "thread_t", waiting: 0 };

let ids = 0;
export const ports = { clock: () => 1, ids: (prefix: string) => `${prefix}_${++ids}` };

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
    ...newLive(agent, { recover: "resume", queuesAsks: false, mintsTokens: false, postsCommands: true }),
    ...rules,
  };
}

/** Decides signals one after the other, with those that a decision puts first. */
export function decided(live: Live, ...signals: readonly LiveSignal[]): Decision {
  const queue = [...signals];
  let last: Decision = { live, effects: [] };
  for (let signal = queue.shift(); signal !== undefined; signal = queue.shift()) {
    const { live: next, effects } = decideLive(last.live, signal, { ...NOW, waiting: queue.length });
    queue.unshift(...effects.flatMap((effect) => (effect.type === "next" ? [effect.signal] : [])));
    last = { live: next, effects: [...last.effects, ...effects] };
  }
  return last;
}

export function types({ effects }: Decision): readonly Effect["type"][] {
  return effects.map(({ type }) => type);
}

/** The last effect of a type. */
export function find<Type extends Effect["type"]>({ effects }: Decision, type: Type): Extract<Effect, { type: Type }> {
  const found = effects.findLast((effect) => effect.type === type);
  if (found === undefined) throw new Error(`There is no effect ${type}.`);
  return found as Extract<Effect, { type: Type }>; // found by its type
}

export const ask: QueuedAsk = { id: "ask 1", requestId: "req_1", content: "Hi.", options: {}, keys: [] };
export const asking: LiveSignal = { type: "ask", ask };
export const prepared: LiveSignal = { type: "prepared", askId: ask.id, given: {} };

/** The answer of a store that took the entries of the last append. */
export function appended(decision: Decision): LiveSignal {
  const { id, before, after: agent } = find(decision, "append");
  const entries = agent.thread.slice(before.thread.rev, agent.thread.lastSeq);
  return { type: "appended", id, result: { entries, replayed: false } as never }; // the agent reads only these fields
}

/** Decides a signal whose entries the store takes. */
function written(live: Live, ...signals: readonly LiveSignal[]): Decision {
  const put = decided(live, ...signals);
  const after = decided(put.live, appended(put));
  return { live: after.live, effects: [...put.effects, ...after.effects] };
}

/** A request whose model call is at work. */
export function running(live = idle()): Decision {
  return written(live, asking, prepared);
}

/** A request whose model has called tools. */
export function calling(names: readonly string[], live = idle()): Decision {
  const asked = running(live);
  const { id: from, directive } = find(asked, "start");
  const toolCalls = names.map((name, index) => ({ id: `call_${index}`, name, arguments: {} }));
  const callId = directive.type === "llm_stream" ? directive.callId : "";
  const answer = { content: "", toolCalls, finishReason: "tool-calls", usage: {} } as const;
  return written(asked.live, { type: "agent", from, signal: { type: "llm_result", callId, answer } });
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
