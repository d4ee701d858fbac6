import { describe, expect, test } from "vitest";
import { ContextOpError } from "../../../src/lanes/context-operation.ts";
import { giving } from "../../../src/runtime/live/asks.ts";
import { decideLive } from "../../../src/runtime/live/decide-live.ts";
import type { ToolFacts } from "../../../src/runtime/live/live.ts";
import type { Decision, LiveSignal, RequestValues } from "../../../src/runtime/live/signal.ts";
import { CommandError } from "../../../src/stores/errors.ts";
import {
  AWAY,
  all,
  answer,
  appended,
  ask,
  asking,
  askRow,
  calling,
  command,
  decided,
  entriesOf,
  events,
  failed,
  find,
  idle,
  NOW,
  OUT_OF_SPACE,
  prepared,
  row,
  running,
  type Story,
  types,
  WHY,
  waiting,
  written,
} from "./live-thread.ts";

const second: LiveSignal = { type: "ask", ask: { ...ask, id: "ask 2", requestId: "req_2" } };
const secondPrepared: LiveSignal = { type: "prepared", askId: "ask 2", given: {} };
const tools: ToolFacts = { tools: [{ name: "draw", inputSchema: {} }], traits: { draw: { repeatable: true } } };

function preparedWith(given: RequestValues): LiveSignal {
  return { type: "prepared", askId: ask.id, given };
}

describe("an ask that was prepared", () => {
  test("is written with its refs, and the model is shown the prompt that was made for it", () => {
    const asked = decided(
      idle(),
      { type: "ask", ask: { ...ask, refs: { tenant: "t1" } } },
      preparedWith({ systemPrompt: "In verse." }),
    );
    expect(entriesOf(asked)).toMatchObject([
      { refs: { tenant: "t1", requestId: "req_1" }, payload: { content: "Hi.", agent: "test" } },
    ]);
    const { directive } = find(decided(asked, appended(asked)), "start");
    expect(directive).toMatchObject({ messages: [{ role: "system", content: "In verse." }, { role: "user" }] });
  });

  test("without refs and prompt adds none", () => {
    const asked = decided(idle(), asking, prepared);
    expect(asked.live.hold).toMatchObject({
      turn: { signal: { type: "ask", requestId: "req_1", content: "Hi.", options: {} } },
    });
    expect(asked.live.hold).not.toHaveProperty("turn.signal.refs");
    expect(asked.live.hold).not.toHaveProperty("turn.signal.systemPrompt");
  });

  test("has its own tools beside those of the agent, until the request ends", () => {
    const look = { name: "look", inputSchema: {}, description: "Looks twice." };
    const given = { tools: { ...tools, tools: [...tools.tools, look] }, context: { user: "u1" } };
    const begun = written(idle(), asking, preparedWith(given));
    expect(begun.live.agent.settings.tools.map(({ name }) => name)).toEqual(["look", "sign", "draw"]);
    expect(begun.live.agent.settings.tools[0]).toBe(look);
    expect(begun.live.agent.settings.traits).toEqual({ sign: { needsApproval: true }, draw: { repeatable: true } });
    expect(begun.live.given).toEqual({ requestId: "req_1", context: { user: "u1" }, tools: given.tools });
    const over = written(begun, answer(begun));
    expect(over.live.given).toBeUndefined();
    expect(over.live.agent.settings.tools.map(({ name }) => name)).toEqual(["look", "sign"]);
    expect(over.live.agent.settings.traits).toEqual({ sign: { needsApproval: true } });
  });

  test("uses the tools that the settings hold, and its counter", () => {
    const counter = { id: "mine", version: 1, count: () => 1 } as never;
    const held = { facts: tools, seqs: [], unresolved: [] };
    const begun = written(idle(), asking, preparedWith({ held, exactCounter: counter }));
    expect(begun.live.ownTools).toBe(tools);
    expect(begun.live.agent.settings).toMatchObject({ ...tools, exactCounter: counter });
  });

  test("is prepared again when a setting came, or another one", () => {
    const setting = { opId: "set_1", setting: { type: "system_prompt", value: "Be brief." } } as const;
    const set = written(idle(), command({ type: "set", setting }));
    const again = (seqs: readonly number[]) =>
      decided(set.live, asking, preparedWith({ held: { facts: tools, seqs, unresolved: [] } }));
    expect(types(again([0]))).toEqual(["prepare", "append"]);
    expect(types(again([]))).toEqual(["prepare", "prepare"]);
    expect(types(again([7]))).toEqual(["prepare", "prepare"]);
  });

  test("is refused while another request is open, which keeps what its caller gave", () => {
    const first = written(idle(), asking, preparedWith({ tools, context: 1 }));
    const refused = written(first, second, { type: "prepared", askId: "ask 2", given: { context: 2 } });
    expect(types(refused)).toEqual(["prepare", "forget", "settle_ask"]);
    expect(find(refused, "forget").requestId).toBe("req_2");
    expect(find(refused, "settle_ask")).toMatchObject({ askId: "ask 2", error: { code: "busy", requestId: "req_2" } });
    expect(refused.live.given).toEqual({ requestId: "req_1", context: 1, tools });
    expect(refused.live).toMatchObject({ asks: [], isAsking: false, request: { id: "req_1", phase: "running" } });
  });

  test("while another request was open is refused by it, or prepared again after its end", () => {
    const busy: LiveSignal = { type: "prepared", askId: "ask 2", given: undefined };
    const open = written(idle(), asking, prepared, second);
    const refused = decided(open, busy);
    expect(find(refused, "settle_ask")).toMatchObject({ askId: "ask 2", error: { code: "busy" } });
    const again = decided(written(open, answer(open)), busy);
    expect(types(again)).toEqual(["prepare"]);
    expect(again.live).toMatchObject({ asks: [{ id: "ask 2" }], isAsking: true });
  });

  test("by another id changes nothing", () => {
    const before = decided(idle(), asking);
    for (const type of ["prepared", "unprepared", "postponed"] as const) {
      const signal = { type, askId: "ask 9", given: {} } as LiveSignal;
      expect(decided(before, signal)).toMatchObject({ live: before.live, effects: [] });
      expect(decided(idle(), signal).effects).toEqual([]);
    }
  });
});

