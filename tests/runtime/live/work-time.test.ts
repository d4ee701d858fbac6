import { describe, expect, test } from "vitest";
import { currentRequest } from "../../../src/runtime/live/decision.ts";
import type { Live } from "../../../src/runtime/live/live.ts";
import {
  closeRequest,
  forgetRequest,
  isNoteDue,
  limitWork,
  openRequest,
  setNoteTimer,
  suspendRequest,
  suspensionIn,
  updatePhase,
  workedMs,
  workTime,
} from "../../../src/runtime/live/request-state.ts";
import type { Decision, LiveSignal } from "../../../src/runtime/live/signal.ts";
import {
  AWAY,
  aborted,
  all,
  answer,
  appended,
  asking,
  calling,
  command,
  decided,
  decidedAt,
  entriesOf,
  failed,
  find,
  fromTool,
  idle,
  NOW,
  OUT_OF_SPACE,
  prepared,
  replace,
  running,
  types,
  WHY,
  waiting,
  written,
  writtenAt,
} from "./live-thread.ts";

const limited = () => idle({ totalTimeoutMs: 1000 });
const note: LiveSignal = { type: "timer", name: "note" };
const limit: LiveSignal = { type: "timer", name: "limit" };
const over = { type: "fail", failure: { code: "request_timeout", message: "Over." } } as const;

function of(live: Live): Decision {
  return { live, effects: [] };
}

/** A request that may work for one second, asked at 5,000 ms. */
function asked() {
  return writtenAt({ now: 5000 }, limited(), asking, prepared);
}

describe("the time limit of a request", () => {
  test("starts both timers", () => {
    const { live, effects } = asked();
    const timers = effects.filter(({ type }) => type === "timer");
    expect(timers).toEqual([
      { type: "timer", name: "limit", ms: 1000 },
      { type: "timer", name: "note", ms: 100 },
    ]);
    const failure = { code: "request_timeout", message: expect.any(String) };
    expect(live.request?.time).toEqual({
      limitMs: 1000,
      noteEveryMs: 100,
      workedMs: 0,
      since: 5000,
      over: { type: "fail", failure },
    });
  });

  test("ends the request when it is over", () => {
    const open = asked();
    const late = decidedAt({ now: 6000 }, open, limit);
    expect(find(late, "interrupt").reason).toMatchObject({ message: "request_timeout" });
    const ended = written(late, aborted(open));
    expect(find(ended, "reject").error).toMatchObject({ failure: { code: "request_timeout" } });
    expect(all(ended, "timer")).toEqual([
      { type: "timer", name: "limit", ms: undefined },
      { type: "timer", name: "note", ms: undefined },
    ]);
    expect(ended.live.request?.time).toBeUndefined();
  });

  test("of a request that has none, or has ended, changes nothing", () => {
    for (const live of [idle(), running().live]) {
      expect(decided(live, limit)).toMatchObject({ live, effects: [] });
      expect(decided(live, note)).toMatchObject({ live, effects: [] });
    }
  });

  test("counts the work of earlier processes", () => {
    const { live } = running();
    const limits = { afterMs: 400, workedMs: 600, noteEveryMs: 100, over };
    const set = limitWork(of(live), limits, { ...NOW, now: 50 });
    expect(set.live.request?.time).toEqual({ limitMs: 1000, noteEveryMs: 100, workedMs: 600, since: 50, over });
    expect(find(set, "timer")).toMatchObject({ name: "note", ms: 100 });
    expect(set.effects[0]).toEqual({ type: "timer", name: "limit", ms: 400 });
    expect(limitWork(of(idle()), limits, NOW).effects).toEqual([]);
  });

  test("is never less than nothing", () => {
    const { live } = running();
    const set = limitWork(of(live), { afterMs: -5, workedMs: 10, noteEveryMs: 100, over }, NOW);
    expect(set.effects[0]).toEqual({ type: "timer", name: "limit", ms: 0 });
  });
});

