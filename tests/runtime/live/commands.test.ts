import { describe, expect, test } from "vitest";
import type { Signal } from "../../../src/agent/signal.ts";
import { newLive } from "../../../src/runtime/live/live.ts";
import type { LiveSignal } from "../../../src/runtime/live/signal.ts";
import type { Command, CommandOutcome } from "../../../src/stores/command.ts";
import { CommandError, StoreError } from "../../../src/stores/errors.ts";
import {
  aborted,
  all,
  answer,
  appended,
  command,
  decided,
  entriesOf,
  failed,
  find,
  idle,
  OUT_OF_SPACE,
  operationRow,
  replace,
  row,
  running,
  type Story,
  TAKEN,
  types,
  written,
} from "./live-thread.ts";

function steer(id: string, content = "Be brief."): Signal {
  return { type: "steer", id, steer: "steer", content };
}

const operation: Signal = { type: "context_op", operation: replace };

/** The command is a row, or was answered before. */
function posted(story: Story, outcome?: CommandOutcome): LiveSignal {
  return { type: "posted", id: find(story, "post").id, outcome };
}

/** The words are a row. */
function steered(request: Story, id = "s1"): Story {
  const posting = decided(request, command(steer(id)));
  return decided(posting, posted(posting));
}

describe("words for a running request", () => {
  test("are posted before their caller gets an answer, and consumed by the append that delivers them", () => {
    const request = running();
    const posting = decided(request, command(steer("s1")));
    expect(types(posting)).toEqual(["post"]);
    const body = { type: "steer", steer: "steer", content: "Be brief.", requestId: "req_1" };
    expect(find(posting, "post").command).toEqual({ id: "s1", ...body });
    const waiting = decided(posting, { type: "posted", id: find(posting, "post").id, outcome: undefined });
    expect(types(waiting)).toEqual(["settle"]);
    expect(waiting.live.inbox).toEqual(new Map([["s1", 0]]));
    const delivering = decided(waiting, answer(request));
    const { after, consumes } = find(delivering, "append");
    const last = after.thread.last();
    expect(last?.id).toBe("s1/0");
    expect(consumes).toEqual([{ id: "s1", outcome: { status: "delivered", seq: last?.seq }, revision: 0 }]);
    const done = decided(delivering, appended(delivering));
    expect(find(done, "outcome")).toMatchObject({ commandId: "s1", end: { status: "delivered" } });
    expect(done.live.inbox.size).toBe(0);
  });

  test("that came too late get their outcome with the end of the request", () => {
    const request = running();
    const waiting = steered(request);
    const cancelled = decided(waiting, { type: "agent", signal: { type: "cancel" } });
    const ending = decided(cancelled, aborted(request));
    expect(find(ending, "append").consumes).toMatchObject([{ id: "s1", outcome: { reason: "cancelled" } }]);
  });

  test("that are refused are no row", () => {
    const refused = decided(idle(), command(steer("s1")));
    expect(types(refused)).toEqual(["outcome", "settle"]);
  });

  test("that were answered before do not wait once more", () => {
    const posting = decided(running(), command(steer("s1")));
    const outcome = { status: "logged", seq: 7 };
    const known = decided(posting, { type: "posted", id: find(posting, "post").id, outcome });
    expect(find(known, "outcome").end).toEqual({ status: "delivered", seq: 7 });
    expect(known.live.agent.flight.steers).toEqual([]);
  });

  test("whose row was amended before its caller had an answer are delivered as the row says", () => {
    const request = running();
    const posting = decided(request.live, command(steer("s1")));
    const amended = row("s1", "In verse.", 2);
    const known = decided(posting.live, { type: "posted", id: find(posting, "post").id, row: amended });
    expect(known.live.inbox).toEqual(new Map([["s1", 2]]));
    const { after, consumes } = find(decided(known.live, answer(request)), "append");
    expect(after.thread.last()?.payload).toMatchObject({ content: "In verse." });
    expect(consumes).toMatchObject([{ id: "s1", revision: 2 }]);
  });

  test("whose post failed do not wait, and their row is withdrawn", () => {
    const posting = decided(running(), command(steer("s1")));
    const error = new StoreError({ code: "store_failed", message: "The disk is full." });
    const failed = decided(posting, { type: "failed", id: find(posting, "post").id, error });
    expect(types(failed)).toEqual(["withdraw_row", "settle"]);
    expect(find(failed, "settle").error).toBe(error);
    expect(failed.live.agent.flight.steers).toEqual([]);
  });

  test("of a run without a store wait in the value", () => {
    const waiting = decided(running(idle({}, { postsCommands: false })).live, command(steer("s1")));
    expect(types(waiting)).toEqual(["settle"]);
    expect(waiting.live.agent.flight.steers).toMatchObject([{ id: "s1" }]);
  });
});