describe("an ask that waits for the end of a request", () => {
  const queues = () => idle({}, { queuesAsks: true, postsCommands: false });

  test("is prepared when the request is over", () => {
    const first = written(queues(), asking, prepared, second);
    expect(all(first, "prepare").map(({ ask: { id } }) => id)).toEqual(["ask 1"]);
    const over = written(first, answer(first));
    expect(all(over, "prepare").map(({ ask: { id } }) => id)).toEqual(["ask 2"]);
  });

  test("and was prepared too early is prepared again", () => {
    const open = running(queues());
    const asks = [{ ...ask, id: "ask 2", requestId: "req_2" }];
    const early = decided({ ...open.live, asks, isAsking: true }, secondPrepared);
    expect(early).toMatchObject({ effects: [], live: { isAsking: false, asks } });
    expect(types(written({ ...open, live: early.live }, answer(open)))).toContain("prepare");
  });

  test("and was postponed is prepared again, once the log has no open request", () => {
    const open = running(queues());
    const asks = [{ ...ask, id: "ask 2", requestId: "req_2" }];
    const postponed = decided({ ...open.live, asks, isAsking: true }, { type: "postponed", askId: "ask 2" });
    expect(postponed).toMatchObject({ effects: [], live: { isAsking: false, asks } });
    const free = decided(idle(), asking, { type: "postponed", askId: ask.id });
    expect(types(free)).toEqual(["prepare", "prepare"]);
  });

  test("is prepared at once when the log cannot be written: the loop reads the log for it", () => {
    const open = running(queues());
    const away = decided(open, { type: "lost", error: AWAY });
    expect(types(decided(away, second))).toEqual(["prepare"]);
  });
});

