import { describe, expect, test } from "vitest";
import { ProjectionError } from "../../../src/projection/error.ts";
import { decideLive } from "../../../src/runtime/live/decide-live.ts";
import { isDue, NOTHING_CHECKED, skipNotDue } from "../../../src/runtime/live/queue.ts";
import type { LiveSignal } from "../../../src/runtime/live/signal.ts";
import { RELEASE_LIMIT_MS } from "../../../src/runtime/live/stopping.ts";
import {
  AWAY,
  all,
  answer,
  ask,
  asking,
  calling,
  cancel,
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
  restored,
  running,
  types,
  WHY,
  waiting,
  written,
  writtenAt,
} from "./live-thread.ts";

const stop: LiveSignal = { type: "stop", graceMs: 1000, why: WHY };
const grace: LiveSignal = { type: "timer", name: "grace" };
const giveUp: LiveSignal = { type: "timer", name: "give_up" };
const second: LiveSignal = { type: "ask", ask: { ...ask, id: "ask 2", requestId: "req_2" } };

describe("a stop", () => {
  test("of an idle thread closes it, in this order", () => {
    const { effects, live } = decided(idle(), stop);
    expect(effects).toEqual([
      { type: "timer", name: "grace", ms: 1000 },
      { type: "timer", name: "grace", ms: undefined },
      { type: "timer", name: "give_up", ms: RELEASE_LIMIT_MS },
      { type: "timer", name: "reload", ms: undefined },
      { type: "timer", name: "give_up", ms: undefined },
      { type: "follow", fromSeq: undefined },
      { type: "settle_all", reason: "suspended", error: WHY },
      { type: "close", gaveUp: false },
    ]);
    expect(live.stopping).toEqual({ phase: "closed", why: WHY, isStrict: true, hasRestored: false });
    expect(live).toMatchObject({ hold: undefined, isAsking: false });
  });

  test("without a store drops the commands that wait", () => {
    const closed = decided(idle({}, { postsCommands: false }), stop);
    expect(find(closed, "settle_all").reason).toBe("closed");
  });

  test("without a grace does not wait for work", () => {
    const stopped = decided(calling(["look"]), { ...stop, graceMs: 0 });
    expect(stopped.effects[0]).toEqual({ type: "timer", name: "grace", ms: undefined });
    expect(types(stopped)).toContain("append");
    expect(stopped.live.stopping).toEqual({ phase: "handing_over", why: WHY, isStrict: true, hasRestored: false });
  });

  test("that comes again changes nothing", () => {
    const stopping = decided(running(), stop);
    expect(decided(stopping, { ...stop, why: AWAY })).toMatchObject({ live: stopping.live, effects: [] });
  });

  test("waits for the work, and continues when its result is written", () => {
    const open = running();
    const stopping = decided(open, stop);
    expect(stopping.effects).toEqual([{ type: "timer", name: "grace", ms: 1000 }]);
    expect(stopping.live.stopping).toEqual({ phase: "grace", why: WHY, isStrict: false, hasRestored: false });
    const closed = written(stopping, answer(open));
    expect(types(closed)).toEqual(expect.arrayContaining(["append", "complete", "close"]));
    expect(find(closed, "close").gaveUp).toBe(false);
    expect(types(closed)).not.toContain("suspend");
  });

  test("hands over what has not ended, with the calls that have begun and the working time", () => {
    const open = writtenAt({ now: 0 }, idle({ totalTimeoutMs: 5000 }), asking, prepared);
    const called = writtenAt({ now: 0 }, open, answer(open, ["look", "look"]));
    const begun = decidedAt({ now: 0 }, called, { type: "begun", toolCallId: "call_1" }, stop);
    const over = decidedAt({ now: 300 }, begun, grace);
    expect(entriesOf(over)).toMatchObject([{ payload: { handedOver: { begun: ["call_1"] }, workedMs: 300 } }]);
    expect(over.live.stopping).toMatchObject({ phase: "handing_over", isStrict: true });
    const closed = written(over, { type: "worked", id: "99" });
    expect(find(closed, "suspend")).toMatchObject({ suspension: { reason: "stopped" }, error: { requestId: "req_1" } });
    expect(types(closed).at(-1)).toBe("close");
  });

  test("hands over a request that waits without an entry, because none of its calls runs", () => {
    const closed = decided(waiting(), stop);
    expect(types(closed)).toEqual(expect.arrayContaining(["suspend", "close"]));
    expect(types(closed)).not.toContain("append");
    expect(find(closed, "suspend").suspension).toEqual({ reason: "stopped" });
  });

  test("closes when what it hands over cannot be written", () => {
    const over = decided(calling(["look"]), { ...stop, graceMs: 0 });
    const closed = decided(over, failed(over, OUT_OF_SPACE));
    expect(find(closed, "close").gaveUp).toBe(false);
    expect(find(closed, "suspend").suspension).toEqual({ reason: "stopped" });
    expect(types(closed)).not.toContain("restore");
  });

  test("waits while signals wait, and while an append is on its way", () => {
    const stopping = { phase: "grace", why: WHY, isStrict: false, hasRestored: false } as const;
    const begun: LiveSignal = { type: "begun", toolCallId: "c" };
    const quiet = idle({}, { stopping });
    expect(decideLive(quiet, begun, { ...NOW, waiting: 1 }).effects).toEqual([]);
    expect(types(decideLive(quiet, begun, NOW))).toContain("close");
    const opened: LiveSignal = { type: "opened", reply: "r", rows: [], first: undefined, given: undefined };
    expect(types(decideLive(quiet, opened, NOW))).toEqual(["next"]);
    const putting = decided(idle(), command({ type: "context_op", operation: replace }), stop);
    expect(putting.live.stopping?.phase).toBe("grace");
    expect(types(putting)).not.toContain("close");
  });

  test("lets an ask that is prepared be taken, and refuses those behind it", () => {
    const stopping = decided(idle(), asking, second, stop);
    expect(all(stopping, "settle_ask")).toEqual([{ type: "settle_ask", askId: "ask 2", error: WHY }]);
    expect(stopping.live.asks.map(({ id }) => id)).toEqual(["ask 1"]);
    expect(stopping.live.stopping?.phase).toBe("grace");
    const taken = written(stopping, prepared);
    expect(find(taken, "settle_ask")).toEqual({ type: "settle_ask", askId: "ask 1" });
  });

  test("refuses all asks when none is being prepared", () => {
    const queued = written(running(idle({}, { queuesAsks: true, postsCommands: false })), second);
    const stopping = decided(queued, stop);
    expect(all(stopping, "settle_ask")).toEqual([{ type: "settle_ask", askId: "ask 2", error: WHY }]);
    expect(stopping.live.asks).toEqual([]);
  });

  test("refuses an ask that would have to be prepared again", () => {
    const stopping = decided(idle(), asking, stop);
    const again = decided(stopping, { type: "postponed", askId: ask.id });
    expect(types(again)).not.toContain("prepare");
    expect(find(again, "settle_ask")).toEqual({ type: "settle_ask", askId: ask.id, error: WHY });
    expect(find(again, "close").gaveUp).toBe(false);
  });
});

