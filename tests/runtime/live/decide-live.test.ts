import { describe, expect, test } from "vitest";
import { ProjectionError } from "../../../src/projection/error.ts";
import { decideLive } from "../../../src/runtime/live/decide-live.ts";
import { isDue, NOTHING_CHECKED, skipNotDue } from "../../../src/runtime/live/queue.ts";
import type { LiveSignal } from "../../../src/runtime/live/signal.ts";
import { ConflictError } from "../../../src/stores/errors.ts";
import {
  AWAY,
  aborted,
  appended,
  ask,
  asking,
  decided,
  find,
  idle,
  NOW,
  OUT_OF_SPACE,
  prepared,
  replace,
  restored,
  running,
  TAKEN,
  types,
  WHY,
} from "./live-thread.ts";

describe("an ask", () => {
  test("is prepared, appended, and only then performed and answered", () => {
    const queued = decided(idle(), asking);
    expect(types(queued)).toEqual(["prepare"]);
    const put = decided(queued.live, prepared);
    expect(types(put)).toEqual(["append"]);
    expect(put.live.agent.thread.rev).toBe(0);
    const begun = decided(put.live, appended(put));
    expect(types(begun)).toEqual(["open_request", "emit", "emit", "start", "settle_ask"]);
    expect(begun.live).toMatchObject({ asks: [], isAsking: false, request: { id: "req_1", phase: "running" } });
  });

  test("waits until the ask before it was decided", () => {
    const second: LiveSignal = { type: "ask", ask: { ...ask, id: "ask 2", requestId: "req_2" } };
    const both = decided(idle(), asking, second);
    expect(types(both)).toEqual(["prepare"]);
    const put = decided(both.live, prepared);
    const begun = decided(put.live, appended(put));
    expect(begun.effects.flatMap((effect) => (effect.type === "prepare" ? [effect.ask.id] : []))).toEqual(["ask 2"]);
  });

  test("that is withdrawn before its turn is not prepared", () => {
    const second: LiveSignal = { type: "ask", ask: { ...ask, id: "ask 2" } };
    const left = decided(idle(), asking, second, { type: "withdraw", askId: "ask 2", error: WHY });
    expect(find(left, "settle_ask")).toEqual({ type: "settle_ask", askId: "ask 2", error: WHY });
    expect(left.live.asks.map(({ id }) => id)).toEqual(["ask 1"]);
  });
});

describe("while entries are being appended", () => {
  test("other signals wait, and the end of work, a setting and a stop do not", () => {
    const { live } = decided(idle(), asking, prepared);
    const due = (signal: LiveSignal): boolean => isDue(live, signal);
    expect(due({ type: "agent", signal: { type: "cancel" } })).toBe(false);
    expect(due({ type: "appended", id: "other", result: {} as never })).toBe(false);
    expect(due({ type: "timer", name: "limit" })).toBe(false);
    expect(due({ type: "worked", id: "9" })).toBe(true);
    expect(due({ type: "change", change: {}, reply: "r" })).toBe(true);
    expect(due({ type: "lost", error: TAKEN })).toBe(true);
    expect(due({ type: "stop", graceMs: 0, why: WHY })).toBe(true);
    expect(due({ type: "timer", name: "give_up" })).toBe(true);
  });

  test("the next signal that is due is the one that a search of the whole queue finds", () => {
    const put = decided(idle(), asking, prepared);
    const late: LiveSignal = { type: "agent", signal: { type: "cancel" } };
    const always: LiveSignal = { type: "worked", id: "9" };
    const answer = appended(put);
    let before = NOTHING_CHECKED;
    // The queue grows, then the append ends, then a signal is put first.
    const stages = [
      { live: put.live, queue: [late] },
      { live: put.live, queue: [late, late, always] },
      { live: put.live, queue: [late, late, answer, always] },
      { live: decided(put.live, answer).live, queue: [late, late, always] },
      { live: put.live, queue: [late, late, always] },
    ];
    for (const { live, queue } of stages) {
      before = skipNotDue(live, queue, before);
      const found = queue.findIndex((signal) => isDue(live, signal));
      expect(before.count).toBe(found < 0 ? queue.length : found);
    }
  });

  test("a setting that came while an ask was prepared has the ask prepared again", () => {
    const before = decided(idle(), asking);
    const held = { facts: { tools: [], traits: {} }, seqs: [7], unresolved: [] };
    const again = decided(before.live, { ...prepared, given: { held } } as typeof prepared);
    expect(again.effects.map(({ type }) => type)).toEqual(["prepare"]);
    expect(again.live.agent.thread.rev).toBe(0);
  });

  test("the answer to an earlier effect changes nothing", () => {
    const put = decided(idle(), asking, prepared);
    expect(decideLive(put.live, { type: "failed", id: "0", error: WHY }, NOW)).toEqual({ live: put.live, effects: [] });
  });
});

