import { describe, expect, test } from "vitest";
import type { Directive } from "../../../src/agent/directive.ts";
import type { Live } from "../../../src/runtime/live/live.ts";
import { performDirective } from "../../../src/runtime/live/perform-directive.ts";
import type { LiveSignal } from "../../../src/runtime/live/signal.ts";
import {
  AWAY,
  aborted,
  all,
  answer,
  appended,
  ask,
  asking,
  calling,
  cancel,
  command,
  decided,
  events,
  find,
  fromTool,
  idle,
  NOW,
  OUT_OF_SPACE,
  prepared,
  running,
  shortened,
  types,
  WHY,
  waiting,
  written,
} from "./live-thread.ts";

/** The effects of one directive. */
function performed(live: Live, directive: Directive) {
  const rest = (): never => {
    throw new Error("The directive does not wait.");
  };
  return performDirective({ live, effects: [] }, directive, rest, NOW);
}

const foreign = { requestId: "req_0", runId: "run_0", iteration: 1 } as const;

describe("a request", () => {
  test("opens with its first event, and works", () => {
    const begun = running();
    const { runId } = begun.live.agent.state.run ?? {};
    expect(find(begun, "open_request")).toEqual({ type: "open_request", requestId: "req_1", runId, firstEventSeq: 1 });
    expect(events(begun)).toEqual(["request_started", "llm_started"]);
    expect(all(begun, "emit").map(({ iteration }) => iteration)).toEqual([0, 1]);
    const { id, directive } = find(begun, "start");
    expect(begun.live.request).toEqual({ id: "req_1", runId, phase: "running", hasEmittedEnd: false, call: id });
    expect(begun.live).toMatchObject({ work: [id], lastCall: { directive } });
    expect(begun.live.lastCall?.agent).toBe(begun.live.agent);
  });

  test("that ends elsewhere before the next one begins there settles with its end", () => {
    const waits = waiting();
    const ended = written(waits, command(cancel));
    const again = { ...asking, ask: { ...ask, id: "ask 2", requestId: "req_2" } };
    const next = written(ended, again, { type: "prepared", askId: "ask 2", given: {} }).live.agent;
    const reading = decided(waits, command({ type: "notice" }));
    const read = decided(reading, { type: "caught_up", id: find(reading, "catch_up").id, agent: next });
    expect(events(read)).toEqual(["request_cancelled"]);
    expect(find(read, "reject").error).toMatchObject({ code: "request_cancelled", requestId: "req_1" });
    expect(read.live.request).toMatchObject({ id: "req_1", phase: "over" });
  });

  test("that completes settles with its end, and its thread may be shortened", () => {
    const open = running();
    const over = decided(open, answer(open));
    const done = decided(over, appended(over));
    expect(types(done)).toEqual(["emit", "emit", "forget", "follow", "complete", "next", "shorten"]);
    expect(events(done)).toEqual(["llm_completed", "request_completed"]);
    expect(done.live.lastCall).toBeUndefined(); // the log has it
    const { last } = done.live.agent.state;
    expect(find(done, "complete")).toEqual({
      type: "complete",
      thread: done.live.agent.thread,
      ended: last,
      object: undefined,
    });
    expect(find(done, "follow").fromSeq).toBeUndefined();
    expect(find(done, "forget").requestId).toBe("req_1");
    expect(done.live).toMatchObject({ work: [], request: { phase: "over", hasEmittedEnd: true } });
    expect(find(done, "shorten")).toEqual({ type: "shorten", id: done.live.hold?.id, agent: done.live.agent });
    const short = {
      ...done.live.agent,
      settings: idle().agent.settings,
      state: { ...done.live.agent.state, lanes: ["short"] },
    };
    const after = decided(done, { ...shortened(done), agent: short } as LiveSignal);
    expect(after.live.agent).toEqual({ ...done.live.agent, thread: short.thread, state: short.state });
    expect(after.live.hold).toBeUndefined();
    const failure = decided(done, { type: "failed", id: done.live.hold?.id ?? "", error: WHY });
    const { agent, broken } = failure.live;
    expect([types(failure), agent, broken]).toEqual([[], done.live.agent, undefined]);
  });

  test("is not shortened while it is open, the log cannot be written, or the thread is being released", () => {
    const shorten: LiveSignal = { type: "shorten" };
    expect(decided(running(), shorten).effects).toEqual([]);
    expect(types(decided(idle(), shorten))).toEqual(["shorten"]);
    const broken = {
      error: AWAY,
      failure: { code: "", message: "" },
      suspension: undefined,
      isPermanent: false,
      retryMs: 1,
    };
    expect(decided(idle({}, { broken }), shorten).effects).toEqual([]);
    const closed = decided(idle(), { type: "stop", graceMs: 0, why: WHY });
    expect(decided(closed, shorten).effects).toEqual([]);
    const stopping = { phase: "grace", why: WHY, isStrict: false, hasRestored: false } as const;
    expect(types(decided(idle({}, { stopping, isAsking: true }), shorten))).toEqual([]);
  });

  test("that is cancelled aborts its calls and is rejected with the reason", () => {
    const open = running();
    const stopping = decided(open, command(cancel));
    expect(stopping.effects).toMatchObject([
      { type: "interrupt", reason: { message: "Enough." } },
      { type: "settle", reply: "r" },
    ]);
    const over = written(stopping, aborted(open));
    expect(find(over, "reject").error).toMatchObject({
      code: "request_cancelled",
      requestId: "req_1",
      message: "Enough.",
    });
    expect(over.live.request).toMatchObject({ phase: "over" });
  });

  test("that fails is rejected with its cause, unless an earlier error was the cause", () => {
    const failing = (code: string) => {
      const open = running();
      const over = written(open, aborted(open, { thrown: { error: WHY, code } }));
      return find(over, "reject").error;
    };
    const failure = { code: "model_aborted", message: "The call was aborted." };
    expect(failing("model_aborted")).toMatchObject({ code: "request_failed", failure, cause: WHY });
    expect(failing("other")).toMatchObject({ code: "request_failed", failure });
    expect((failing("other") as Error).cause).toBeUndefined();
  });

  test("completes with the checked object of its last answer, and only with that", () => {
    const object = { sum: 4 };
    const open = running();
    const over = written(open, answer(open, [], { object }));
    expect(find(over, "complete").object).toEqual(object);
    const last = all(over, "emit").at(-1);
    expect(last?.event).toMatchObject({ kind: "request_completed", data: { text: "Hello.", object } });
    expect(over.live.request?.object).toBeUndefined();
    const called = written(open, answer(open, ["look"], { object }));
    expect(events(called)).not.toContain("request_completed");
    expect(called.effects.some((effect) => effect.type === "emit" && "object" in effect.event)).toBe(false);
    const again = written(called, fromTool(called));
    const plain = written(again, answer(again));
    expect(find(plain, "complete").object).toBeUndefined();
    expect(all(plain, "emit").at(-1)?.event).not.toHaveProperty("data.object");
  });

  test("that is finished completes without the object of its last answer", () => {
    const open = running(idle({ maxIterations: 1 }));
    const called = written(open, answer(open, ["look"], { object: 1 }));
    const result = fromTool(called) as Extract<LiveSignal, { type: "agent" }>;
    const over = written(called, { ...result, object: 2 });
    expect(all(over, "emit").at(-1)?.event).toMatchObject({ data: { terminationReason: "max_iterations" } });
    expect(all(over, "emit").at(-1)?.event).not.toHaveProperty("data.object");
  });
});