describe("the end of the grace", () => {
  test("is not waited for without a stop, or after the thread was closed", () => {
    const closed = decided(idle(), stop);
    for (const { live } of [running(), closed]) {
      expect(decided(live, grace)).toMatchObject({ live, effects: [] });
      expect(decided(live, giveUp)).toMatchObject({ live, effects: [] });
    }
  });

  test("limits the time of the store, once", () => {
    const open = running();
    const putting = decided(
      open,
      command({ type: "set", setting: { opId: "s", setting: { type: "system_prompt", value: "" } } }),
      stop,
    );
    const strict = decided(putting, grace);
    expect(strict.effects).toEqual([
      { type: "timer", name: "grace", ms: undefined },
      { type: "timer", name: "give_up", ms: RELEASE_LIMIT_MS },
    ]);
    expect(strict.live.stopping?.isStrict).toBe(true);
    const over = written(strict, { type: "worked", id: "99" });
    expect(all(over, "timer").filter(({ name }) => name === "grace")).toEqual([]);
    expect(types(over)).toContain("close");
  });
});

describe("a stop of a thread whose log cannot be written", () => {
  /** The request has failed here, and the log could not be read to say so. */
  function broken(error: unknown = OUT_OF_SPACE) {
    const lost = decided(calling(["look"]), { type: "lost", error });
    return lost.live.hold === undefined ? lost : decided(lost, failed(lost, error));
  }

  test("closes in the log what has failed here", () => {
    const stopping = decided(broken(), stop);
    expect(types(stopping)).toEqual(["timer", "timer", "timer", "timer", "restore"]);
    expect(find(stopping, "restore").confirm).toBe(false);
    expect(stopping.live.stopping).toEqual({ phase: "grace", why: WHY, isStrict: true, hasRestored: true });
    const ended = written(stopping, restored(stopping));
    expect(entriesOf(ended).at(-1)).toMatchObject({ payload: { end: { status: "failed" } } });
    expect(find(ended, "close").gaveUp).toBe(false);
  });

  test("tries that once", () => {
    const stopping = decided(broken(), stop);
    const closed = decided(stopping, failed(stopping, OUT_OF_SPACE));
    expect(types(closed)).not.toContain("restore");
    expect(find(closed, "close").gaveUp).toBe(false);
    expect(closed.live.stopping).toMatchObject({ phase: "closed", hasRestored: true });
  });

  test("does not read the log for a request that another process may resume", () => {
    const closed = decided(broken(AWAY), stop);
    expect(types(closed)).not.toContain("restore");
    expect(types(closed).at(-1)).toBe("close");
  });

  test("does not read the log again by its timer", () => {
    const lost = broken();
    const live = {
      ...lost.live,
      stopping: { phase: "handing_over", why: WHY, isStrict: true, hasRestored: true } as const,
    };
    expect(decided(live, { type: "timer", name: "reload" }).effects).toEqual([]);
    expect(types(decided(lost, { type: "timer", name: "reload" }))).toEqual(["timer", "restore"]);
    expect(decided(running(), { type: "timer", name: "reload" }).effects).toEqual([]);
  });
});

