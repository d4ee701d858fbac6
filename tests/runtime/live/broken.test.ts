import { describe, expect, test } from "vitest";
import type { LiveSignal } from "../../../src/runtime/live/signal.ts";
import { isPermanent } from "../../../src/runtime/live/store-failure.ts";
import { StaleHolderError, StoreError, ThreadHeldError } from "../../../src/stores/errors.ts";
import {
  AWAY,
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
  failed,
  find,
  fromTool,
  idle,
  OUT_OF_SPACE,
  operationRow,
  prepared,
  replace,
  restored,
  row,
  running,
  TAKEN,
  types,
  WHY,
  waiting,
  written,
} from "./live-thread.ts";

const reload: LiveSignal = { type: "timer", name: "reload" };
const lost = (error: unknown): LiveSignal => ({ type: "lost", error });
const CLOSED = new StoreError({ code: "store_closed", message: "The store is closed." });

test.each([operationRow(), row("s1", "Be brief.")])(
  "a waiting $type that is taken before the request is resumed does not let the request wait",
  (one) => {
    const away = decided(calling(["look"]), lost(AWAY));
    const reading = decided(away, reload);
    const resumed = decided(reading, restored(reading, { rows: [one] }));
    expect(types(resumed)).not.toContain("rest");
    expect(resumed.live.request?.phase).toBe("running");
    expect(find(resumed, "append").after.thread.last()?.payload).toMatchObject({ toolCallId: "call_0" });
  },
);

test("when the store is away and then another process has the thread, nothing is tried any more", () => {
  const away = decided(calling(["look"]).live, lost(AWAY));
  const taken = decided(away.live, lost(TAKEN));
  expect(taken.live.broken).toEqual({
    error: TAKEN,
    failure: { code: "stale_holder", message: TAKEN.message, retryable: false },
    isPermanent: true,
    suspension: { reason: "lost", holder: "other" },
    retryMs: 0,
  });
  expect(taken.effects).toEqual([
    { type: "timer", name: "reload", ms: undefined },
    { type: "lost", error: TAKEN },
  ]);
  expect(decided(taken, lost(AWAY))).toMatchObject({ live: taken.live, effects: [] });
  expect(decided(away, lost(OUT_OF_SPACE))).toMatchObject({ live: away.live, effects: [] });
});

test("a request that failed keeps the error as its cause", () => {
  const { live } = decided(calling(["look"]).live, lost(OUT_OF_SPACE));
  expect(live.request?.thrown).toEqual({ error: OUT_OF_SPACE, code: "store_failed" });
});