describe("an ask that could not be prepared", () => {
  test("is refused with the error, and the next one is prepared", () => {
    const refused = decided(idle(), asking, second, { type: "unprepared", askId: ask.id, error: WHY });
    expect(types(refused)).toEqual(["prepare", "forget", "settle_ask", "prepare"]);
    expect(find(refused, "settle_ask")).toEqual({ type: "settle_ask", askId: ask.id, error: WHY });
    expect(find(refused, "prepare").ask.id).toBe("ask 2");
  });

  test("because the log has it, is answered with its entry", () => {
    const known = { id: "entry" } as never;
    const answered = decided(idle(), asking, { type: "unprepared", askId: ask.id, known });
    expect(answered.effects.slice(1)).toEqual([{ type: "settle_ask", askId: ask.id, known }]);
    expect(answered.live.isAsking).toBe(false);
  });
});

describe("an ask that is withdrawn", () => {
  test("while it is prepared does not stop it, and by an unknown id changes nothing", () => {
    const before = decided(idle(), asking, second);
    for (const askId of [ask.id, "ask 9"]) {
      expect(decided(before, { type: "withdraw", askId, error: WHY })).toMatchObject({
        live: before.live,
        effects: [],
      });
    }
  });

  test("as the first of the queue, before its turn, is refused", () => {
    const queued = written(running(idle({}, { queuesAsks: true, postsCommands: false })), second);
    const left = decided(queued, { type: "withdraw", askId: "ask 2", error: WHY });
    expect(left.effects).toEqual([
      { type: "forget", requestId: "req_2" },
      { type: "settle_ask", askId: "ask 2", error: WHY },
    ]);
    expect(left.live.asks).toEqual([]);
  });

  test("while the same ask runs or is prepared, takes nothing from it", () => {
    const again: LiveSignal = { type: "ask", ask: { ...ask, id: "ask 2" } };
    const leave: LiveSignal = { type: "withdraw", askId: "ask 2", error: WHY };
    const queues = idle({}, { queuesAsks: true, postsCommands: false });
    for (const story of [running(queues), decided(queues, asking)])
      expect(types(decided(story, again, leave))).not.toContain("forget");
  });

  test("by its request id while it is prepared, is not taken, and the next one is prepared", () => {
    const left = decided(
      idle(),
      asking,
      second,
      { type: "withdraw", requestId: "req_1", error: WHY, reply: "r" },
      prepared,
    );
    expect(types(left)).toEqual(["prepare", "forget", "settle_ask", "settle", "prepare"]);
    expect(left.live).toMatchObject({ asks: [{ id: "ask 2" }], isAsking: true });
  });
});

test("asks that wait as rows are decided together, in their order, and each once", () => {
  const rows = [askRow("a"), askRow("b"), row("s1", "More."), askRow("c")];
  const opened = decideLive(idle(), { type: "opened", reply: "o", rows, first: undefined, given: undefined }, NOW);
  const next = all(opened, "next").map(({ signal }) => (signal.type === "asks" ? signal.asks.length : signal.type));
  expect(next).toEqual([2, "agent", 1, "reload"]);
  const read = written(opened.live, ...all(opened, "next").map(({ signal }) => signal));
  expect(read.live.asks.map(({ requestId }) => requestId)).toEqual(["a", "b", "c"]);
  const again = decided(read, { type: "asks", asks: [...read.live.asks].reverse() });
  expect(again.live.asks).toEqual(read.live.asks);
});