describe("the work time", () => {
  const time = { limitMs: 1000, noteEveryMs: 100, workedMs: 30, since: 5000, over };

  test("adds the time before the wait to the time since the work resumed", () => {
    expect(workedMs(time, { ...NOW, now: 5070.4 })).toBe(100);
    expect(workedMs({ ...time, since: undefined }, { ...NOW, now: 9000 })).toBe(30);
    expect(workedMs(time, { ...NOW, now: 4000 })).toBe(30);
  });

  test("is logged only for a request with a limit", () => {
    expect(workTime(undefined, NOW)).toEqual({});
    expect(workTime(running().live.request, NOW)).toEqual({});
    expect(workTime(asked().live.request, { ...NOW, now: 5200 })).toEqual({ workedMs: 200 });
  });

  test("is written when the log is a tenth of the limit behind", () => {
    const open = asked();
    const noted = decidedAt({ now: 5100 }, open, note);
    expect(entriesOf(noted)).toMatchObject([{ kind: "note", payload: { workedMs: 100 } }]);
    expect(find(noted, "timer")).toEqual({ type: "timer", name: "note", ms: 100 });
    const after = decidedAt({ now: 5120 }, decided(noted, appended(noted)), note);
    expect(after.effects).toEqual([{ type: "timer", name: "note", ms: 80 }]);
  });

  test("is not written before that: the timer is set to the rest", () => {
    const open = asked();
    expect(decidedAt({ now: 5099 }, open, note).effects).toEqual([{ type: "timer", name: "note", ms: 1 }]);
    expect(decidedAt({ now: 5040 }, open, note).effects).toEqual([{ type: "timer", name: "note", ms: 60 }]);
  });

  test("is not written while the log cannot be", () => {
    const broken = decided(asked(), { type: "lost", error: OUT_OF_SPACE });
    const read = decided(broken, failed(broken, OUT_OF_SPACE));
    expect(decidedAt({ now: 6000 }, read, note).effects).toEqual([]);
    expect(decidedAt({ now: 6000 }, { ...asked().live, broken: read.live.broken }, note).effects).toEqual([]);
  });

  test("has no timer while the request waits, and is not due without a limit", () => {
    const { live } = asked();
    const request = live.request && { ...live.request, time: { ...time, since: undefined } };
    expect(setNoteTimer(of({ ...live, request }), NOW).effects).toEqual([
      { type: "timer", name: "note", ms: undefined },
    ]);
    expect(setNoteTimer(of(idle()), NOW).effects).toEqual([]);
    expect(isNoteDue(of(idle()), NOW)).toBe(false);
    expect(isNoteDue(of(running().live), { ...NOW, now: 1e9 })).toBe(false);
    expect(isNoteDue(of(live), { ...NOW, now: 5099 })).toBe(false);
    expect(isNoteDue(of(live), { ...NOW, now: 5100 })).toBe(true);
  });
});

describe("a request that waits", () => {
  /** Asked at 5,000 ms, waiting since 5,300. */
  function signing() {
    const open = asked();
    const called = writtenAt({ now: 5000 }, open, answer(open, ["sign"]));
    return writtenAt({ now: 5300 }, called, fromTool(called, "approval_needed"));
  }

  test("says so, follows the log, and its time stands still", () => {
    const waits = signing();
    const { rev } = waits.live.agent.thread;
    expect(waits.effects.slice(-4)).toEqual([
      { type: "rest", waits: true },
      { type: "follow", fromSeq: rev },
      { type: "timer", name: "limit", ms: undefined },
      { type: "timer", name: "note", ms: undefined },
    ]);
    expect(waits.live.request).toMatchObject({ phase: "waiting", time: { workedMs: 300, since: undefined } });
  });

  test("works again after a decision, with the time that was left", () => {
    const waits = signing();
    const again = writtenAt({ now: 9000 }, waits, command({ type: "approve", toolCallId: "call_0" }));
    expect(all(again, "rest")).toEqual([{ type: "rest", waits: false }]);
    expect(find(again, "follow")).toEqual({ type: "follow", fromSeq: undefined });
    expect(all(again, "timer")).toEqual([
      { type: "timer", name: "limit", ms: 700 },
      { type: "timer", name: "note", ms: 100 },
    ]);
    expect(again.live.request).toMatchObject({ phase: "running", time: { workedMs: 300, since: 9000 } });
  });

  test("and has no limit sets no timers", () => {
    const waits = waiting();
    expect(types(waits).slice(-2)).toEqual(["rest", "follow"]);
    expect(waits.live.request).not.toHaveProperty("time");
  });

  test("says so once, and nothing of it after it has ended", () => {
    const waits = waiting();
    expect(updatePhase(of(waits.live), NOW)).toEqual(of(waits.live));
    expect(updatePhase(of(idle()), NOW).effects).toEqual([]);
    const ended = { ...waits.live, request: waits.live.request && { ...waits.live.request, phase: "over" as const } };
    expect(updatePhase(of(ended), NOW)).toEqual(of(ended));
  });

  /** The live value of a process that has read the log, and has not resumed the request. */
  function read({ live }: Decision): Live {
    const { agent, request } = live;
    const flight = { ...agent.flight, runId: undefined, running: [] };
    return {
      ...live,
      postsCommands: false,
      agent: { ...agent, flight },
      request: { ...opened(request), time: undefined },
    };
  }

  function opened(request: Live["request"]): NonNullable<Live["request"]> {
    if (request === undefined) throw new Error("No request is open.");
    return { ...request, phase: "running" };
  }

  test("does not say so before it is resumed when a call was interrupted", () => {
    const deferred = decided(read(calling(["look"])), command({ type: "context_op", operation: replace }));
    expect(types(deferred)).toEqual(["settle"]);
    expect(deferred.live.request?.phase).toBe("running");
  });

  test("says so before it is resumed when the log shows that it only waits, and its time stands still", () => {
    const deferred = decidedAt({ now: 9000 }, read(signing()), command({ type: "context_op", operation: replace }));
    expect(all(deferred, "rest")).toEqual([{ type: "rest", waits: true }]);
    const resumed = writtenAt({ now: 9100 }, deferred, { type: "agent", signal: { type: "resume" } });
    expect(resumed.live.request).toMatchObject({ phase: "waiting", time: { since: undefined } });
    expect(all(resumed, "timer").filter(({ ms }) => ms !== undefined)).toEqual([]);
  });
});