describe("a call", () => {
  test("begins with its own id, and the calls of the answer before are forgotten", () => {
    const called = calling(["look", "look"]);
    const starts = all(called, "start").map(({ id }) => id);
    expect(new Set(starts).size).toBe(2);
    expect(called.live.work).toEqual(starts);
    const begun = decided(called, { type: "begun", toolCallId: "call_0" }, { type: "begun", toolCallId: "call_1" });
    expect(begun.live.begun).toEqual(["call_0", "call_1"]);
    const first = written({ ...called, live: begun.live }, fromTool(called));
    expect(first.live.work).toEqual(starts.slice(1));
    const next = written(first, fromTool(called, "tool_result", "call_1"));
    expect(next.live.begun).toEqual([]);
    expect(next.live.work).toHaveLength(1);
  });

  test("whose work ended without a result does not run any more", () => {
    const open = running();
    const { id } = find(open, "start");
    const ended = decided(open, { type: "worked", id });
    expect(ended).toMatchObject({ effects: [], live: { work: [], broken: undefined } });
    expect(decided(open, { type: "worked", id: "99", error: WHY })).toMatchObject({ effects: [], live: open.live });
    expect(decided(ended, answer(open))).toMatchObject({ effects: [], live: ended.live });
  });

  test("for an approval emits its request, and emits it again in the next process", () => {
    const asked = waiting();
    const event = {
      kind: "approval_requested",
      callId: asked.live.agent.state.run?.callId,
      toolCallId: "call_0",
      toolName: "sign",
      data: { arguments: {} },
    };
    expect(all(asked, "emit").map(({ event }) => event)).toContainEqual(event);
    expect(all(asked, "emit").at(-1)).toEqual({ type: "emit", event, iteration: 1, isReplayed: true });
  });

  test("for an answer from outside does so too", () => {
    const called = calling(["look"], idle({ traits: { look: { client: true } } }));
    const asked = written(called, fromTool(called, "answer_needed"));
    expect(all(asked, "emit").at(-1)).toMatchObject({
      event: { kind: "answer_requested", toolName: "look" },
      isReplayed: true,
    });
  });

  test("with another prompt or other tools than the one before is reported once", () => {
    const open = running();
    const directive = find(open, "start").directive as Extract<Directive, { type: "llm_stream" }>;
    let { live } = open;
    const warned = ["a", "b", "b", "c"].map((environment) => {
      const { live: after, effects } = performed(live, { ...directive, basis: { ...directive.basis, environment } });
      live = after;
      return effects.some(({ type }) => type === "warn_of_change");
    });
    expect(warned).toEqual([true, false, false, false]);
    expect(live.environment).toEqual({ hash: "c", hasChanged: true });
    expect(open.live.environment).toEqual({ hash: directive.basis.environment, hasChanged: false });
    expect(types(open)).not.toContain("warn_of_change");
  });
});