describe("an ask that is withdrawn as a row", () => {
  const opened = decided(idle(), {
    type: "opened",
    reply: "o",
    rows: [askRow("two")],
    first: undefined,
    given: undefined,
  });
  const timed = { ...opened.live, asks: opened.live.asks.map((one) => ({ ...one, at: 9 })), isAsking: false };
  const leaving = () => decided(timed, { type: "withdraw", requestId: "two", error: WHY, reply: "r" });
  const settled = new CommandError({ code: "command_settled", threadId: "t", commandId: "two", message: "Settled." });
  const of = (story: Decision) => all(story, "settle").filter(({ reply }) => reply === "r");

  test("is answered when that is durable", () => {
    const left = leaving();
    expect(of(left)).toEqual([]);
    expect(of(decided(left, appended(left)))).toMatchObject([{ value: [{ requestId: "two" }] }]);
  });

  test("has gone before: its caller is answered when the rows were read again", () => {
    const left = leaving();
    const reading = decided(left, failed(left, settled));
    expect(of(reading)).toEqual([]);
    const read = decided(reading, { type: "inbox_read", id: find(reading, "read_inbox").id, rows: [] });
    expect(of(read)).toMatchObject([{ value: [{ requestId: "two" }] }]);
  });

  test("stays where the rows cannot be read either", () => {
    const left = leaving();
    const reading = decided(left, failed(left, settled));
    const lost = decided(reading, failed(reading, AWAY));
    expect(of(lost)).toMatchObject([{ error: { code: "request_suspended", cause: AWAY } }]);
    expect(lost.live).toMatchObject({ broken: { error: AWAY }, inbox: new Map([["two", 0]]) });
  });

  test.each([
    ["while its outcome is written", (left: Story) => left],
    ["while its row is read again", (left: Story) => decided(left, failed(left, settled))],
  ])("stays where the thread is abandoned %s", (_when, story) => {
    const closed = decided(
      story(leaving()),
      { type: "stop", graceMs: 0, why: WHY },
      { type: "timer", name: "give_up" },
    );
    expect(of(closed)).toMatchObject([{ error: { code: "request_suspended", cause: WHY } }]);
  });
});

describe("an ask that is not taken", () => {
  test("because `accept` throws, is refused with the cause, which is reported", () => {
    const accept = (): never => {
      throw WHY;
    };
    const refused = written(idle({ accept }), asking, prepared);
    expect(types(refused)).toEqual(["prepare", "report", "forget", "settle_ask"]);
    expect(find(refused, "report")).toEqual({
      type: "report",
      error: WHY,
      origin: { code: "projection_failed", threadId: "thread_t" },
    });
    expect(find(refused, "settle_ask").error).toMatchObject({ code: "projection_failed", cause: WHY });
    expect(refused.live).toMatchObject({ asks: [], isAsking: false, broken: undefined });
  });

  test("because it is empty, leaves the thread as it was", () => {
    const refused = written(idle(), { type: "ask", ask: { ...ask, content: " " } }, prepared);
    expect(find(refused, "settle_ask").error).toMatchObject({ code: "empty_ask", requestId: "req_1" });
    expect(refused.live.agent.thread.rev).toBe(0);
    expect(refused.live.given).toBeUndefined();
  });

  test("because it could not be written, fails with the error of the store", () => {
    const asked = decided(idle(), asking, prepared);
    const refused = decided(asked, failed(asked, OUT_OF_SPACE));
    expect(find(refused, "settle_ask")).toEqual({ type: "settle_ask", askId: ask.id, error: OUT_OF_SPACE });
    expect(types(refused)).toContain("restore");
  });

  test("because its request has ended before it began, says how", () => {
    // The request of another process is what this one knows last.
    const asked = decided(idle({}, { mintsTokens: true }), asking, prepared);
    const lost = decided(asked, { type: "lost", error: AWAY }, appended(asked));
    expect(find(lost, "settle_ask").error).toMatchObject({
      code: "request_suspended",
      suspension: { reason: "store" },
    });
    const broken = decided(asked, { type: "lost", error: OUT_OF_SPACE });
    const ended = decided(broken, appended(asked));
    expect(find(ended, "settle_ask").error).toMatchObject({
      code: "request_failed",
      failure: { code: "store_failed" },
    });
  });
});