describe("rows that another process has changed", () => {
  const settled = (id: string) => {
    return new CommandError({ code: "command_settled", threadId: "thread_t", commandId: id, message: "Settled." });
  };
  /** The append that delivers the words was refused. The inbox is read. */
  function reread(rows: readonly Command[]): Story {
    const request = running();
    const delivering = decided(steered(request), answer(request));
    const refused = decided(delivering, {
      type: "failed",
      id: find(delivering, "append").id,
      error: settled("s1"),
    });
    return decided(refused, { type: "inbox_read", id: find(refused, "read_inbox").id, rows });
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
  function opened(rows: readonly Command[]): Story {
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
    ["empty_content", { content: " " }],
  ])("drops words with the reason %s", (reason, body) => {
    const first = opened([{ ...row("s1", ""), body }]);
    expect(find(first, "append")).toMatchObject({ consumes: [{ id: "s1", outcome: { reason } }] });
  });

  test.each([{ content: 5 }, { content: "Hi.", refs: { nested: {} } }])("refuses malformed words: %j", (body) => {
    const first = opened([{ ...row("s1", ""), body }]);
    const outcome = { status: "refused", code: "command_invalid" };
    expect(find(first, "append")).toMatchObject({ consumes: [{ id: "s1", revision: 0, outcome }] });
  });

  test("leaves rows of other types alone, with a warning", () => {
    const first = opened([{ ...row("mine", ""), type: "note" }]);
    expect(first.live.inbox.size).toBe(0);
    expect(find(first, "warn").message).toContain('mine of the type "note"');
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

describe("an operation for a running request", () => {
  test("is posted as it is, and consumed by the end of the request", () => {
    const request = running();
    const posting = decided(request, command(operation));
    expect(posting.effects).toEqual([
      { type: "post", id: posting.live.hold?.id, command: { id: "op_1", type: "context_op", operation: replace } },
    ]);
    const waiting = decided(posting, posted(posting));
    expect(waiting.live.inbox).toEqual(new Map([["op_1", 0]]));
    expect(find(waiting, "settle").turn?.performed.map(({ type }) => type)).toEqual(["defer"]);
    const again = decided(waiting, command(operation, "again"));
    expect(types(again)).toEqual(["settle"]);
    const ending = decided(waiting, answer(request));
    expect(find(ending, "append").consumes).toEqual([{ id: "op_1", outcome: { status: "applied" }, revision: 0 }]);
    const done = decided(ending, appended(ending));
    expect(find(done, "outcome")).toEqual({ type: "outcome", commandId: "op_1", end: { status: "applied" } });
  });

  test("that no row was made for is not consumed", () => {
    const request = running(idle({}, { postsCommands: false }));
    const waiting = decided(request, command(operation));
    expect(types(waiting)).toEqual(["settle"]);
    expect(find(decided(waiting, answer(request)), "append").consumes).toEqual([]);
  });
});

describe("a command that the agent does not take", () => {
  test("gets its error, and nothing breaks", () => {
    const malformed = command({ type: "context_op", operation: { ...replace, contextRef: 5 } as never });
    const setting = { opId: "s", setting: { type: "system_prompt", value: 5 } } as never;
    for (const [signal, code] of [
      [malformed, "context_op_invalid"],
      [command({ type: "set", setting }), "setting_invalid"],
    ] as const) {
      const refused = decided(running(), signal);
      expect(refused.effects).toMatchObject([{ type: "settle", reply: "r", error: { code } }]);
      expect(refused.live.broken).toBeUndefined();
    }
  });

  test("and has no caller is refused only if it is an operation that waited", () => {
    const setting = { opId: "s", setting: { type: "system_prompt", value: 5 } } as never;
    expect(decided(idle(), { type: "agent", signal: { type: "set", setting } }).effects).toEqual([]);
    const malformed = { ...replace, contextRef: 5 } as never;
    const refused = decided(idle(), { type: "agent", signal: { type: "context_op", operation: malformed } });
    expect(types(refused)).toEqual(["warn", "outcome"]);
    expect(find(refused, "warn").message).toContain("op_1");
    expect(find(refused, "outcome").end).toMatchObject({ status: "refused", code: "context_op_invalid" });
  });
});

describe("a command that was answered before", () => {
  test.each<[CommandOutcome, object]>([
    [{ status: "applied" }, { status: "applied" }],
    [
      { status: "refused", code: "c", message: "m" },
      { status: "refused", code: "c", message: "m" },
    ],
    [
      { status: "delivered", seq: 4 },
      { status: "delivered", seq: 4 },
    ],
    [
      { status: "logged", seq: 4 },
      { status: "delivered", seq: 4 },
    ],
    [
      { status: "delivered", seq: "4" },
      { status: "dropped", reason: "delivered" },
    ],
    [
      { status: "noted", seq: 4 },
      { status: "dropped", reason: "noted" },
    ],
    [{ status: "logged" }, { status: "dropped", reason: "logged" }],
    [{ status: "withdrawn" }, { status: "dropped", reason: "withdrawn" }],
    [
      { status: "dropped", reason: "cancelled" },
      { status: "dropped", reason: "cancelled" },
    ],
  ])("with %o ends as %o", (outcome, end) => {
    const posting = decided(running(), command(operation));
    const known = decided(posting, posted(posting, outcome));
    expect(known.effects).toMatchObject([
      { type: "outcome", commandId: "op_1", end },
      { type: "settle", reply: "r" },
    ]);
    expect(find(known, "outcome").end).toEqual(end);
    expect(known.live.agent.flight.deferred).toEqual([]);
    expect(known.live.inbox.size).toBe(0);
  });

  test("leaves the others waiting", () => {
    const posting = decided(steered(running(), "s0"), command(steer("s1")));
    const known = decided(posting, posted(posting, { status: "applied" }));
    expect(known.live.agent.flight.steers.map(({ id }) => id)).toEqual(["s0"]);
    expect([...known.live.inbox.keys()]).toEqual(["s0"]);
  });
});

describe("a command that could not be posted", () => {
  const other = new CommandError({
    code: "command_id_reused",
    threadId: "thread_t",
    commandId: "op_1",
    message: "Other.",
  });

  test("because another one has its id leaves that one alone", () => {
    const posting = decided(running(), command(operation));
    const refused = decided(posting, failed(posting, other));
    expect(refused.effects).toMatchObject([{ type: "settle", reply: "r", error: { code: "context_op_id_reused" } }]);
    const words = decided(running(), command(steer("s1")));
    expect(decided(words, failed(words, other)).effects).toMatchObject([{ type: "settle", error: other }]);
    expect(refused.live.agent.flight.deferred).toEqual([]);
  });

  test("withdraws its row, if it has one, and keeps the error of an operation", () => {
    const posting = decided(running(), command(operation));
    const refused = decided(posting, failed(posting, OUT_OF_SPACE));
    expect(refused.effects).toMatchObject([
      { type: "withdraw_row", commandId: "op_1" },
      { type: "settle", reply: "r", error: OUT_OF_SPACE },
    ]);
    expect(refused.live.broken).toBeUndefined();
  });

  test("because another process has the thread stops this one", () => {
    const posting = decided(running(), command(operation));
    const lost = decided(posting, failed(posting, TAKEN));
    expect(types(lost)).toEqual(expect.arrayContaining(["lost", "suspend"]));
    expect(types(lost)).not.toContain("withdraw_row");
    expect(find(lost, "settle")).toMatchObject({ reply: "r", error: TAKEN });
    expect(lost.live.agent.flight.deferred).toEqual([]);
  });
});

describe("the inbox that was read again", () => {
  /** The rows after an append was refused. */
  function reread(story: Story, request: Story, rows: readonly Command[]): Story {
    const ending = decided(story, answer(request));
    const error = new CommandError({
      code: "command_settled",
      threadId: "thread_t",
      commandId: "x",
      message: "Settled.",
    });
    const reading = decided(ending, failed(ending, error));
    expect(reading.effects).toEqual([{ type: "read_inbox", id: reading.live.hold?.id }]);
    return decided(reading, { type: "inbox_read", id: find(reading, "read_inbox").id, rows });
  }

  /** Words and an operation that wait. */
  function both(request: Story): Story {
    const posting = decided(steered(request), command(operation));
    return decided(posting, posted(posting));
  }

  test("drops what was withdrawn, and nothing else", () => {
    const request = running();
    const again = reread(both(request), request, [row("s1", "Be brief.")]);
    expect(all(again, "outcome")).toEqual([
      { type: "outcome", commandId: "op_1", end: { status: "dropped", reason: "withdrawn" } },
    ]);
    expect(again.live.agent.flight.deferred).toEqual([]);
    expect(find(again, "append").consumes).toMatchObject([{ id: "s1" }]);
  });

  test("takes what was amended as it is now", () => {
    const request = running();
    const amended = { ...replace, operation: { ...replace.operation, resultContext: { id: "other", entries: [] } } };
    const again = reread(both(request), request, [
      row("s1", "In verse.", 2),
      { ...operationRow(amended), revision: 3 },
    ]);
    expect(again.live.inbox).toEqual(
      new Map([
        ["s1", 2],
        ["op_1", 3],
      ]),
    );
    expect(again.live.agent.flight.steers).toMatchObject([{ id: "s1", content: "In verse." }]);
    expect(again.live.agent.flight.deferred).toMatchObject([{ id: "op_1", signal: { operation: amended } }]);
    expect(all(again, "next")).toEqual([]);
  });

  test("does not take an amendment of another type", () => {
    const request = running();
    const again = reread(both(request), request, [
      { ...row("s1", "In verse.", 2), type: "context_op" },
      { ...operationRow(), type: "steer", revision: 3 },
    ]);
    expect(again.live.agent.flight.steers).toMatchObject([{ id: "s1", content: "Be brief." }]);
    expect(again.live.agent.flight.deferred).toMatchObject([{ id: "op_1", signal: operation }]);
  });

  test("decides the rows that are new", () => {
    const request = running();
    const again = reread(both(request), request, [row("s1", "Be brief."), operationRow(), row("s2", "More.")]);
    expect(all(again, "next")).toMatchObject([{ signal: { type: "agent", signal: { id: "s2", content: "More." } } }]);
  });

  test("that cannot be read breaks the request", () => {
    const request = running();
    const ending = decided(both(request), answer(request));
    const error = new CommandError({
      code: "command_settled",
      threadId: "thread_t",
      commandId: "x",
      message: "Settled.",
    });
    const reading = decided(ending, failed(ending, error));
    expect(decided(reading, failed(reading, OUT_OF_SPACE)).live.broken).toMatchObject({ error: OUT_OF_SPACE });
  });
});

describe("a row that any process has posted", () => {
  /** The words of a row, as the agent delivers them. */
  function delivered(body: object): object | undefined {
    const { agent } = running().live;
    const live = newLive({ ...agent, flight: idle().agent.flight }, { ...idle() });
    const rows = [{ ...row("s1", ""), body: body as never }]; // JSON
    const opened: LiveSignal = { type: "opened", reply: "r", rows, first: undefined, given: undefined };
    return decided(live, opened).live.agent.flight.steers[0];
  }

  test.each([
    ["inject", "inject"],
    ["follow_up", "follow_up"],
    ["steer", "steer"],
    ["repair", "steer"],
    [undefined, "steer"],
  ])("of the kind %s is %s", (kind, taken) => {
    const steer = delivered({ steer: kind, content: "Hi." });
    expect(steer).toEqual({ id: "s1", steer: taken, content: "Hi.", requestId: "req_1" });
  });

  test("keeps its request, source, refs and parts", () => {
    const content = [{ type: "text", text: "Hi." }];
    const body = { steer: "inject", content, requestId: "req_1", source: "studio", refs: { tenant: "t1" } };
    expect(delivered(body)).toEqual({ id: "s1", ...body });
  });

  test("without content is not delivered; fields of other types are left out", () => {
    expect(delivered({ steer: "inject", content: 5 })).toBeUndefined();
    expect(delivered({ content: "Hi.", source: 5, requestId: 7 })).toEqual({
      id: "s1",
      steer: "steer",
      content: "Hi.",
      requestId: "req_1",
    });
  });

  test("that is an operation takes its id from the row", () => {
    const opened = written(idle(), {
      type: "opened",
      reply: "r",
      rows: [{ ...operationRow({ ...replace, opId: "other" }), id: "op_7" }],
      first: undefined,
      given: undefined,
    });
    expect(entriesOf(opened)).toMatchObject([{ id: "op_7/0", payload: { ...replace, opId: "op_7" } }]);
  });

  test.each([null, 5, [replace]])("without an operation is refused: %o", (body) => {
    const rows = [operationRow(body as never)];
    const opened = decided(idle(), { type: "opened", reply: "r", rows, first: undefined, given: undefined });
    expect(find(opened, "append").consumes).toMatchObject([
      { outcome: { status: "refused", code: "context_op_invalid" } },
    ]);
  });
});