describe("an error", () => {
  test.each<[unknown, boolean, object | undefined]>([
    [TAKEN, true, { reason: "lost", holder: "other" }],
    [new StaleHolderError("t", 1, 1), true, { reason: "lost" }],
    [new ThreadHeldError("t", "other", 9), true, { reason: "lost", holder: "other" }],
    [CLOSED, true, { reason: "store" }],
    [AWAY, false, { reason: "store" }],
    [OUT_OF_SPACE, false, undefined],
    [WHY, false, undefined],
  ])("%s ends the writing here: %s, and leaves the request to %o", (error, isEnd, suspension) => {
    expect(isPermanent(error)).toBe(isEnd);
    const broken = decided(idle(), lost(error));
    expect(broken.live.broken).toMatchObject({ error, isPermanent: isEnd, retryMs: 1000 });
    expect(broken.live.broken?.suspension).toEqual(suspension);
    expect(types(broken).includes("lost")).toBe(isEnd);
    expect(types(broken).includes("restore")).toBe(!isEnd && suspension === undefined);
    expect(types(broken).includes("timer")).toBe(!isEnd);
  });

  test("that is not known has the code of the runtime", () => {
    expect(decided(idle(), lost(WHY)).live.broken?.failure).toEqual({
      code: "runtime_failed",
      message: "Unexpected internal error. See `cause`.",
    });
  });

  test("that another process may resume suspends the request, with the error as its cause", () => {
    const broken = decided(running(), lost(AWAY));
    expect(types(broken)).toEqual(["interrupt", "suspend", "follow", "timer"]);
    const { code, message, retryable } = AWAY;
    expect(find(broken, "suspend").error).toMatchObject({ failure: { code, message, retryable }, cause: AWAY });
    expect(find(broken, "follow").fromSeq).toBeUndefined();
    expect(find(broken, "timer")).toEqual({ type: "timer", name: "reload", ms: 1000 });
    expect(broken.live).toMatchObject({ work: [], request: { phase: "suspended" } });
  });

  test("of another holder takes back what the caller gave; while the store is away it is kept", () => {
    const given = { ...prepared, given: { context: 1, tools: { tools: [], traits: {} } } } as LiveSignal;
    const open = written(idle(), asking, given);
    expect(decided(open, lost(AWAY)).live.given).toBeDefined();
    expect(decided(open, lost(TAKEN)).live.given).toBeUndefined();
    expect(decided(open, lost(OUT_OF_SPACE)).live.given).toBeUndefined();
    const { request, ...rest } = open.live;
    const over = { ...rest, request: request && { ...request, phase: "over" as const } };
    expect(decided(over, lost(OUT_OF_SPACE)).live.given).toBeDefined();
  });

  test("that ends the request here aborts its work, then reads the log", () => {
    const broken = decided(running(), lost(OUT_OF_SPACE));
    const { code, message } = OUT_OF_SPACE;
    expect(broken.effects).toMatchObject([
      { type: "interrupt", reason: { code, message } },
      { type: "follow", fromSeq: undefined },
      { type: "timer", name: "reload", ms: undefined },
      { type: "restore", id: broken.live.hold?.id, confirm: false },
    ]);
    expect(broken.live.request?.phase).toBe("running");
    expect(broken.live.hold).toMatchObject({ type: "restore", isResuming: false, after: [] });
  });

  test("during an append reads the log when its answer is there", () => {
    const open = running();
    const putting = decided(open, answer(open, ["look"]));
    const broken = decided(putting, lost(OUT_OF_SPACE));
    expect(types(broken)).toEqual(["interrupt", "follow", "next"]);
    expect(broken.queue).toEqual([reload]);
    const after = decided(broken, appended(putting));
    expect(types(after)).toContain("restore");
    expect(types(after)).not.toContain("start");
  });

  test("after a stop has begun to hand over changes nothing", () => {
    const stopping = { phase: "handing_over", why: WHY, isStrict: true, hasRestored: false } as const;
    const live = { ...running().live, stopping };
    expect(decided(live, lost(AWAY))).toMatchObject({ live, effects: [] });
    const grace = { ...running().live, stopping: { ...stopping, phase: "grace" as const } };
    expect(decided(grace, lost(AWAY)).live.broken).toBeDefined();
  });

  test("that comes again before anything was written leaves the request open in the log", () => {
    const first = decided(running(), lost(OUT_OF_SPACE));
    const read = decided(first, restored(first));
    expect(read.live).toMatchObject({ broken: undefined, nextRetryMs: 2000 });
    const second = decided(read, failed(read, OUT_OF_SPACE));
    expect(types(second)).toEqual(["interrupt", "follow", "interrupt", "suspend", "timer"]);
    expect(find(second, "timer")).toEqual({ type: "timer", name: "reload", ms: 2000 });
    expect(find(second, "suspend").suspension).toEqual({ reason: "store" });
    expect(find(second, "suspend").error).toMatchObject({ failure: { code: "store_failed" }, cause: OUT_OF_SPACE });
    expect(types(second)).not.toContain("restore");
  });
});

