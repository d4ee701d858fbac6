import fc from "fast-check";
import { type EntryInput, openCalls, project, Thread } from "heddle";
import { describe, expect, test } from "vitest";
import { ai, given } from "./given.ts";

const user = (content: string): EntryInput => ({ kind: "message", payload: { role: "user", content } });
const call = (id: string, callId?: string): EntryInput => ({
  kind: "tool_call",
  payload: { id, name: "add", arguments: {} },
  ...(callId !== undefined && { refs: { callId } }),
});
const result = (toolCallId: string, callId?: string): EntryInput => ({
  kind: "tool_result",
  payload: { toolCallId, name: "add", result: 1 },
  ...(callId !== undefined && { refs: { callId } }),
});
const answer = (...ids: string[]): EntryInput =>
  ai("assistant", "", { toolCalls: ids.map((id) => ({ id, name: "add", arguments: {} })) });
const ids = (...entries: EntryInput[]) => openCalls(given(...entries)).map(({ id }) => id);

describe("the open calls of a thread", () => {
  test.each([
    ["none of an empty thread", [], []],
    ["those of one answer, in either vocabulary", [user("a"), answer("c1", "c2")], ["c1", "c2"]],
    ["parallel calls that are an entry each", [user("a"), call("c1"), call("c2")], ["c1", "c2"]],
    ["what has a result is not open", [user("a"), answer("c1", "c2"), result("c1")], ["c2"]],
    ["results in any order", [user("a"), answer("c1", "c2"), result("c2"), result("c1")], []],
    ["calls of one model call, run one after the other", [call("c1", "m"), call("c2", "m"), result("c2", "m")], ["c1"]],
    ["calls before a later answer are not open", [call("c1", "m1"), call("c2", "m2")], ["c2"]],
    ["nor those before another step", [answer("c1", "c2"), result("c1"), answer("c3")], ["c3"]],
    ["nor those before a user's message", [user("a"), answer("c1"), user("b")], []],
    ["a note changes nothing", [user("a"), answer("c1"), { kind: "note" }], ["c1"]],
  ])("%s", (_, entries: EntryInput[], open: string[]) => {
    expect(ids(...entries)).toEqual(open);
  });

  test("are those of a lane, by default of the active one, with the entry and the model call of each", () => {
    const other = ai(
      "assistant",
      "",
      { toolCalls: [{ id: "c9", name: "add", arguments: {} }] },
      { contextRef: "side" },
    );
    const thread = given(user("a"), call("c1", "m1"), other);
    expect(openCalls(thread)).toEqual([{ id: "c1", name: "add", arguments: {}, seq: 1, callId: "m1" }]);
    expect(openCalls(thread, { lane: "side" }).map(({ id }) => id)).toEqual(["c9"]);
  });

  test("their results are shown, however the steps before them went", () => {
    const step = fc.record({
      calls: fc.integer({ min: 1, max: 3 }),
      done: fc.integer({ min: 0, max: 3 }),
      isOne: fc.boolean(),
      speaks: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 4 }), (steps) => {
        const entries = steps.flatMap(({ calls, done, isOne, speaks }, at) => {
          const named = Array.from({ length: calls }, (_, index) => `c${at}_${index}`);
          const said = isOne ? [answer(...named)] : named.map((id) => call(id, `m${at}`));
          return [
            ...(speaks ? [user("more")] : []),
            ...said,
            ...named.slice(0, done).map((id) => result(id, `m${at}`)),
          ];
        });
        const thread = Thread.create().append([user("a"), ...entries]);
        const open = openCalls(thread);
        const after = thread.append(open.map(({ id, callId }) => result(id, callId)));
        const { messages, meta } = project({ thread: after, policy: { maxInputTokens: 100_000 } });
        expect(openCalls(after)).toEqual([]);
        expect(meta.repaired.calls.filter((seq) => open.some((one) => one.seq === seq))).toEqual([]);
        const results = messages.flatMap((message) => (message.role === "tool" ? [message.content] : []));
        expect(results.slice(results.length - open.length)).toEqual(open.map(() => "1"));
      }),
    );
  });

  test("are of a Thread, and options have names", () => {
    expect(() => openCalls({} as Thread)).toThrow(expect.objectContaining({ code: "invalid_input" }));
    expect(() => openCalls(Thread.create(), { lanes: "a" } as object)).toThrow(/lanes/);
  });
});