describe("an append that fails", () => {
  test("because others have written, is decided again on what they wrote", () => {
    const operation = { ...replace, opId: "op_2" };
    const put = decided(idle(), { type: "agent", signal: { type: "context_op", operation }, reply: "r" });
    const conflict: LiveSignal = { type: "failed", id: find(put, "append").id, error: new ConflictError("t", 0, 1) };
    const behind = decided(put.live, conflict);
    const { agent } = behind.live;
    const grown = { ...agent, thread: agent.thread.append({ id: "theirs", at: 1, payload: { text: "Hi." } }) };
    const caughtUp: LiveSignal = { type: "caught_up", id: find(behind, "catch_up").id, agent: grown };
    const again = decideLive(behind.live, caughtUp, NOW);
    expect(
      find(again, "append")
        .after.thread.toArray()
        .map(({ id }) => id),
    ).toEqual(["theirs", "op_2/0"]);
    // The caller must not take their entry for its own.
    const { turn } = find(decideLive(again.live, appended(again), NOW), "settle");
    expect(turn?.before.thread.rev).toBe(1);
  });

  test("permanently, closes the request in the log, once, and then waits for a timer", () => {
    const request = running();
    const failing = decided(request.live, { type: "agent", signal: { type: "cancel" } }, aborted(request));
    const broken = decided(failing.live, { type: "failed", id: find(failing, "append").id, error: OUT_OF_SPACE });
    expect(types(broken)).toContain("restore");
    expect(broken.live.work).toEqual([]);
    const again = decided(broken.live, restored(broken));
    expect(decided(again.live, appended(again)).live.nextRetryMs).toBeUndefined();
    const still = decided(again.live, { type: "failed", id: find(again, "append").id, error: OUT_OF_SPACE });
    expect(types(still)).not.toContain("restore");
    expect(find(still, "timer")).toMatchObject({ name: "reload", ms: 2000 });
    expect(find(still, "suspend")).toMatchObject({ suspension: { reason: "store" } });
  });

  test("because the store is away, suspends the request, and resumes it when the log can be read", () => {
    const request = running();
    const cancelled = decided(request.live, { type: "agent", signal: { type: "cancel" } }, aborted(request));
    const broken = decided(cancelled.live, { type: "failed", id: find(cancelled, "append").id, error: AWAY });
    expect(types(broken)).toEqual(expect.arrayContaining(["interrupt", "suspend"]));
    expect(broken.live.request?.phase).toBe("suspended");
    const reloading = decided(broken.live, { type: "timer", name: "reload" });
    expect(find(reloading, "restore").confirm).toBe(true);
    const resumed = decided(reloading.live, restored(reloading));
    const { id } = find(request, "start");
    const late: LiveSignal = {
      type: "agent",
      from: id,
      signal: { type: "fail", failure: { code: "late", message: "" } },
    };
    expect(decided(resumed.live, late).effects).toEqual([]);
    expect(types(resumed)).toEqual(expect.arrayContaining(["open_request", "start"]));
    expect(resumed.live.broken).toBeUndefined();
  });

  test("because another process has the thread, stops this one", () => {
    const lost = decided(running().live, { type: "lost", error: TAKEN });
    expect(types(lost)).toContain("lost");
    expect(find(lost, "suspend").suspension.reason).toBe("lost");
    expect(decided(lost.live, { type: "lost", error: TAKEN }).effects).toEqual([]);
  });
});