describe("what a caller gives to an open request", () => {
  test("changes the agent at once, also the one that is being appended", () => {
    const open = running();
    const putting = decided(open, answer(open, ["look"]));
    const name = (agent: typeof open.live.agent) => ({ ...agent, settings: { ...agent.settings, name: "other" } });
    const changed = decided(putting, { type: "change", change: { agent: name }, reply: "r" });
    expect(changed.effects).toEqual([{ type: "settle", reply: "r" }]);
    expect(changed.live.agent.settings.name).toBe("other");
    expect(changed.live.hold).toMatchObject({ type: "append", step: { agent: { settings: { name: "other" } } } });
    expect(decided(changed, appended(putting)).live.agent.settings.name).toBe("other");
  });

  test("replaces what it names, and keeps the rest", () => {
    const open = written(idle(), asking, preparedWith({ context: 1 }));
    const give = (requestId: string, more: RequestValues) => {
      return decided(open, { type: "change", change: giving(requestId, more), reply: "r" }).live;
    };
    expect(give("req_1", { tools }).given).toEqual({ requestId: "req_1", context: 1, tools });
    expect(give("req_1", { tools }).agent.settings.tools.map(({ name }) => name)).toEqual(["look", "sign", "draw"]);
    expect(give("req_1", { context: 2 }).given).toEqual({ requestId: "req_1", context: 2, tools: undefined });
    expect(give("req_1", { context: 2 }).agent.settings).toEqual(open.live.agent.settings);
    expect(give("req_2", { tools }).given).toEqual({ requestId: "req_2", context: undefined, tools });
    const twice = decided(give("req_1", { tools }), {
      type: "change",
      change: giving("req_1", { context: 3 }),
      reply: "r",
    });
    expect(twice.live.given).toEqual({ requestId: "req_1", context: 3, tools });
    expect(twice.live.agent.settings.tools.map(({ name }) => name)).toEqual(["look", "sign", "draw"]);
    const none = { ...open.live, given: undefined };
    const given = decided(none, { type: "change", change: giving("req_1", { context: 4 }), reply: "r" }).live.given;
    expect(given).toEqual({ requestId: "req_1", context: 4, tools: undefined });
  });

  test("may be of the live value only", () => {
    const changed = decided(idle(), {
      type: "change",
      change: { live: (live) => ({ ...live, nextId: 9 }) },
      reply: "r",
    });
    expect(changed.live.nextId).toBe(9);
    const reading = decided(running(), { type: "lost", error: OUT_OF_SPACE });
    const name = (agent: typeof reading.live.agent) => ({ ...agent, settings: { ...agent.settings, name: "other" } });
    const during = decided(reading, { type: "change", change: { agent: name }, reply: "r" });
    expect(during.live.hold).toEqual(reading.live.hold);
  });
});

describe("a thread that was opened", () => {
  const opened = (more: object = {}): LiveSignal => {
    return { type: "opened", reply: "r", rows: [], first: { type: "resume" }, given: undefined, ...more } as LiveSignal;
  };
  /** The log of an open request, in another process. */
  const left = (story = calling(["look"])) => ({
    ...idle(),
    agent: { ...idle().agent, thread: story.live.agent.thread, state: story.live.agent.state },
  });

  test("without an open request answers its caller", () => {
    expect(decided(idle(), opened()).effects.at(-1)).toEqual({ type: "settle", reply: "r" });
    expect(types(decided(idle(), opened()))).toEqual(["next", "settle"]);
  });

  test("resumes its request, then takes the commands that wait, then answers", () => {
    const begun = written(left(), opened({ rows: [row("s1", "Be brief.")] }));
    expect(types(begun).filter((type) => type !== "next")).toEqual(
      expect.arrayContaining(["open_request", "append", "settle"]),
    );
    expect(find(begun, "open_request")).toMatchObject({ requestId: "req_1" });
    expect(begun.live.inbox).toEqual(new Map());
    expect(find(begun, "settle")).toEqual({ type: "settle", reply: "r" });
  });

  test("leaves its request open when it is not to be resumed", () => {
    const read = decided(left(), opened({ first: undefined, rows: [row("s1", "Be brief.")] }));
    expect(types(read)).not.toContain("open_request");
    expect(read.live.request).toBeUndefined();
  });

  test("resumes with what its caller gave", () => {
    const given: RequestValues = { systemPrompt: "In verse.", tools, context: 3 };
    const begun = written(left(running()), opened({ given }));
    expect(begun.live.given).toEqual({ requestId: "req_1", systemPrompt: "In verse.", context: 3, tools });
    expect(find(begun, "start").directive).toMatchObject({ messages: [{ content: "In verse." }, { role: "user" }] });
    const plain = written(left(running()), opened({ given: { tools } }));
    expect(find(plain, "start").directive).toMatchObject({ messages: [{ role: "user" }] });
  });

  test("closes the request when a function of its caller failed", () => {
    const failure = { error: WHY, code: "options_lost", message: "The tools are lost." };
    const closed = written(left(), opened({ given: { failed: failure }, rows: [row("s1", "Late.")] }));
    expect(events(closed)).toContain("request_failed");
    expect(find(closed, "reject").error).toMatchObject({
      failure: { code: "options_lost", message: "The tools are lost." },
      cause: WHY,
    });
    expect(find(closed, "outcome")).toMatchObject({ commandId: "s1" });
    expect(find(closed, "settle").reply).toBe("r");
  });
});