describe("a directive of a request that is not the current one", () => {
  /** The ids of the request of a thread. */
  const idsOf = ({ request }: Live) => ({ requestId: "req_1", runId: request?.runId ?? "", iteration: 1 });
  const overLive = () => {
    const open = running();
    return written(open, answer(open)).live;
  };
  const ids = { requestId: "req_1", runId: "", iteration: 1 }; // the test sets the run
  const call = { id: "call_0", name: "look", arguments: {} };

  test("opens it first, if it is a new one", () => {
    const { live } = running();
    const opened = performed(live, { type: "abort", ...foreign, reason: "Why." });
    expect(opened.effects).toMatchObject([{ type: "open_request", requestId: "req_0" }, { type: "interrupt" }]);
    const other = performed(live, { type: "abort", ...idsOf(live), runId: "run_9", reason: "Why." });
    expect(types(other)).toEqual(["open_request", "interrupt"]);
  });

  test.each<Directive>([
    { type: "abort", ...ids, reason: "Why." },
    { type: "emit", ...ids, event: { kind: "request_started", data: { lane: "default" } } },
    { type: "await_approval", ...ids, callId: "c", call },
    { type: "await_answer", ...ids, callId: "c", call },
    { type: "checkpoint", ...ids, reason: "after_llm" },
    {
      type: "schedule",
      ...ids,
      afterMs: 1,
      workedMs: 0,
      noteEveryMs: 1,
      signal: { type: "fail", failure: { code: "", message: "" } },
    },
    { type: "emit_request_error", requestId: "req_1", failure: { code: "busy", message: "" } },
  ])("does nothing when it is over: $type", (directive) => {
    const over = overLive();
    const ofOver = "runId" in directive ? { ...directive, runId: idsOf(over).runId } : directive;
    expect(performed({ ...over, mintsTokens: true }, ofOver)).toEqual({
      live: { ...over, mintsTokens: true },
      effects: [],
    });
  });

  test("does not start work of another request; a summary may be of none", () => {
    const { live } = running();
    const summary = {
      type: "summarize",
      lane: "default",
      range: {},
      maxTokens: 1,
      reason: "automatic",
    } as never as Directive;
    expect(types(performed(live, summary))).toEqual(["start"]);
    expect(types(performed(live, { ...summary, requestId: "req_0" } as Directive))).toEqual([]);
    expect(types(performed(live, { ...summary, requestId: "req_1" } as Directive))).toEqual(["start"]);
  });

  test("stops only its own: the result of another is not settled", () => {
    const { live } = running();
    const over = overLive();
    const stop = { type: "stop", requestId: "req_1", runId: idsOf(live).runId, status: "completed" } as const;
    expect(types(performed(live, stop))).toEqual(["forget", "follow", "next"]);
    expect(types(performed(over, { ...stop, runId: idsOf(over).runId }))).toEqual(["forget", "follow", "next"]);
  });
});

