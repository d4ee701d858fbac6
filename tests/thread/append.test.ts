import { type EntryInput, Thread } from "heddle";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { assistant, countingPorts, errorOf, note, notes, textsOf, user } from "./builders.ts";

describe("append", () => {
  test("gives a new thread and leaves the old one as it was", () => {
    const empty = Thread.create();
    const asked = empty.append(user("What's 2+2?"));
    const answered = asked.append(assistant("4"));
    expect([empty.rev, asked.rev, answered.rev]).toEqual([0, 1, 2]);
    expect(asked.last()?.payload).toEqual({ role: "user", content: "What's 2+2?" });
    expect(asked.at(1)).toBeUndefined();
  });

  test("numbers entries by their place, whatever seq the caller gave", () => {
    const input = { ...note("a"), seq: 99 };
    const thread = notes(2).append([input, { ...note("b"), seq: 0 }]);
    expect(thread.toArray().map(({ seq }) => seq)).toEqual([0, 1, 2, 3]);
    expect(textsOf(thread)).toEqual(["0", "1", "a", "b"]);
  });

  test("to a version that is not the newest does not copy the thread", () => {
    const long = notes(10_000);
    long.append(note("newest"));
    const indexed = vi.spyOn(Map.prototype, "set");
    onTestFinished(() => indexed.mockRestore());
    const branches = [long.append(note("a")), long.append(note("b")), long.upTo(5_000).append(note("c"))];
    expect(indexed.mock.calls.length).toBeLessThan(100);
    expect(branches.map((branch) => textsOf(branch).slice(-2))).toEqual([
      ["9999", "a"],
      ["9999", "b"],
      ["5000", "c"],
    ]);
  });

  test("to older versions again and again keeps the cost of a query", () => {
    let thread = notes(1_000);
    for (let round = 0; round < 2_000; round++) {
      thread.append(note("discarded"));
      const count = round % 50 === 0 ? 101 : 1; // above 64 entries a branch refers to its parent
      thread = thread.append(Array.from({ length: count }, (_, n) => note(`${round} ${n}`)));
    }
    const searched = vi.spyOn(Map.prototype, "get");
    onTestFinished(() => searched.mockRestore());
    expect(thread.append({ ...note("0"), id: "entry_missing" }).rev).toBe(thread.rev + 1);
    expect(searched.mock.calls.length).toBeLessThan(40);
    expect(thread.rev).toBe(1_000 + 2_000 + 40 * 100);
  });

  test("grows rev by the number of entries, always one past lastSeq", () => {
    let thread = Thread.create();
    for (const count of [1, 3, 0, 2]) {
      const before = thread.rev;
      thread = thread.append(Array.from({ length: count }, () => ({})));
      expect(thread.rev).toBe(before + count);
      expect(thread).toMatchObject({
        lastSeq: thread.rev - 1,
        entryCount: thread.rev,
        stats: { entryCount: thread.rev },
      });
    }
  });

  test("refuses a field that is none of an entry's, and says where its content belongs", () => {
    const misplaced: object = { kind: "message", content: "lost?" };
    expect(errorOf(() => notes(1).append(misplaced))).toMatchObject({
      code: "invalid_entry",
      path: "entry.content",
      message: expect.stringContaining("belongs in payload"),
    });
  });

  test("of nothing gives the same value", () => {
    const thread = notes(2);
    expect(thread.append([])).toBe(thread);
  });

  test("keeps id, thread id, creation and metadata, and is updated when its last entry happened", () => {
    const before = Thread.create({ id: "t", metadata: { a: 1 }, clock: () => 5 });
    const after = before.append({ at: 9 });
    expect(after).toMatchObject({ id: "t", createdAt: 5, updatedAt: 9, metadata: { a: 1 } });
    expect(before.updatedAt).toBe(5);
  });

  test("takes times in any order: the order of a thread is seq", () => {
    const thread = Thread.create().append([{ at: 9 }, { at: 3 }, { at: -1 }]);
    expect(thread.toArray().map(({ at }) => at)).toEqual([9, 3, -1]);
    expect(thread.updatedAt).toBe(-1);
  });

  test("passes unknown kinds and versions through", () => {
    const entry = {
      id: "e",
      at: 1,
      v: 7,
      kind: "acme.invoice/2",
      payload: { z: [1, { y: null }], a: "" },
      refs: { x: 1 },
    };
    const [kept] = Thread.create().append(entry).toArray();
    expect(JSON.stringify(kept)).toBe(
      '{"id":"e","seq":0,"at":1,"v":7,"kind":"acme.invoice/2","payload":{"z":[1,{"y":null}],"a":""},"refs":{"x":1}}',
    );
  });
});

describe("what was appended", () => {
  test("does not change when the caller changes what it passed in", () => {
    const payload = { items: [{ n: 1 }], text: "before" };
    const refs = { requestId: "r1" };
    const inputs: EntryInput[] = [{ payload, refs }];
    const thread = Thread.create().append(inputs);
    payload.text = "after";
    payload.items.push({ n: 2 });
    Object.assign(payload.items[0] ?? {}, { n: 9 });
    refs.requestId = "r2";
    inputs.push({});
    expect(thread.last()).toMatchObject({ payload: { items: [{ n: 1 }], text: "before" }, refs: { requestId: "r1" } });
    expect(thread.last()?.payload["items"]).toHaveLength(1);
    expect(thread.rev).toBe(1);
  });

  test("is frozen all the way down", () => {
    const thread = Thread.create().append({ payload: { a: { b: [{ c: 1 }] } }, refs: { requestId: "r" } });
    const open = (value: unknown): unknown[] => {
      if (typeof value !== "object" || value === null) return [];
      return [...(Object.isFrozen(value) ? [] : [value]), ...Object.values(value).flatMap(open)];
    };
    expect(thread.toArray().concat(Thread.create().append({}).toArray()).flatMap(open)).toEqual([]);
    expect(() => Object.assign(thread.last() ?? {}, { kind: "other" })).toThrow(TypeError);
  });

  test("does not change when a caller changes the lists it was given", () => {
    const thread = notes(3);
    const lists = () => [thread.toArray(), thread.slice(0, 2), thread.filterByKind("note"), thread.toJSON().entries];
    const before = JSON.stringify(lists());
    for (const list of lists()) (list as unknown[]).length = 0;
    expect(JSON.stringify(lists())).toBe(before);
  });
});