describe("a request that ends here only", () => {
  test.each([
    [AWAY, { reason: "store" }],
    [OUT_OF_SPACE, { reason: "store" }],
  ])("is suspended because of %s", (error, suspension) => {
    const { live } = decided(running(), { type: "lost", error });
    expect(suspensionIn(live)).toEqual(suspension);
    expect(suspensionIn(running().live)).toEqual({ reason: "stopped" });
  });

  test("because the store is away keeps what its caller gave, and has no timers", () => {
    const open = writtenAt({ now: 5000 }, limited(), asking, { ...prepared, given: { context: 1 } } as LiveSignal);
    const suspended = suspendRequest(
      of(open.live),
      { reason: "store" },
      { failure: { code: "c", message: "m" }, cause: WHY },
    );
    expect(suspended.effects).toMatchObject([
      { type: "timer", name: "limit", ms: undefined },
      { type: "timer", name: "note", ms: undefined },
      { type: "interrupt", reason: { code: "request_suspended" } },
      { type: "suspend", suspension: { reason: "store" }, iteration: 0 },
    ]);
    const { error } = find(suspended, "suspend");
    expect(error).toMatchObject({ requestId: "req_1", failure: { code: "c" }, cause: WHY });
    expect(find(suspended, "interrupt").reason).toBe(error);
    expect(suspended.live.given).toMatchObject({ context: 1 });
    expect(suspended.live.request).toMatchObject({ phase: "suspended", time: undefined });
  });

  test("for another reason gives everything back", () => {
    const called = calling(["look"]);
    const suspended = suspendRequest(of(called.live), { reason: "lost" }, {});
    expect(types(suspended)).toEqual(["forget", "follow", "interrupt", "suspend"]);
    expect(find(suspended, "suspend").iteration).toBe(1);
    expect(suspended.live.given).toBeUndefined();
  });

  test("is suspended once, and not after its end was emitted", () => {
    const { live } = decided(running(), { type: "lost", error: AWAY });
    expect(suspendRequest(of(live), { reason: "lost" }, {})).toEqual(of(live));
    const open = running().live;
    const emitted = { ...open, request: open.request && { ...open.request, hasEmittedEnd: true } };
    expect(suspendRequest(of(emitted), { reason: "lost" }, {})).toEqual(of(emitted));
  });

  test("with a failure that the log does not have emits it", () => {
    const failure = { code: "gone", message: "The thread is gone." };
    const closed = decided(running(), { type: "close_request", failure, cause: WHY });
    expect(closed.effects).toMatchObject([
      { type: "forget", requestId: "req_1" },
      { type: "follow", fromSeq: undefined },
      { type: "interrupt", reason: failure },
      { type: "emit", event: { kind: "request_failed", data: { failure } }, iteration: 0 },
      { type: "reject", error: { code: "request_failed", failure, cause: WHY, requestId: "req_1" } },
    ]);
    expect(closed.live.request?.phase).toBe("over");
    expect(closeRequest(of(closed.live), failure, WHY)).toEqual(of(closed.live));
  });
});

describe("a request that opens", () => {
  const ids = { requestId: "req_1", runId: "run_9" };

  test.each([
    ["over", "run_9", false],
    ["running", "run_9", false],
    ["waiting", "run_9", false],
    ["suspended", "run_9", true],
    ["over", "run_1", true],
  ] as const)("after it was %s as %s: %s", (phase, runId, opens) => {
    const live = idle({}, { request: { id: "req_1", runId, phase, hasEmittedEnd: true } });
    const opened = openRequest(of(live), ids, 7);
    expect(opened.effects).toEqual(opens ? [{ type: "open_request", ...ids, firstEventSeq: 7 }] : []);
    expect(opened.live.request).toEqual(
      opens ? { id: "req_1", runId: "run_9", phase: "running", hasEmittedEnd: false } : live.request,
    );
    expect(currentRequest(opened.live) !== undefined).toBe(phase !== "over" || opens);
  });

  test("after another one", () => {
    const { live } = running();
    expect(openRequest(of(live), { ...ids, requestId: "req_2" }, 1).live.request?.id).toBe("req_2");
  });

  test("is forgotten alone when another one is current", () => {
    const { live } = asked();
    expect(forgetRequest(of(live), "req_0")).toEqual({ live, effects: [{ type: "forget", requestId: "req_0" }] });
  });
});
