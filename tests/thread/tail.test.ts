import { project, Thread } from "heddle";
import { foldLane } from "heddle/core";
import { describe, expect, test } from "vitest";
import { assistant, errorOf, note, notes, tailOf, textsOf } from "./builders.ts";

const whole = notes(10).append(assistant("yes", { callId: "k" }));
const tail = tailOf(whole, 4);

describe("a thread of which only the tail is loaded", () => {
  test("knows its true length and where the tail begins", () => {
    expect(tail).toMatchObject({ rev: 11, entryCount: 11, lastSeq: 10, firstSeq: 7, stats: { entryCount: 11 } });
    expect(tail.base).toEqual({ activeLane: "default", lanes: { default: { measure: 21 } } });
    expect(tail.updatedAt).toBe(whole.updatedAt);
  });

  test("answers for what is loaded as the whole thread would", () => {
    expect(tail.toArray({ partial: true })).toEqual(whole.slice(7, 10));
    expect(tail.at(7)).toEqual(whole.at(7));
    expect(tail.last()).toEqual(whole.last());
    expect(tail.slice(7, 8)).toEqual(whole.slice(7, 8));
    expect(tail.slice(7, 99)).toEqual(whole.slice(7, 99));
    expect([tail.slice(3, 2), tail.slice(0, -1), tail.slice(11, 12)]).toEqual([[], [], []]);
    expect(tail.filterByKind("note", { partial: true })).toEqual(whole.slice(7, 9));
    expect(tail.filterByRef("callId", "k", { partial: true })).toEqual([whole.last()]);
    expect([tail.at(11), tail.at(-1)]).toEqual([undefined, undefined]);
  });

  test("continues at its true end", () => {
    const longer = tail.append([note("a"), note("b")]);
    expect(longer.toArray({ partial: true }).map(({ seq }) => seq)).toEqual([7, 8, 9, 10, 11, 12]);
    expect(longer).toMatchObject({ rev: 13, firstSeq: 7, base: tail.base });
    expect(tail.append(tail.toArray({ partial: true }))).toBe(tail);
  });

  test("goes back and branches within the tail", () => {
    expect(textsOf(tail.upTo(7).append(note("x")))).toEqual(["7", "x"]);
    expect(tail.upTo(7)).toMatchObject({ rev: 8, firstSeq: 7, base: tail.base });
    const child = tail.fork({ atSeq: 8 });
    expect(child).toMatchObject({ rev: 9, firstSeq: 7, metadata: { parentThreadId: "thread_a", forkSeq: 8 } });
    expect(textsOf(child)).toEqual(["7", "8"]);
  });

  test("may have nothing loaded at all", () => {
    const end = tailOf(whole, 0);
    expect(end).toMatchObject({ rev: 11, firstSeq: 11, lastSeq: 10 });
    expect(errorOf(() => end.last())).toMatchObject({ code: "entry_not_loaded", seq: 10 });
    expect(end.slice(11, 20)).toEqual([]);
    expect(JSON.stringify(Thread.fromJSON(end.toJSON()))).toBe(JSON.stringify(end));
    expect(end.upTo(10)).toBe(end);
    expect(end.append(note("x")).last()).toMatchObject({ seq: 11 });
    expect(errorOf(() => end.upTo(9))).toMatchObject({ code: "entry_not_loaded", seq: 9 });
  });
});

describe("what lies before the tail", () => {
  test.each<[string, number, () => unknown]>([
    ["at", 6, () => tail.at(6)],
    ["at", 0, () => tail.at(0)],
    ["slice", 6, () => tail.slice(6, 8)],
    ["slice of all", 0, () => tail.slice(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)],
    ["upTo the entry before", 6, () => tail.upTo(6)],
    ["upTo", 3, () => tail.upTo(3)],
    ["upTo nothing", -1, () => tail.upTo(-1)],
    ["fork", 6, () => tail.fork({ atSeq: 6 })],
    ["fork of nothing", -1, () => tail.fork({ atSeq: -1 })],
    ["entriesBeforeCall", 0, () => tail.entriesBeforeCall("k")],
    ["entriesBeforeCall of a call that may be there", 0, () => tail.entriesBeforeCall("nobody")],
  ])("is not loaded, and says so: %s", (_, seq, call) => {
    const error = errorOf(call);
    expect(error).toMatchObject({ name: "ThreadError", code: "entry_not_loaded", seq });
    expect(error.message).toContain("begins at 7");
  });

  test.each<[string, () => unknown]>([
    ["toArray", () => tail.toArray()],
    ["filterByKind", () => tail.filterByKind("note")],
    ["filterByKind of a kind that is loaded nowhere", () => tail.filterByKind("summary", { partial: false })],
    ["filterByRef", () => tail.filterByRef("callId", "k")],
    ["filterByRef of a version", () => tail.upTo(8).filterByRef("callId", "k")],
  ])("makes an answer partial, which is refused unless a part is asked for: %s", (_, query) => {
    const error = errorOf(query);
    expect(error).toMatchObject({ name: "ThreadError", code: "entry_not_loaded", seq: 0 });
    expect(error.message).toContain("partial: true");
    expect(error.message).toContain("store.read(id, { kinds, refs })");
  });

  test("is missing in its list of messages, which says so unless a part is asked for", () => {
    const said = Thread.create({ id: "thread_a" }).append(Array.from({ length: 9 }, (_, n) => assistant(String(n))));
    const end = tailOf(said, 4);
    const error = errorOf(() => end.toMessages());
    expect(error).toMatchObject({ code: "entry_not_loaded", seq: 0 });
    expect(error.message).toContain("store.load(id)");
    expect(end.toMessages({ partial: true }).map(({ content }) => content)).toEqual(["5", "6", "7", "8"]);
    expect(said.toMessages({ partial: true })).toEqual(said.toMessages());
  });

  test("is not confused with what does not exist", () => {
    expect(errorOf(() => tail.upTo(11))).toMatchObject({ code: "seq_out_of_range" });
    expect(errorOf(() => tail.upTo(-2))).toMatchObject({ code: "seq_out_of_range" });
  });
});