describe("the log that cannot be read", () => {
  test("is read again at longer intervals, up to a minute", () => {
    let story = decided(running(), lost(OUT_OF_SPACE));
    const waits: (number | undefined)[] = [];
    for (let index = 0; index < 9; index++) {
      story = decided(story, failed(story, OUT_OF_SPACE));
      waits.push(find(story, "timer").ms);
      story = decided(story, reload);
    }
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test("leaves the request to a process that can, with the first error", () => {
    const broken = decided(running(), lost(OUT_OF_SPACE));
    const left = decided(broken, failed(broken, AWAY));
    expect(find(left, "suspend")).toMatchObject({ suspension: { reason: "store" }, error: { cause: OUT_OF_SPACE } });
    expect(left.live.broken).toMatchObject({ error: OUT_OF_SPACE, retryMs: 2000 });
  });

  test("because another process has the thread is not read again", () => {
    const broken = decided(running(), lost(OUT_OF_SPACE));
    const taken = decided(broken, failed(broken, TAKEN));
    expect(taken.live.broken).toMatchObject({ isPermanent: true, error: TAKEN });
    expect(find(taken, "suspend").suspension).toEqual({ reason: "lost", holder: "other" });
    expect(types(taken).at(-1)).toBe("lost");
  });

  test("refuses the callers and asks that wait for it", () => {
    const away = decided(running(), lost(AWAY));
    const waits = decided(away, command(cancel));
    expect(types(waits)).toEqual(["timer", "restore"]);
    const second: LiveSignal = { type: "ask", ask: { ...ask, id: "ask 2", requestId: "req_2" } };
    const third: LiveSignal = { type: "ask", ask: { ...ask, id: "ask 3", requestId: "req_3" } };
    const refused = decided(
      { ...waits, live: { ...waits.live, asks: [ask], isAsking: true } },
      failed(waits, AWAY),
      second,
      third,
    );
    expect(find(refused, "settle")).toEqual({ type: "settle", reply: "r", error: AWAY });
    const both = decided({ ...waits.live, asks: [ask, { ...ask, id: "ask 2" }], isAsking: true }, failed(waits, AWAY));
    expect(all(both, "settle_ask")).toEqual([{ type: "settle_ask", askId: "ask 2", error: AWAY }]);
    const none = decided({ ...waits.live, asks: [ask], isAsking: false }, failed(waits, AWAY));
    expect(all(none, "settle_ask")).toEqual([{ type: "settle_ask", askId: "ask 1", error: AWAY }]);
  });
});

describe("a command while the log cannot be written", () => {
  const away = () => decided(waiting(), lost(AWAY));

  test("reads the log, and is decided when it was read", () => {
    const reading = decided(away(), command(cancel));
    expect(find(reading, "restore").confirm).toBe(true);
    expect(reading.live.hold).toMatchObject({
      isResuming: true,
      after: [{ signal: cancel, reply: "r", hasWaited: true }],
    });
    const read = written(reading, restored(reading));
    expect(events(read)).toContain("request_cancelled");
    expect(find(read, "settle")).toMatchObject({ reply: "r", turn: { signal: cancel } });
    expect(find(read, "settle")).not.toHaveProperty("error");
  });

  test("gets the error when the log still cannot be written", () => {
    const reading = decided(away(), command(cancel));
    const live = { ...reading.live, hold: undefined };
    const again = decided(live, { ...command(cancel), hasWaited: true } as LiveSignal);
    expect(again.effects).toEqual([{ type: "settle", reply: "r", error: AWAY }]);
    expect(decided(live, { type: "reload", reply: "m", hasWaited: true }).effects).toEqual([
      { type: "settle", reply: "m", error: AWAY },
    ]);
  });

  test("of an unknown request is dropped", () => {
    const story = away();
    expect(decided(story, { type: "agent", signal: cancel })).toMatchObject({ live: story.live, effects: [] });
  });

  test("that only asks to read the log is answered when it was read", () => {
    expect(decided(idle(), { type: "reload", reply: "m" }).effects).toEqual([{ type: "settle", reply: "m" }]);
    const reading = decided(away(), { type: "reload", reply: "m" });
    expect(types(reading)).toEqual(["timer", "restore"]);
    const read = written(reading, restored(reading));
    expect(find(read, "settle")).toEqual({ type: "settle", reply: "m" });
  });

  test("when nothing can be written here any more gets the reason", () => {
    const taken = decided(running(), lost(TAKEN));
    const reading = decided(taken, command(cancel));
    const refused = decided(reading, restored(reading));
    expect(refused.effects).toEqual([{ type: "settle", reply: "r", error: TAKEN }]);
    expect(refused.live.broken).toMatchObject({ isPermanent: true });
    expect(refused.live.agent).toBe(reading.live.agent);
  });
});

describe("the log that was read again", () => {
  test("resumes a request that was suspended, as the same attempt", () => {
    const away = decided(calling(["look"]), lost(AWAY));
    const reading = decided(away, reload);
    const read = decided(reading, restored(reading, { rows: [row("s1", "Be brief.")] }));
    expect(all(read, "next").slice(0, 3)).toMatchObject([
      { signal: { signal: { type: "steer", id: "s1" } } },
      { signal: { type: "agent", signal: { type: "resume", continued: true } } },
    ]);
    expect(find(read, "open_request")).toMatchObject({ requestId: "req_1" });
    expect(read.live).toMatchObject({ broken: undefined, nextRetryMs: 2000, request: { phase: "running" } });
    expect(read.live.inbox).toEqual(new Map([["s1", 0]]));
  });

  test("keeps the prompt of the request and the settings of the agent", () => {
    const open = written(idle(), asking, { ...prepared, given: { systemPrompt: "In verse." } } as LiveSignal);
    const reading = decided(decided(open, lost(AWAY)), reload);
    const other = idle({ name: "other" }).agent;
    const read = decided(
      reading,
      restored(reading, { agent: { ...other, thread: open.live.agent.thread, state: open.live.agent.state } }),
    );
    expect(read.live.agent.settings).toBe(open.live.agent.settings);
    expect(find(read, "start").directive).toMatchObject({ messages: [{ content: "In verse." }, {}] });
    const plain = decided(decided(running(), lost(AWAY)), reload);
    const resumed = decided(plain, restored(plain));
    expect(resumed.live.agent.flight.systemPrompt).toBeUndefined();
    const signal = all(resumed, "next")[0]?.signal;
    expect(signal).toEqual({ type: "agent", signal: { type: "resume", continued: true } });
  });

  test("keeps commands that are in the value only, and reads those that are rows", () => {
    for (const postsCommands of [false, true]) {
      const open = running(idle({}, { postsCommands: false }));
      const steered = written(
        open,
        command({ type: "steer", id: "s1", steer: "follow_up", content: "More." }),
        command({ type: "context_op", operation: replace }),
      );
      const away = decided({ ...steered.live, postsCommands }, lost(AWAY), reload);
      const read = decided(away, restored(away));
      expect(read.live.agent.flight.steers.map(({ id }) => id)).toEqual(postsCommands ? [] : ["s1"]);
      expect(read.live.agent.flight.deferred.map(({ id }) => id)).toEqual(postsCommands ? [] : ["op_1"]);
    }
  });

  test("closes a request that has failed here", () => {
    const broken = decided(calling(["look"]), lost(OUT_OF_SPACE));
    const read = written(broken, restored(broken));
    expect(events(read)).toContain("request_failed");
    expect(find(read, "reject").error).toMatchObject({ failure: { code: "store_failed" }, cause: OUT_OF_SPACE });
    expect(types(read)).not.toContain("open_request");
  });

  test("fails an open request that this process did not carry", () => {
    const { thread, state } = calling(["look"]).live.agent;
    const live = idle();
    const broken = decided(live, lost(OUT_OF_SPACE));
    const read = decided(broken, restored(broken, { agent: { ...live.agent, thread, state } }));
    expect(find(read, "open_request")).toMatchObject({ requestId: "req_1" });
    expect(all(read, "next")[0]?.signal).toEqual({
      type: "agent",
      signal: { type: "resume", failure: { code: "store_failed", message: "The disk is full.", retryable: false } },
    });
  });

  test("emits the end of a request that has ended in the log", () => {
    const open = calling(["sign"]);
    const elsewhere = written(written(open, fromTool(open, "approval_needed")), command(cancel)).live.agent;
    const reading = decided(decided(open, lost(AWAY)), reload);
    const flight = { ...idle().agent.flight };
    const read = decided(reading, restored(reading, { agent: { ...elsewhere, flight }, rows: [row("s1", "Late.")] }));
    expect(find(read, "open_request")).toMatchObject({ requestId: "req_1", firstEventSeq: 1 });
    const followed = all(read, "next").map(({ signal }) =>
      signal.type === "agent" ? signal.signal.type : signal.type,
    );
    expect(followed).toEqual(["steer", "notice", "close_request"]);
    expect(all(read, "next").at(-1)?.signal).toMatchObject({
      type: "close_request",
      failure: { code: "store_unreachable" },
    });
    expect(read.live.agent.flight.runId).toBe(open.live.request?.runId);
  });

  test("fails a request whose thread was deleted", () => {
    const broken = decided(running(), lost(OUT_OF_SPACE));
    const read = decided(broken, restored(broken, { agent: idle().agent }));
    const none = decided(read, { type: "caught_up", id: find(read, "catch_up").id, agent: read.live.agent });
    expect(find(none, "reject").error).toMatchObject({ failure: { code: "store_failed" }, cause: OUT_OF_SPACE });
    expect(none.live.request?.phase).toBe("over");
  });

  test("without a request decides what waits for it, and takes its rows", () => {
    const broken = decided(idle(), lost(OUT_OF_SPACE));
    const read = decided(broken, restored(broken, { rows: [operationRow(), { ...row("s1", ""), type: "note" }] }));
    expect(types(read)).toEqual(["warn", "next", "append"]);
    expect(read.live.inbox).toEqual(new Map([["op_1", 0]]));
    const over = running();
    const ended = written(over, answer(over));
    const again = decided(ended, lost(OUT_OF_SPACE));
    expect(types(decided(again, restored(again)))).toEqual([]);
  });
});

describe("a request whose store was away", () => {
  /** The store is away, then back, `times` times. */
  function away(times: number) {
    let story = calling(["sign"]);
    for (let index = 0; index < times; index++) {
      const reading = decided(decided(story, lost(AWAY)), reload);
      if (index === times - 1) return reading;
      story = written(reading, restored(reading));
    }
    return story;
  }

  test("is resumed three times, then closed", () => {
    expect([1, 2, 3, 4].map((times) => find(away(times), "restore").confirm)).toEqual([true, true, true, false]);
    expect(away(3).live.resumes).toEqual({ of: "req_1", count: 3 });
    const last = away(4);
    const closed = written(last, restored(last));
    expect(events(closed)).toContain("request_failed");
  });

  test("before its ask was stored is resumed with the values of its caller", () => {
    const given = { systemPrompt: "In verse.", context: 1 };
    const keyed = { ...ask, keys: [["requestId", "req_1"]] } as const;
    const putting = decided(idle(), { type: "ask", ask: keyed }, { ...prepared, given } as LiveSignal);
    const log = written(putting, appended(putting)).live.agent;
    const late = decided(putting, lost(AWAY), appended(putting));
    const unknown = decided(putting, failed(putting, AWAY));
    expect(find(late, "settle_ask").error).toMatchObject({ code: "request_suspended", requestId: "req_1" });
    expect(find(unknown, "settle_ask").error).toBe(AWAY);
    for (const story of [late, unknown]) {
      expect(types(story)).not.toContain("forget");
      const reading = decided(story, reload);
      expect(find(reading, "restore").confirm).toBe(true);
      const flight = idle().agent.flight;
      const read = written(reading, restored(reading, { agent: { ...log, flight } }));
      expect(find(read, "open_request")).toMatchObject({ requestId: "req_1" });
      expect(find(read, "start").directive).toMatchObject({
        type: "llm_stream",
        messages: [{ content: "In verse." }, {}],
      });
      expect(read.live).toMatchObject({
        given: { requestId: "req_1", context: 1 },
        resumes: { of: "req_1", count: 1 },
      });
    }
    const reading = decided(unknown, reload);
    const empty = decided(reading, restored(reading));
    expect(empty.live).toMatchObject({ given: undefined, agent: { flight: { systemPrompt: undefined } } });
    expect(find(empty, "forget")).toEqual({ type: "forget", requestId: "req_1" });
  });

  test("before its ask was stored is closed, if its caller cannot repeat the ask", () => {
    const putting = decided(idle(), asking, prepared);
    const log = written(putting, appended(putting)).live.agent;
    const unknown = decided(putting, failed(putting, AWAY));
    expect(find(unknown, "forget").requestId).toBe("req_1");
    const reading = decided(unknown, reload);
    const read = written(reading, restored(reading, { agent: { ...log, flight: idle().agent.flight } }));
    expect(events(read)).toContain("request_failed");
  });

  test("is resumed after any number of reloads that failed", () => {
    let story = decided(calling(["sign"]), lost(AWAY), reload);
    for (let index = 0; index < 9; index++) story = decided(story, failed(story, AWAY), reload);
    expect(find(story, "restore").confirm).toBe(true);
    expect(story.live.resumes).toEqual({ of: "req_1", count: 1 });
    expect(find(decided(story, restored(story)), "open_request")).toMatchObject({ requestId: "req_1" });
  });

  test("is counted from the start when it has written a result", () => {
    const open = running();
    const late = { ...open, live: { ...open.live, resumes: { of: "req_1", count: 3 } } };
    expect(written(late, answer(open, ["sign"])).live.resumes.count).toBe(0);
  });

  test("is not counted while it waits for people, and the log is read as soon as the first time", () => {
    const reading = decided(decided(waiting(), lost(AWAY)), reload);
    const read = written(reading, restored(reading));
    expect(read.live).toMatchObject({ resumes: { count: 0 }, nextRetryMs: undefined, request: { phase: "waiting" } });
  });

  test("is counted apart from the request before", () => {
    const live = { ...decided(calling(["sign"]), lost(AWAY)).live, resumes: { of: "req_0", count: 3 } };
    expect(decided(live, reload).live.resumes).toEqual({ of: "req_1", count: 1 });
  });

  test("is not resumed by an agent that fails what was interrupted", () => {
    const open = calling(["sign"], idle({}, { recover: "fail" }));
    const reading = decided(decided(open, lost(AWAY)), reload);
    expect(find(reading, "restore").confirm).toBe(false);
    expect(reading.live.resumes).toEqual({ of: undefined, count: 0 });
    expect(find(decided(decided(idle(), lost(AWAY)), reload), "restore").confirm).toBe(false);
  });

  test("does not take the result of work that was begun before", () => {
    const open = running();
    const reading = decided(decided(open, lost(AWAY)), reload);
    const read = decided(reading, restored(reading));
    expect(decided(read, answer(open))).toMatchObject({ live: read.live, effects: [] });
  });
});
