import { type EntryInput, explain, foldLane, memoryStore, project, type Thread } from "heddle";
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

  test("sees a lane as it was, and not what it said later", () => {
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
