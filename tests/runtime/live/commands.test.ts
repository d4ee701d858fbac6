import { Thread } from "heddle";
import { reactAgent, reactSettings } from "heddle/core";
import { describe, expect, test } from "vitest";
import type { Signal } from "../../../src/agent/signal.ts";
import { decideLive } from "../../../src/runtime/live/decide-live.ts";
import { type Live, newLive } from "../../../src/runtime/live/live.ts";
import type { Decision, Effect, LiveSignal, Moment } from "../../../src/runtime/live/signal.ts";
import type { Command } from "../../../src/stores/command.ts";
import { CommandError, StoreError } from "../../../src/stores/errors.ts";

const NOW: Moment = { now: 0, eventSeq: 0, threadId: "thread_t", waiting: 0 };

let ids = 0;
const ports = { clock: () => 1, ids: (prefix: string) => `${prefix}_${++ids}` };

function idle(postsCommands = true): Live {
  const agent = reactAgent(reactSettings({ name: "test" }), ports, Thread.create({ ...ports, id: "thread_t" }));
  return newLive(agent, { recover: "resume", queuesAsks: false, mintsTokens: false, postsCommands });
}

/** Decides a signal, then those that the decisions put first while none has to wait. */
function decided(live: Live, ...signals: readonly LiveSignal[]): Decision {
  const queue = [...signals];
  let last: Decision = { live, effects: [] };
  while (queue.length > 0 && (last.live.hold === undefined || "id" in (queue[0] ?? {}))) {
    const signal = queue.shift();
    if (signal === undefined) break;
    const { live: next, effects } = decideLive(last.live, signal, { ...NOW, waiting: queue.length });
    queue.unshift(...effects.flatMap((effect) => (effect.type === "next" ? [effect.signal] : [])));
    last = { live: next, effects: [...last.effects, ...effects] };
  }
  return last;
}

function find<Type extends Effect["type"]>({ effects }: Decision, type: Type): Extract<Effect, { type: Type }> {
  const found = effects.findLast((effect) => effect.type === type);
  if (found === undefined) throw new Error(`There is no effect ${type}.`);
  return found as Extract<Effect, { type: Type }>; // found by its type
}

function types({ effects }: Decision): readonly Effect["type"][] {
  return effects.map(({ type }) => type);
}

function appended(decision: Decision): LiveSignal {
  const { id, before, after: agent } = find(decision, "append");
  const isEmpty = agent.thread.rev === before.thread.rev;
  const entries = isEmpty ? [] : agent.thread.slice(before.thread.rev, agent.thread.lastSeq);
  return { type: "appended", id, result: { rev: agent.thread.rev, entries, replayed: false } };
}

/** A request whose model call is at work. */
function running(postsCommands = true): Decision {
  const ask = { id: "ask 1", requestId: "req_1", content: "Hi.", options: {}, keys: [] };
  const put = decided(idle(postsCommands), { type: "ask", ask }, { type: "prepared", askId: ask.id, given: {} });
  return decided(put.live, appended(put));
}

function steer(id: string, content = "Be brief."): Signal {
  return { type: "steer", id, steer: "steer", content };
}

function command(signal: Signal, reply = "r"): LiveSignal {
  return { type: "agent", signal, reply };
}

/** The words are a row. */
function steered(request: Decision, id = "s1"): Decision {
  const posting = decided(request.live, command(steer(id)));
  return decided(posting.live, { type: "posted", id: find(posting, "post").id, outcome: undefined });
}

function answer(request: Decision): LiveSignal {
  const { id: from, directive } = find(request, "start");
  const callId = directive.type === "llm_stream" ? directive.callId : "";
  const said = { content: "Hello.", toolCalls: [], usage: {}, finishReason: "stop" } as const;
  return { type: "agent", from, signal: { type: "llm_result", callId, answer: said } };
}

function row(id: string, content: string, revision = 0): Command {
  return { id, type: "steer", body: { steer: "steer", content, requestId: "req_1" }, revision, postedAt: 1 };
}

