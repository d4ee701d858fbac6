import { memoryStore, Thread } from "heddle";
import { type Context, foldLane } from "heddle/core";
import { assistant, inLane, note, summary, switchTo, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { context, given } from "../projection/given.ts";

/** "3" for an entry, "2.0" for a message of a replaced context. */
const places = ({ items }: Context): string[] =>
  items.map(({ entry, snapshot }) => (snapshot === undefined ? `${entry.seq}` : `${entry.seq}.${snapshot.index}`));
const weigh = (payload: unknown): number => Math.floor(new TextEncoder().encode(JSON.stringify(payload)).length / 4);
const snapshot = [
  { role: "user", content: "so far" },
  { role: "assistant", content: "hm" },
];
const branch = (from: string, atSeq: number, lane = "side") => ({
  kind: "ai_context_operation",
  payload: { opId: "op", contextRef: lane, operation: { type: "switch", reason: "manual", from, atSeq } },
});

describe("a lane", () => {
  test("holds its own entries in order, whatever they are", () => {
    const thread = given(
      user("one"),
      inLane("side", user("two")),
      note(),
      switchTo("side"),
      user("three"),
      inLane("default", assistant("four")),
    );
    expect(places(foldLane(thread, "default"))).toEqual(["0", "2", "5"]);
    expect(places(foldLane(thread, "side"))).toEqual(["1", "3", "4"]);
    expect(places(foldLane(thread, "fresh"))).toEqual([]);
  });

  test("measures each of its entries, shown or not", () => {
    const entries = [user("one"), inLane("side", user("two")), note({ text: "ünïcödé" }), assistant("three")];
    const { items, measure } = foldLane(given(...entries), "default");
    const own = [entries[0], entries[2], entries[3]].map((entry) => weigh(entry?.payload));
    expect(items.map(({ position }) => position)).toEqual([0, own[0], (own[0] ?? 0) + (own[1] ?? 0)]);
    expect(measure).toBe(own.reduce((sum, weight) => sum + weight, 0));
  });

  test("begins with the latest replace, and keeps what came after its base", () => {
    const thread = given(
      user("one"),
      assistant("two"),
      context(snapshot, { baseSeq: 0 }, { systemPrompt: "Be quick." }),
      user("three"),
    );
    const folded = foldLane(thread, "default");
    expect(places(folded)).toEqual(["2.0", "2.1", "1", "2", "3"]);
    expect(folded).toMatchObject({
      anchor: { seq: 2 },
      systemPrompt: "Be quick.",
      complete: true,
      lane: "default",
      atSeq: 3,
    });
    expect(folded.items.slice(0, 2).map(({ open }) => open)).toEqual([0, 0]);
    const own = folded.items.find(({ snapshot }) => snapshot === undefined);
    const weights = snapshot.map(weigh);
    expect(folded.items[0]?.position).toBe((own?.position ?? 0) - (weights[0] ?? 0) - (weights[1] ?? 0));
  });

  test("may be brought back to before an earlier replace", () => {
    const thread = given(user("one"), user("two"), context([]), user("three"), context(snapshot, { baseSeq: 0 }));
    expect(places(foldLane(thread, "default"))).toEqual(["4.0", "4.1", "1", "2", "3", "4"]);
  });

  test("is not replaced by an operation that says nothing sensible", () => {
    for (const baseSeq of [1.5, "0", null]) {
      const operation = { type: "replace", reason: "manual", baseSeq, resultContext: { id: "c", entries: [] } };
      const thread = given(user("one"), {
        kind: "ai_context_operation",
        payload: { opId: "op", contextRef: "default", operation },
      });
      expect(places(foldLane(thread, "default"))).toEqual(["0", "1"]);
    }
    const beyond = given(user("one"), context([], { baseSeq: 99 }), user("two"));
    expect(places(foldLane(beyond, "default"))).toEqual(["0", "1", "2"]);
  });

  test("may branch off another, as that was at a seq, and goes its own way", () => {
    const thread = given(
      user("one"),
      context(snapshot, { baseSeq: 0 }),
      user("two"),
      branch("default", 2),
      user("three"),
      inLane("default", user("four")),
    );
    expect(places(foldLane(thread, "side"))).toEqual(["1.0", "1.1", "1", "2", "3", "4"]);
    expect(places(foldLane(thread, "default"))).toEqual(["1.0", "1.1", "1", "2", "5"]);
    const last = foldLane(thread, "side").items.find(({ entry }) => entry.seq === 3);
    expect(last?.position).toBe(0);
  });

  test("that has entries already never becomes a branch, a fresh one does, whatever its name", () => {
    expect(places(foldLane(given(user("one"), inLane("side", user("own")), branch("default", 0)), "side"))).toEqual([
      "1",
      "2",
    ]);
    const thread = given(inLane("side", user("one")), branch("side", 0, "default"));
    expect(places(foldLane(thread, "default"))).toEqual(["0", "1"]);
  });
});

test("folding at a seq is folding the thread as it was then", () => {
  const thread = given(
    user("one"),
    switchTo("side"),
    user("two"),
    context(snapshot, { lane: "side" }),
    summary(0, 2),
    user("three"),
  );
  for (let atSeq = -1; atSeq <= thread.lastSeq; atSeq++) {
    for (const lane of ["default", "side"]) {
      expect(foldLane(thread, lane, { atSeq })).toEqual(foldLane(thread.upTo(atSeq), lane));
    }
  }
});

test("a seq that is not there is an error", () => {
  expect(() => foldLane(given(user("one")), "default", { atSeq: 1 })).toThrow(/between -1 and 0/);
});

test("an empty thread has empty lanes", () => {
  expect(foldLane(Thread.create(), "default")).toEqual({
    lane: "default",
    atSeq: -1,
    entries: [],
    items: [],
    measure: 0,
    complete: true,
  });
});

test("a loaded tail knows the lane's measure, its latest replace, and that something is missing", async () => {
  const store = memoryStore();
  await store.append("t", [user("one"), user("two"), context(snapshot), user("three"), user("four")]);
  const [whole, tail] = [await store.load("t"), await store.load("t", { last: 2 })];
  if (whole === undefined || tail === undefined) throw new Error("It was not stored.");
  const [all, part] = [foldLane(whole, "default"), foldLane(tail, "default")];
  expect(part.measure).toBe(all.measure);
  expect(part.items.slice(-2)).toEqual(all.items.slice(-2));
  expect(part.anchor).toEqual(all.anchor);
  expect(all.complete).toBe(true);
});
