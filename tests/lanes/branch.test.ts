import { branch, type EntryInput, memoryStore, project, Thread } from "heddle";
import { assistant, inLane, switchTo, toolCall, toolResult, user } from "heddle/testing";
import { expect, test } from "vitest";

const say = (id: string): EntryInput => user(id, { id });
const operate = (payload: object): EntryInput => ({ kind: "ai_context_operation", payload }) as EntryInput;
const shown = (thread: Thread) => project({ thread }).messages.map(({ content }) => content);

/** Two messages on the default lane, then a branch from the first one. */
const start = Thread.create().append([say("a"), say("b")]);
const second = start.append([operate(branch(start, { at: "a", lane: "second" })), say("c"), say("d")]);

test("a branch at an entry has that entry, on its lane", () => {
  expect(shown(second)).toEqual(["a", "c", "d"]);
  const third = second.append(operate(branch(second, { at: "c", lane: "third" })));
  expect(shown(third)).toEqual(["a", "c"]);
  const fourth = third.append(operate(branch(third, { at: "b", lane: "fourth" })));
  expect(shown(fourth)).toEqual(["a", "b"]);
});

test("a branch before an entry lacks it, also before the first one of a branch or of the thread", () => {
  const before = (id: string) => {
    const operation = branch(second, { before: id, lane: "new" });
    const { from, atSeq } = operation.operation;
    return [from, atSeq, shown(second.append([operate(operation), user("on")]))];
  };
  expect(before("b")).toEqual(["default", 0, ["a", "on"]]);
  expect(before("d")).toEqual(["second", 3, ["a", "c", "on"]]);
  expect(before(second.at(2)?.id ?? "")).toEqual(["default", 0, ["a", "on"]]);
  expect(before("a")).toEqual(["default", -1, ["on"]]);
  const thread = second.append([inLane("other", say("x")), switchTo("other"), say("y")]);
  const empty = branch(thread, { before: "x", lane: "new" });
  expect(empty.operation).toMatchObject({ from: "other", atSeq: -1 });
  expect(shown(thread.append([operate(empty), user("on")]))).toEqual(["on"]);
});

test("a branch of a tail is that of the whole thread", async () => {
  const store = memoryStore();
  await store.append(
    "t",
    second.toArray().map(({ seq: _seq, ...entry }) => entry),
  );
  const tail = async (last: number) =>
    (await store.load("t", { last, lanes: ["new"] })) ?? expect.fail("it was stored");
  for (const point of [{ at: "d" }, { before: "d" }, { at: "c" }, { before: "c" }])
    expect(branch(await tail(2), { ...point, lane: "new" })).toEqual(branch(second, { ...point, lane: "new" }));
  const missing = { code: "context_op_entry_unknown", message: expect.stringContaining("from seq 3 on") };
  expect(() => branch(Thread.fromJSON(JSON.parse(JSON.stringify(second))), { at: "e", lane: "n" })).toThrow("no entry");
  await expect(tail(2).then((thread) => branch(thread, { at: "a", lane: "new" }))).rejects.toMatchObject(missing);
});

test("a branch that cannot be made is refused", () => {
  const exchange = start.append([toolCall("c1", "look", {}), toolResult("c1", "look", "ok"), assistant("done")]);
  const refused = (make: () => unknown): unknown => {
    try {
      return make();
    } catch (error) {
      return (error as { readonly code?: string }).code;
    }
  };
  expect(refused(() => branch(start, { at: "none", lane: "new" }))).toBe("context_op_entry_unknown");
  expect(refused(() => branch(start, { lane: "new" }))).toBe("context_op_invalid");
  expect(refused(() => branch(start, { at: "a", before: "b", lane: "new" }))).toBe("context_op_invalid");
  expect(refused(() => branch(start, { att: "a", lane: "new" } as never))).toBe("invalid_options");
  expect(refused(() => branch(start, { at: "a" } as never))).toBe("context_op_invalid");
  expect(refused(() => branch(second, { at: "a", lane: "second" }))).toBe("context_op_lane_exists");
  expect(refused(() => branch(exchange, { at: exchange.at(2)?.id, lane: "new" }))).toBe("context_op_splits_exchange");
});