describe("words for a running request", () => {
  test("are posted before their caller gets an answer, and consumed by the append that delivers them", () => {
    const request = running();
    const posting = decided(request.live, command(steer("s1")));
    expect(types(posting)).toEqual(["post"]);
    const body = { type: "steer", steer: "steer", content: "Be brief.", requestId: "req_1" };
    expect(find(posting, "post").command).toEqual({ id: "s1", ...body });
    const waiting = decided(posting.live, { type: "posted", id: find(posting, "post").id, outcome: undefined });
    expect(types(waiting)).toEqual(["settle"]);
    expect(waiting.live.inbox).toEqual(new Map([["s1", 0]]));
    const delivering = decided(waiting.live, answer(request));
    const { after, consumes } = find(delivering, "append");
    const last = after.thread.last();
    expect(last?.id).toBe("s1/0");
    expect(consumes).toEqual([{ id: "s1", outcome: { status: "delivered", seq: last?.seq }, revision: 0 }]);
    const done = decided(delivering.live, appended(delivering));
    expect(find(done, "outcome")).toMatchObject({ commandId: "s1", end: { status: "delivered" } });
    expect(done.live.inbox.size).toBe(0);
  });

  test("that came too late get their outcome with the end of the request", () => {
    const request = running();
    const waiting = steered(request);
    const cancelled = decided(waiting.live, { type: "agent", signal: { type: "cancel" } });
    const failure = { code: "model_aborted", message: "The call was aborted." };
    const { id: from, directive } = find(request, "start");
    const callId = directive.type === "llm_stream" ? directive.callId : "";
    const ending = decided(cancelled.live, { type: "agent", from, signal: { type: "llm_error", callId, failure } });
    expect(find(ending, "append").consumes).toMatchObject([{ id: "s1", outcome: { reason: "cancelled" } }]);
  });

  test("that are refused are no row", () => {
    const refused = decided(idle(), command(steer("s1")));
    expect(types(refused)).toEqual(["outcome", "settle"]);
  });

  test("that were answered before do not wait once more", () => {
    const posting = decided(running().live, command(steer("s1")));
    const outcome = { status: "logged", seq: 7 };
    const known = decided(posting.live, { type: "posted", id: find(posting, "post").id, outcome });
    expect(find(known, "outcome").end).toEqual({ status: "delivered", seq: 7 });
    expect(known.live.agent.flight.steers).toEqual([]);
  });

  test("whose post failed do not wait, and their row is withdrawn", () => {
    const posting = decided(running().live, command(steer("s1")));
    const error = new StoreError({ code: "store_failed", message: "The disk is full." });
    const failed = decided(posting.live, { type: "failed", id: find(posting, "post").id, error });
    expect(types(failed)).toEqual(["withdraw_row", "settle"]);
    expect(find(failed, "settle").error).toBe(error);
    expect(failed.live.agent.flight.steers).toEqual([]);
  });

  test("of a run without a store wait in the value", () => {
    const waiting = decided(running(false).live, command(steer("s1")));
    expect(types(waiting)).toEqual(["settle"]);
    expect(waiting.live.agent.flight.steers).toMatchObject([{ id: "s1" }]);
  });
});

describe("rows that another process has changed", () => {
  const settled = (id: string) => {
    return new CommandError({ code: "command_settled", threadId: "thread_t", commandId: id, message: "Settled." });
  };
  /** The append that delivers the words was refused. The inbox is read. */
  function reread(rows: readonly Command[]): Decision {
    const request = running();
    const delivering = decided(steered(request).live, answer(request));
    const refused = decided(delivering.live, {
      type: "failed",
      id: find(delivering, "append").id,
      error: settled("s1"),
    });
    return decided(refused.live, { type: "inbox_read", id: find(refused, "read_inbox").id, rows });
  }

  test("withdrawn words are not delivered, and the request ends without them", () => {
    const again = reread([]);
    expect(find(again, "outcome").end).toEqual({ status: "dropped", reason: "withdrawn" });
    const { after, consumes } = find(again, "append");
    expect(consumes).toEqual([]);
    expect(after.thread.last()?.payload).toMatchObject({ content: "Hello.", end: { status: "completed" } });
  });

  test("amended words are delivered as they are now", () => {
    const { after, consumes } = find(reread([row("s1", "In verse.", 1)]), "append");
    expect(after.thread.last()?.payload).toMatchObject({ content: "In verse." });
    expect(consumes).toMatchObject([{ id: "s1", revision: 1 }]);
  });
});

describe("a thread that is opened", () => {
  /** The log of a request that was interrupted, in another process. */
  function opened(rows: readonly Command[]): Decision {
    const { agent } = running().live;
    const live = newLive({ ...agent, flight: idle().agent.flight }, { ...idle() });
    return decided(live, { type: "opened", reply: "r", rows, first: { type: "resume" }, given: undefined });
  }

  test("delivers the words that wait at the next step, without another post", () => {
    const resumed = opened([row("s1", "Be brief.")]);
    const { after, consumes } = find(resumed, "append");
    expect(types(resumed)).not.toContain("post");
    expect(after.thread.last()).toMatchObject({ id: "s1/0", payload: { content: "Be brief." } });
    expect(consumes).toMatchObject([{ id: "s1", outcome: { status: "delivered" } }]);
  });

  test.each([
    ["request_mismatch", { steer: "steer", content: "Late.", requestId: "req_0" }],
    ["empty_content", { content: 5 }],
    ["empty_content", { content: "Hi.", refs: { nested: {} } }],
  ])("drops words with the reason %s", (reason, body) => {
    const first = opened([{ ...row("s1", ""), body }]);
    expect(find(first, "append")).toMatchObject({ consumes: [{ id: "s1", outcome: { reason } }] });
  });

  test("leaves rows of other types alone", () => {
    const { live } = opened([{ ...row("mine", ""), type: "note" }]);
    expect(live.inbox.size).toBe(0);
  });

  test("refuses an operation that cannot be applied, with an outcome and a warning", () => {
    const malformed = {
      id: "op_1",
      type: "context_op",
      body: { operation: { contextRef: 5 } },
      revision: 0,
      postedAt: 1,
    };
    const first = decided(idle(), {
      type: "opened",
      reply: "r",
      rows: [malformed],
      first: undefined,
      given: undefined,
    });
    const { consumes, after } = find(first, "append");
    expect(consumes).toMatchObject([{ id: "op_1", outcome: { status: "refused", code: "context_op_invalid" } }]);
    expect(after.thread.rev).toBe(0);
    expect(find(first, "warn").message).toContain("op_1");
  });
});