describe("a read", () => {
  test("is answered with its value or its error", () => {
    const read = (read: () => unknown) => decided(waiting(), { type: "read", read, reply: "r" }).effects;
    expect(read(() => 5)).toEqual([{ type: "settle", reply: "r", value: 5 }]);
    const fail = (): never => {
      throw WHY;
    };
    expect(read(fail)).toEqual([{ type: "settle", reply: "r", error: WHY }]);
    const ahead: LiveSignal = { type: "read", read: fail, reply: "r", isAhead: true };
    expect(decided(idle(), ahead, { ...ahead, read: () => 5 }).effects).toEqual([
      { type: "settle", reply: "r" },
      { type: "settle", reply: "r" },
    ]);
  });

  const short = new ContextOpError({ code: "tail_too_short", message: "Load more." } as never);

  test.each(["tail_too_short", "lane_not_loaded"])(
    "that ends with %s loads more of the thread and is done again",
    (code) => {
      const error = new ContextOpError({ code, message: "Load more." } as never); // the code of another class
      let reads = 0;
      const read = (): number => {
        if (++reads === 1) throw error;
        return reads;
      };
      const live = idle();
      const loading = decided(live, { type: "read", read, reply: "r" });
      const { id } = find(loading, "load");
      expect(loading.effects).toEqual([{ type: "load", id, thread: live.agent.thread, error }]);
      const loaded = decided(loading, { type: "loaded", id, thread: live.agent.thread, isAmple: true });
      expect(loaded.effects).toEqual([{ type: "settle", reply: "r", value: 2 }]);
    },
  );

  test("that looks ahead reads no more when ample entries were loaded", () => {
    let reads = 0;
    const read = (): never => {
      reads++;
      throw short;
    };
    const live = idle();
    const loading = decided(live, { type: "read", read, reply: "r", isAhead: true });
    const { id } = find(loading, "load");
    const { thread } = live.agent;
    expect(decided(loading, { type: "loaded", id, thread, isAmple: true }).effects).toEqual([
      { type: "settle", reply: "r" },
    ]);
    expect(reads).toBe(1);
    expect(types(decided(loading, { type: "loaded", id, thread, isAmple: false }))).toEqual(["load"]);
    expect(reads).toBe(2);
  });

  test("whose load fails gets the error, unless it looks ahead", () => {
    const read = (): never => {
      throw short;
    };
    for (const isAhead of [false, true]) {
      const loading = decided(idle(), { type: "read", read, reply: "r", isAhead });
      const { effects, live } = decided(loading, failed(loading, AWAY));
      expect(effects).toEqual([{ type: "settle", reply: "r", ...(!isAhead && { error: AWAY }) }]);
      expect(live.broken).toBeUndefined();
    }
  });
});