describe("a model call that waits for its retry", () => {
  const isOver: LiveSignal = { type: "timer", name: "retry" };
  const failure = { code: "model_overloaded", message: "Later.", retryable: true };
  const retrying = () => {
    const open = running();
    const { id: from, directive } = find(open, "start");
    const { callId = "" } = directive.type === "llm_stream" ? directive : {};
    return written(open, { type: "agent", from, signal: { type: "llm_error", callId, failure, retryMs: 400 } });
  };

  test("begins when its time has come, once", () => {
    const waits = retrying();
    expect(find(waits, "timer")).toEqual({ type: "timer", name: "retry", ms: 400 });
    expect(waits.live).toMatchObject({ work: [], lastCall: { waits: true } });
    const begun = decided(waits, isOver);
    expect(types(begun)).toEqual(["timer", "start"]);
    expect(begun.live.lastCall?.waits).toBe(false);
    expect(decided(begun, isOver).effects).toEqual([]);
  });

  test("begins at once when its request is cancelled, and ends as aborted", () => {
    const begun = decided(retrying(), command(cancel));
    expect(types(begun)).toEqual(["interrupt", "timer", "start", "settle"]);
    expect(events(written(begun, aborted(begun)))).toContain("request_cancelled");
  });

  test("is not made when its request is finished, and its timer ends", () => {
    const finished = written(retrying(), command({ type: "finish", terminationReason: "stopped" }));
    expect(events(finished)).toContain("request_completed");
    expect(all(finished, "timer")).toEqual([{ type: "timer", name: "retry", ms: undefined }]);
    expect(types(finished)).not.toContain("start");
  });

  test("and has begun is waited for when its request is finished", () => {
    const begun = decided(retrying(), isOver);
    expect(events(written(begun, command({ type: "finish", terminationReason: "stopped" })))).not.toContain(
      "request_completed",
    );
  });

  test("does not begin while the log cannot be written, nor after it was read again", () => {
    const lost = decided(retrying(), { type: "lost", error: AWAY });
    expect(decided(lost, isOver).effects).toEqual([]);
    const { live } = retrying();
    expect(decided({ ...live, agent: idle().agent }, isOver).effects).toEqual([]);
  });

  test("does not begin after a stop", () => {
    const stopping = { phase: "grace", why: WHY, isStrict: false, hasRestored: false } as const;
    const { live } = retrying();
    expect(types(decided({ ...live, stopping }, isOver))).not.toContain("start");
  });
});

describe("while the log cannot be written", () => {
  test("only the outcome of a command is passed on", () => {
    const { live } = decided(calling(["look"]), { type: "lost", error: OUT_OF_SPACE });
    const ids = { requestId: "req_1", runId: live.request?.runId ?? "" };
    const settle: Directive = { type: "settle", id: "s1", end: { status: "applied" } };
    expect(performed(live, settle).effects).toEqual([{ type: "outcome", commandId: "s1", end: { status: "applied" } }]);
    expect(performed(live, { type: "abort", ...ids, reason: "Why." }).effects).toEqual([]);
    expect(performed(live, { type: "stop", ...ids, status: "failed" }).effects).toEqual([]);
  });
});

describe("while the thread is being released", () => {
  test("no work begins, unless an ask that came before is being taken", () => {
    const open = running();
    const { directive } = find(open, "start");
    if (directive.type === "report_end") throw new Error("It is no directive of the agent.");
    const stopping = { phase: "grace", why: WHY, isStrict: false, hasRestored: false } as const;
    const starts = (change: Partial<Live>) => types(performed({ ...open.live, ...change }, directive));
    expect(starts({})).toEqual(["start"]);
    expect(starts({ stopping })).toEqual([]);
    expect(starts({ stopping, isAsking: true, asks: [ask] })).toEqual(["start"]);
    expect(starts({ stopping, isAsking: true, asks: [{ ...ask, requestId: "req_2" }] })).toEqual([]);
    expect(starts({ stopping: { ...stopping, isStrict: true }, isAsking: true, asks: [ask] })).toEqual([]);
    const abort: Directive = {
      type: "abort",
      requestId: "req_1",
      runId: open.live.request?.runId ?? "",
      reason: "Why.",
    };
    expect(types(performed({ ...open.live, stopping }, abort))).toEqual(["interrupt"]);
  });

  test("an ask that was being prepared is still taken, and its call begins", () => {
    const before = decided(idle(), asking, { type: "stop", graceMs: 1000, why: WHY });
    const begun = written(before, prepared);
    expect(types(begun)).toEqual(["append", "open_request", "emit", "emit", "start", "settle_ask"]);
    expect(begun.live.stopping?.phase).toBe("grace");
  });
});