describe("the base of a tail", () => {
  const withBase = (base: unknown) => ({ ...tail.toJSON(), base });
  const lanes = (lane: unknown) => withBase({ activeLane: "default", lanes: { default: lane } });
  const summary = {
    id: "s",
    seq: 3,
    at: 1,
    kind: "summary",
    payload: { fromSeq: 0, toSeq: 2, content: "x" },
    refs: {},
  };

  test("comes back as it was, frozen, whatever its lanes are called", () => {
    const base = JSON.parse(
      `{"activeLane":"__proto__","lanes":{"constructor":{"measure":1},"__proto__":{"measure":2,"summary":${JSON.stringify(summary)}}}}`,
    );
    const thread = Thread.fromJSON(withBase(base));
    expect(JSON.stringify(thread.base)).toBe(JSON.stringify(base));
    expect(Object.isFrozen(thread.base?.lanes["constructor"])).toBe(true);
    expect(Object.isFrozen(thread.base)).toBe(true);
    expect(JSON.stringify(Thread.fromJSON(thread.toJSON()))).toBe(JSON.stringify(thread));
  });

  test("that has some lanes says of another one that it is not loaded", () => {
    const base = { activeLane: "default", lanes: { default: { measure: 1 } }, unwritten: ["new"] };
    const thread = Thread.fromJSON(withBase(base));
    expect(thread.base).toEqual(base);
    expect(Object.isFrozen(thread.base?.unwritten)).toBe(true);
    const branch = (from: string, contextRef: string) =>
      thread.append({
        kind: "ai_context_operation",
        payload: {
          opId: "o",
          contextRef,
          operation: { type: "switch", reason: "manual", from, atSeq: thread.lastSeq },
        },
      });
    const messages = (of: Thread) => of.toMessages({ partial: true, lane: "new" });
    expect(messages(branch("default", "new"))).toEqual(thread.toMessages({ partial: true }));
    for (const [from, to] of [
      ["default", "other"],
      ["other", "new"],
    ] as const) {
      const error = errorOf(() => messages(branch(from, to)));
      expect(error).toMatchObject({ name: "ThreadError", code: "lane_not_loaded", lane: "other" });
      expect(error.message).toContain('lanes: ["other"]');
    }
    expect(errorOf(() => foldLane(thread, "other"))).toMatchObject({ code: "lane_not_loaded", lane: "other" });
    expect(errorOf(() => project({ thread, lane: "other" }))).toMatchObject({ code: "lane_not_loaded", lane: "other" });
    expect(foldLane(thread, "new").entries).toEqual([]);
  });

  test.each<[string, unknown]>([
    ["names that are no list", withBase({ activeLane: "default", lanes: {}, unwritten: "a" })],
    ["names that are no texts", withBase({ activeLane: "default", lanes: {}, unwritten: [1] })],
    ["nothing", withBase(undefined)],
    ["null", withBase(null)],
    ["no active lane", withBase({ lanes: {} })],
    ["no lanes", withBase({ activeLane: "default" })],
    ["a list of lanes", withBase({ activeLane: "default", lanes: [] })],
    ["a lane of null", lanes(null)],
    ["a lane without measure", lanes({})],
    ["a negative measure", lanes({ measure: -1 })],
    ["a broken summary", lanes({ measure: 1, summary: { ...summary, at: "x" } })],
    ["a summary that is not before the tail", lanes({ measure: 1, summary: { ...summary, seq: 7 } })],
    ["a replace that is no entry", lanes({ measure: 1, replace: 5 })],
    ["a replace before all entries", lanes({ measure: 1, replace: { ...summary, seq: -1 } })],
  ])("is refused when damaged: %s", (_, data) => {
    const error = errorOf(() => Thread.fromJSON(data));
    expect(error).toMatchObject({ name: "ThreadError", code: "thread_corrupt", path: expect.stringMatching(/^base/) });
    expect(error).not.toHaveProperty("index");
  });
});