describe("a thread that is abandoned", () => {
  test.each([
    ["a command", command({ type: "context_op", operation: replace })],
    ["a read", { type: "read", read: () => short(), reply: "r" } as LiveSignal],
  ])("tells the caller of %s that waits", (_name, signal) => {
    const given = decided(idle(), signal, stop, giveUp);
    expect(all(given, "settle")).toEqual([{ type: "settle", reply: "r", error: WHY }]);
    expect(find(given, "close").gaveUp).toBe(true);
    expect(given.live).toMatchObject({ hold: undefined, stopping: { phase: "closed" } });
  });

  test("rejects every caller that waits for the log", () => {
    const lost = decided(calling(["look"]), { type: "lost", error: AWAY });
    const reading = decided(lost, command(cancel, "a"));
    const given = decided(reading, stop, giveUp);
    expect(all(given, "settle")).toEqual([{ type: "settle", reply: "a", error: WHY }]);
    const reloading = decided(lost, { type: "timer", name: "reload" });
    expect(types(decided(reloading, stop, giveUp))).not.toContain("settle");
  });

  test("has no caller to tell when work or the thread itself waits", () => {
    const called = calling(["look"]);
    const putting = decided(called, fromTool(called), stop, giveUp);
    expect(types(putting)).not.toContain("settle");
    const open = running();
    const putLast = written(
      open,
      command({ type: "set", setting: { opId: "s", setting: { type: "system_prompt", value: "" } } }),
    );
    const shortening = decided({ ...putLast.live, agent: idle().agent }, { type: "shorten" }, stop, giveUp);
    expect(types(shortening)).not.toContain("settle");
    expect(find(shortening, "close").gaveUp).toBe(true);
  });

  test("refuses the ask that is being prepared", () => {
    const given = decided(idle(), asking, stop, giveUp);
    expect(all(given, "settle_ask")).toEqual([{ type: "settle_ask", askId: ask.id, error: WHY }]);
    expect(given.live).toMatchObject({ asks: [], isAsking: false });
  });
});

describe("a closed thread", () => {
  test.each<[LiveSignal, readonly object[]]>([
    [asking, [{ type: "settle_ask", askId: ask.id, error: WHY }]],
    [command(cancel), [{ type: "settle", reply: "r", error: WHY }]],
    [{ type: "agent", signal: cancel }, []],
    [{ type: "read", read: () => 5, reply: "r" }, [{ type: "settle", reply: "r", error: WHY }]],
    [{ type: "change", change: {}, reply: "r" }, [{ type: "settle", reply: "r", error: WHY }]],
    [{ type: "worked", id: "1", error: WHY }, []],
    [{ type: "lost", error: AWAY }, []],
    [prepared, []],
  ])("decides nothing: %o", (signal, effects) => {
    const closed = decided(calling(["look"]), stop, grace, giveUp).live;
    expect(decided(closed, signal).effects).toEqual(effects);
    expect(isDue(closed, signal)).toBe(true);
  });
});

describe("a signal that an effect delays", () => {
  const delayed = () => decided(idle(), asking, prepared).live;

  test.each<[LiveSignal | ((holdId: string) => LiveSignal), boolean]>([
    [{ type: "lost", error: AWAY }, true],
    [{ type: "worked", id: "9" }, true],
    [{ type: "begun", toolCallId: "c" }, true],
    [{ type: "change", change: {}, reply: "r" }, true],
    [stop, true],
    [grace, true],
    [giveUp, true],
    [{ type: "timer", name: "reload" }, false],
    [{ type: "timer", name: "limit" }, false],
    [{ type: "timer", name: "note" }, false],
    [command(cancel), false],
    [asking, false],
    [(id) => ({ type: "minted", id }), true],
    [{ type: "minted", id: "0" }, false],
  ])("waits or not: %o: %s", (made, isNow) => {
    const live = delayed();
    const signal = typeof made === "function" ? made(live.hold?.id ?? "") : made;
    expect(isDue(live, signal)).toBe(isNow);
    expect(isDue(idle(), signal)).toBe(true);
    expect(
      isDue({ ...live, stopping: { phase: "closed", why: WHY, isStrict: true, hasRestored: false } }, signal),
    ).toBe(true);
  });

  test("is checked again after the thread was closed", () => {
    const live = delayed();
    const { hold } = live;
    const queue = [command(cancel)];
    const before = skipNotDue(live, queue, NOTHING_CHECKED);
    expect(before).toEqual({ hold, stopping: undefined, count: 1 });
    const stopping = { phase: "closed", why: WHY, isStrict: true, hasRestored: false } as const;
    expect(skipNotDue({ ...live, stopping }, queue, before).count).toBe(0);
    expect(skipNotDue(live, queue, before).count).toBe(1);
  });
});

/** A read that needs more of the thread than is loaded. */
function short(): never {
  throw new ProjectionError({ code: "tail_too_short", message: "Load more.", neededFromSeq: 0 });
}