describe("the result of work", () => {
  test("that was started before the log was read again is dropped", () => {
    const request = running();
    const lost = decided(request.live, { type: "lost", error: AWAY });
    expect(decided(lost.live, aborted(request)).effects).toEqual([]);
  });

  test("that never comes, because the runtime met an error, breaks the request", () => {
    const request = running();
    const broken = decided(request.live, { type: "worked", id: find(request, "start").id, error: OUT_OF_SPACE });
    expect(broken.live.broken?.failure.code).toBe("store_failed");
  });
});

describe("a stop", () => {
  test("of an idle thread lets it go at once", () => {
    const stopped = decided(idle(), { type: "stop", graceMs: 1000, why: WHY });
    expect(types(stopped)).toEqual(expect.arrayContaining(["settle_all", "close"]));
    expect(stopped.live.stopping?.phase).toBe("closed");
  });

  test("waits for the running call, begins nothing, and hands the request over after the grace period", () => {
    const waiting = decided(running().live, { type: "stop", graceMs: 1000, why: WHY });
    expect(find(waiting, "timer")).toMatchObject({ name: "grace", ms: 1000 });
    expect(types(waiting)).not.toContain("close");
    const over = decided(waiting.live, { type: "timer", name: "grace" });
    expect(find(over, "append").after.thread.last()?.payload).toMatchObject({ handedOver: { begun: [] } });
    const closed = decided(over.live, appended(over));
    expect(types(closed)).toEqual(expect.arrayContaining(["suspend", "close"]));
  });

  test("closes in the log what has failed here, before the thread is released", () => {
    const broken = decided(running().live, { type: "lost", error: OUT_OF_SPACE });
    const failed = decided(broken.live, { type: "failed", id: find(broken, "restore").id, error: OUT_OF_SPACE });
    const stopping = decided(failed.live, { type: "stop", graceMs: 1000, why: WHY });
    const read = decided(stopping.live, restored(stopping));
    expect(types(read)).not.toContain("close");
    const closed = decided(read.live, appended(read));
    expect(find(read, "append").after.thread.last()?.payload).toMatchObject({ end: { status: "failed" } });
    expect(find(closed, "close").gaveUp).toBe(false);
  });

  test("lets the thread go when the log still cannot be read", () => {
    const broken = decided(running().live, { type: "lost", error: OUT_OF_SPACE });
    const stopping = decided(broken.live, { type: "stop", graceMs: 1000, why: WHY });
    const closed = decided(stopping.live, { type: "failed", id: find(broken, "restore").id, error: OUT_OF_SPACE });
    const again = decided(closed.live, { type: "failed", id: find(closed, "restore").id, error: OUT_OF_SPACE });
    expect(find(again, "close").gaveUp).toBe(false);
  });

  test("ends when the store does not answer, and rejects every caller", () => {
    const put = decided(idle(), { type: "agent", signal: { type: "context_op", operation: replace }, reply: "r" });
    const stopping = decided(put.live, { type: "stop", graceMs: 0, why: WHY });
    expect(types(stopping)).not.toContain("close");
    const closed = decided(stopping.live, { type: "timer", name: "give_up" });
    expect(find(closed, "close").gaveUp).toBe(true);
    expect(find(closed, "settle")).toMatchObject({ reply: "r", error: WHY });
    const read: LiveSignal = { type: "read", read: () => never(), reply: "read" };
    const reading = decided(idle(), read, { type: "stop", graceMs: 0, why: WHY }, { type: "timer", name: "give_up" });
    expect(find(reading, "settle")).toMatchObject({ reply: "read", error: WHY });
    const late = decided(closed.live, { type: "agent", signal: { type: "cancel" }, reply: "late" });
    expect(late.effects).toEqual([{ type: "settle", reply: "late", error: WHY }]);
  });
});

/** A read that needs more of the thread than is loaded. */
function never(): never {
  throw new ProjectionError({ code: "tail_too_short", message: "Load more.", neededFromSeq: 0 });
}
