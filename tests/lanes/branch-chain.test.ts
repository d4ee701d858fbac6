import { type EntryInput, explain, type JsonObject, memoryStore, project, projectFromStore, type Thread } from "heddle";
import { foldLane, type ProjectorName } from "heddle/core";
import { assistant, inLane, summary, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { context, given } from "../projection/given.ts";

const branch = (from: string, atSeq: number, lane: string): EntryInput => ({
  kind: "ai_context_operation",
  payload: { opId: "op", contextRef: lane, operation: { type: "switch", reason: "manual", from, atSeq } },
});

/** lane_0 says something, and each lane after it leaves the one before it and says something more. */
function chain(length: number, saying: (n: number) => EntryInput = (n) => user(`said ${n}`)): Thread {
  const lanes = Array.from({ length: length + 1 }, (_, n) => {
    const said = inLane(`lane_${n}`, saying(n));
    return n === 0 ? [said] : [branch(`lane_${n - 1}`, 2 * (n - 1), `lane_${n}`), said];
  });
  return given(...lanes.flat());
}

describe("a branch of a branch", () => {
  test("of very many branches holds what all of them held", () => {
    const thread = chain(5000);
    const { items, measure, complete } = foldLane(thread, "lane_5000");
    expect(items.map(({ entry }) => entry.seq)).toEqual(Array.from({ length: thread.rev }, (_, seq) => seq));
    expect(complete).toBe(true);
    expect(items.at(-2)?.position).toBe(0);
    expect(measure).toBeGreaterThan(0);
    const input = { thread, policy: { maxInputTokens: 1e9 } };
    expect(project(input).messages).toHaveLength(5001);
    expect(explain(input).filter(({ status }) => status === "shown")).toHaveLength(5001);
  });

  test("counts positions from where it begins, however many are before it", () => {
    const thread = chain(3);
    const own = foldLane(thread, "lane_3").items.map(({ position }) => position);
    const weights = thread.toArray().map(({ payload }) => Math.floor(JSON.stringify(payload).length / 4));
    const before = weights.slice(0, 5).reduce((sum, weight) => sum + weight, 0);
    let position = -before;
    expect(own).toEqual(
      weights.map((weight) => {
        position += weight;
        return position - weight;
      }),
    );
    expect(foldLane(thread, "lane_3").measure).toBe((weights[5] ?? 0) + (weights[6] ?? 0));
  });

  test("keeps a replace and the reach of a summary of the lane it leaves, and ends neither with its own", () => {
    const thread = given(
      inLane("a", user("one")),
      context([{ role: "user", content: "so far" }], { lane: "a", baseSeq: 0 }, { systemPrompt: "Be quick." }),
      branch("a", 1, "b"),
      summary(0, 1),
      branch("b", 3, "c"),
      user("two"),
    );
    const { items, systemPrompt, anchor } = foldLane(thread, "c");
    expect(items.map(({ entry, snapshot, reach }) => [entry.seq, snapshot?.index, reach])).toEqual([
      [1, 0, undefined],
      [1, undefined, undefined],
      [2, undefined, undefined],
      [3, undefined, 1],
      [4, undefined, undefined],
      [5, undefined, undefined],
    ]);
    expect(systemPrompt).toBe("Be quick.");
    expect(anchor).toBeUndefined();
  });

  test("returns a lane as it was, without later entries", () => {
    const thread = given(
      inLane("a", user("one")),
      branch("a", 0, "b"),
      assistant("two"),
      branch("b", 1, "c"),
      inLane("a", user("late")),
      inLane("b", user("late")),
      inLane("c", user("three")),
    );
    expect(foldLane(thread, "c").items.map(({ entry }) => entry.seq)).toEqual([0, 1, 3, 6]);
  });

  test("of a loaded tail is not complete when its origin lies before what is loaded", async () => {
    const store = memoryStore();
    await store.append("t", [
      inLane("a", user("one")),
      user("two"),
      branch("a", 0, "b"),
      branch("b", 2, "c"),
      user("hi"),
    ]);
    const tail = await store.load("t", { last: 3 });
    if (tail === undefined) throw new Error("It was not stored.");
    const { items, complete } = foldLane(tail, "c");
    expect(items.map(({ entry }) => entry.seq)).toEqual([2, 3, 4]);
    expect(complete).toBe(false);
  });
});

describe("a branch of a lane, at a position which that lane inherited", () => {
  const talk = [user("one"), assistant("two"), user("three"), branch("default", 1, "b"), user("four")];
  const shown = (thread: Thread, rules?: ProjectorName) =>
    project({ thread, ...(rules && { rules }) }).messages.map(({ content }) => content);

  test("begins with what the origin held there, and was empty under heddle/1", () => {
    const thread = given(...talk, branch("b", 0, "c"), user("five"));
    expect(shown(thread)).toEqual(["one", "five"]);
    expect(shown(thread, "heddle/1")).toEqual(["five"]);
  });

  test("holds no more of the origin than the lane inherited", () => {
    expect(shown(given(...talk, branch("b", 2, "c"), user("five")))).toEqual(["one", "two", "five"]);
  });

  test("follows branches of branches to the lane that held it", () => {
    const thread = given(
      ...talk,
      branch("b", 4, "c"),
      user("five"),
      branch("c", 0, "d"),
      branch("d", 0, "e"),
      user("six"),
    );
    expect(shown(thread)).toEqual(["one", "six"]);
    expect(foldLane(thread, "e").items.map(({ entry }) => entry.seq)).toEqual([0, 8, 9]);
  });

  test("is empty where the lane was, without an origin to follow", () => {
    expect(shown(given(...talk, branch("default", -1, "c"), user("five")))).toEqual(["five"]);
    expect(shown(given(user("one"), inLane("side", user("own")), branch("side", 0, "c"), user("five")))).toEqual([
      "five",
    ]);
  });

  test("is shown out of a store as it is in full", async () => {
    const store = memoryStore();
    const long = Array.from({ length: 80 }, (_, n) => user(`more ${n}`));
    await store.append("t", [...talk, ...long, branch("b", 0, "c"), user("five")]);
    const { messages } = await projectFromStore(store, "t");
    expect(messages.map(({ content }) => content)).toEqual(["one", "five"]);
    await store.close();
  });
});

describe("an appended operation that is malformed", () => {
  const operation = (fields: JsonObject, contextRef = "side"): EntryInput => ({
    kind: "ai_context_operation",
    payload: { opId: "op", contextRef, operation: { reason: "manual", ...fields } },
  });
  const resultContext = { id: "c", entries: [{ role: "user", content: "instead" }] };
  const before = [user("one"), inLane("other", user("elsewhere"))];

  test.each<[name: string, malformed: EntryInput, underHeddle1: string[]]>([
    ["a branch of an unknown lane", operation({ type: "switch", from: "nowhere", atSeq: 0 }), ["two"]],
    [
      "a branch into a lane that is there",
      operation({ type: "switch", from: "default", atSeq: 0 }, "other"),
      ["elsewhere", "two"],
    ],
    ["a branch beyond the end", operation({ type: "switch", from: "default", atSeq: 9 }), ["one", "two"]],
    ["a branch without a position", operation({ type: "switch", from: "default" }), ["two"]],
    ["a switch with a misspelt reason", operation({ type: "switch", reason: "manuel" }), ["two"]],
    [
      "a replace with a misspelt reason",
      operation({ type: "replace", reason: "compact", resultContext }, "default"),
      ["instead", "two"],
    ],
    [
      "a replace with a base beyond the end",
      operation({ type: "replace", baseSeq: 3, resultContext }, "default"),
      ["instead", "two"],
    ],
    [
      "a replace with a base before the beginning",
      operation({ type: "replace", baseSeq: -2, resultContext }, "default"),
      ["instead", "one", "two"],
    ],
  ])("%s changes nothing; heddle/1 shows what it did", async (_, malformed, underHeddle1) => {
    const thread = given(...before, malformed, user("two"));
    const shown = (rules: ProjectorName) => project({ thread, rules }).messages.map(({ content }) => content);
    expect(shown("heddle/1.1")).toEqual(["one", "two"]);
    expect(shown("heddle/1")).toEqual(underHeddle1);
    expect(explain({ thread })[2]).toMatchObject({ status: expect.stringMatching(/not_projectable|other_lane/) });
    const store = memoryStore();
    await store.append("t", [
      ...before,
      malformed,
      ...Array.from({ length: 80 }, (_, n) => user(`more ${n}`)),
      user("two"),
    ]);
    const tail = await store.load("t", { last: 30 });
    expect(tail?.base?.malformed).toBe(true);
    const [stored, full] = await Promise.all([projectFromStore(store, "t"), store.load("t")]);
    if (full === undefined) throw new Error("It was not stored.");
    expect(stored.messages).toEqual(project({ thread: full }).messages);
    expect(stored.messages[0]?.content).toBe("one");
    expect(await store.verify("t")).toMatchObject({ ok: true });
    await store.close();
  });
});