test("fifty thousand appends, one by one, copy nothing: with a copy each they would not end in time", () => {
  const texts = Array.from({ length: 50_000 }, (_, n) => String(n));
  const thread = texts.reduce((thread, text) => thread.append(note(text)), Thread.create());
  expect(textsOf(thread)).toEqual(texts);
});

describe("a batch", () => {
  test("with one bad entry is not appended at all", () => {
    const thread = notes(1);
    const batch = [note("good"), { payload: { bad: Number.NaN } }, note("good too")];
    expect(errorOf(() => thread.append(batch))).toMatchObject({ code: "not_json", path: "entries[1].payload.bad" });
    expect(
      thread
        .append(note("next"))
        .toArray()
        .map(({ seq }) => seq),
    ).toEqual([0, 1]);
    expect(textsOf(thread)).toEqual(["0"]);
  });

  test("with a hole in it is not appended at all", () => {
    const batch = [note("a"), note("b")];
    delete batch[0];
    expect(errorOf(() => Thread.create().append(batch))).toMatchObject({ code: "invalid_entry", path: "entries[0]" });
  });

  test("of a hundred thousand is one append", () => {
    const thread = Thread.create().append(Array.from({ length: 100_000 }, (_, n) => note(String(n))));
    expect(thread.rev).toBe(100_000);
    expect(thread.at(99_999)?.payload).toEqual({ text: "99999" });
  });

  test("sees the thread that its own getters append to", () => {
    const thread = notes(1);
    const sly = {
      get payload() {
        thread.append(note("meanwhile"));
        return { text: "late" };
      },
    };
    expect(textsOf(thread.append(sly))).toEqual(["0", "late"]);
  });
});

describe("an id that is already there", () => {
  const thread = Thread.create(countingPorts()).append({
    id: "e1",
    at: 5,
    kind: "note",
    payload: { a: 1, b: [2] },
    refs: { x: 1 },
  });

  test("with the same content is not appended again", () => {
    expect(thread.append({ id: "e1", payload: { b: [2], a: 1 }, refs: { x: 1 } })).toBe(thread);
    expect(thread.append({ id: "e1", at: 5, v: 1, payload: { a: 1, b: [2] }, refs: { x: 1 } })).toBe(thread);
    expect(thread.append(thread.toArray())).toBe(thread);
  });

  test("in a batch with new ones adds only the new ones, in order", () => {
    const after = thread.append([{ id: "e2" }, ...thread.toArray(), { id: "e3" }, { id: "e2" }]);
    expect(after.toArray().map(({ id }) => id)).toEqual(["e1", "e2", "e3"]);
  });

  test.each<[string, EntryInput]>([
    ["payload", { payload: { a: 1, b: [3] }, refs: { x: 1 } }],
    ["order in a list", { payload: { a: 1, b: [] }, refs: { x: 1 } }],
    ["a key more", { payload: { a: 1, b: [2], c: null }, refs: { x: 1 } }],
    ["refs", { payload: { a: 1, b: [2] }, refs: { x: "1" } }],
    ["kind", { kind: "message", payload: { a: 1, b: [2] }, refs: { x: 1 } }],
    ["version", { v: 2, payload: { a: 1, b: [2] }, refs: { x: 1 } }],
    ["time, when given", { at: 6, payload: { a: 1, b: [2] }, refs: { x: 1 } }],
  ])("with other content is an error: %s", (_, other) => {
    const error = errorOf(() => thread.append([{ id: "e9" }, { ...other, id: "e1" }]));
    expect(error).toMatchObject({ name: "ThreadError", code: "entry_id_reused", entryId: "e1", retryable: false });
    expect(error.message).toContain("e1 at seq 0");
    expect(thread.rev).toBe(1);
  });

  test("twice in one batch with other content is an error", () => {
    const batch = [
      { id: "x", payload: { n: 1 } },
      { id: "x", payload: { n: 2 } },
    ];
    expect(errorOf(() => thread.append(batch))).toMatchObject({ code: "entry_id_reused", entryId: "x" });
  });

  test("may be used again on a branch that does not have it", () => {
    const long = notes(100);
    long.append({ id: "e2", payload: { side: "newest" } });
    expect(long.append({ id: "e2" }).append({ id: "e3" }).rev).toBe(102);
    expect(long.append({ id: "e3" }).append({ id: "e2" }).rev).toBe(102);
    const left = thread.append({ id: "e2", payload: { side: "left" } });
    const right = thread.append({ id: "e2", payload: { side: "right" } });
    expect([left, right].map((side) => side.at(1)?.payload["side"])).toEqual(["left", "right"]);
    expect(
      left
        .upTo(0)
        .append({ id: "e2", payload: { side: "third" } })
        .last()?.payload["side"],
    ).toBe("third");
  });
});
