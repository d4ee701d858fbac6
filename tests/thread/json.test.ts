import { Thread } from "heddle";
import { describe, expect, test, vi } from "vitest";
import { errorOf, note, notes, tailOf, textsOf } from "./builders.ts";

const viaText = (thread: Thread) => Thread.fromJSON(JSON.parse(JSON.stringify(thread)));

describe("toJSON", () => {
  test("is plain data with all that the thread is", () => {
    const thread = Thread.create({ id: "t", metadata: { a: 1 }, clock: () => 5 }).append({
      id: "e",
      at: 7,
      refs: { requestId: "r" },
    });
    expect(JSON.stringify(thread)).toBe(
      '{"format":"heddle.thread/1","id":"t","rev":1,"createdAt":5,"updatedAt":7,"metadata":{"a":1},' +
        '"entries":[{"id":"e","seq":0,"at":7,"kind":"note","payload":{},"refs":{"requestId":"r"}}]}',
    );
  });

  test("of a version holds nothing of what came later", () => {
    const two = notes(2);
    const before = JSON.stringify(two);
    two.append(note("later"));
    expect(JSON.stringify(two)).toBe(before);
  });
});

describe("fromJSON", () => {
  test.each([
    ["an empty thread", notes(0)],
    ["a long one", notes(50)],
    ["a version", notes(5).upTo(2)],
    ["a fork", notes(5).fork({ atSeq: 3 })],
    ["a tail", tailOf(notes(5), 2)],
    ["the very end of one", tailOf(notes(5), 0)],
    [
      "odd payloads",
      notes(0).append({ v: 3, kind: "x", payload: { "": [null, { "\u0000é😀": -1e-7 }], "2": 1, "1": 2 } }),
    ],
  ])("gives back %s, byte for byte", (_, thread) => {
    expect(JSON.stringify(viaText(thread))).toBe(JSON.stringify(thread));
    expect(JSON.stringify(Thread.fromJSON(thread.toJSON()))).toBe(JSON.stringify(thread));
  });

  test("returns a thread that can be continued", () => {
    const thread = Thread.fromJSON(notes(2).toJSON(), { clock: () => 7, ids: (prefix) => `mine_${prefix}` }).append(
      note("2"),
    );
    expect(thread.last()).toMatchObject({ seq: 2, at: 7, id: "mine_entry" });
    expect(thread.append(notes(2).toArray())).toBe(thread);
    expect(textsOf(thread)).toEqual(["0", "1", "2"]);
  });

  test("keeps nothing of the data by reference, and freezes what it keeps", () => {
    const data = JSON.parse(JSON.stringify(Thread.create({ metadata: { a: [1] } }).append({ payload: { a: [1] } })));
    const thread = Thread.fromJSON(data);
    data.entries[0].payload.a.push(2);
    data.metadata.a.push(2);
    data.entries.length = 0;
    expect(thread.at(0)?.payload).toEqual({ a: [1] });
    expect(thread.metadata).toEqual({ a: [1] });
    expect(Object.isFrozen(thread.at(0)?.payload["a"])).toBe(true);
  });

  test("asks neither clock nor ids", () => {
    const never = vi.fn(() => expect.fail("asked"));
    expect(Thread.fromJSON(notes(2).toJSON(), { clock: never, ids: never }).rev).toBe(2);
  });

  test("takes data without metadata or rev", () => {
    const { metadata: _, rev: __, ...data } = notes(2).toJSON();
    expect(Thread.fromJSON(data)).toMatchObject({ rev: 2, metadata: {} });
  });
});

describe("damaged data", () => {
  const damaged = (change: (data: Damaged) => void) => {
    const data = JSON.parse(JSON.stringify(notes(4)));
    change(data);
    return errorOf(() => Thread.fromJSON(data));
  };

  test.each<[string, number, (entries: DamagedEntry[]) => void]>([
    ["an entry is missing", 2, (entries) => entries.splice(2, 1)],
    ["an entry stands twice", 2, (entries) => entries.splice(1, 0, { ...entries[1] })],
    ["entries changed places", 1, (entries) => entries.splice(1, 2, ...entries.slice(1, 3).reverse())],
    ["a seq is no number", 1, (entries) => Object.assign(entries[1] ?? {}, { seq: "1" })],
    ["a seq is a fraction", 1, (entries) => Object.assign(entries[1] ?? {}, { seq: 1.5 })],
    ["two have one id", 3, (entries) => Object.assign(entries[3] ?? {}, { id: entries[0]?.["id"] })],
    ["an id is empty", 0, (entries) => Object.assign(entries[0] ?? {}, { id: "" })],
    ["a time is text", 2, (entries) => Object.assign(entries[2] ?? {}, { at: "now" })],
    ["a kind is no text", 1, (entries) => Object.assign(entries[1] ?? {}, { kind: 5 })],
    ["a version is zero", 1, (entries) => Object.assign(entries[1] ?? {}, { v: 0 })],
    ["a payload is a list", 1, (entries) => Object.assign(entries[1] ?? {}, { payload: [] })],
    ["a payload is null", 1, (entries) => Object.assign(entries[1] ?? {}, { payload: null })],
    ["refs nest", 3, (entries) => Object.assign(entries[3] ?? {}, { refs: { a: {} } })],
    ["an entry is null", 2, (entries) => entries.splice(2, 1, null as never)],
    ["an entry is a hole", 2, (entries) => delete entries[2]],
    ["two are bad: the first is named", 1, (entries) => entries.splice(1, 2, {}, {})],
    ...["id", "seq", "at", "kind", "payload", "refs"].map(
      (field): [string, number, (entries: DamagedEntry[]) => void] => [
        `${field} is missing`,
        2,
        (entries) => delete entries[2]?.[field],
      ],
    ),
  ])("is refused with the first bad index: %s", (_, index, change) => {
    const error = damaged(({ entries }) => change(entries));
    expect(error).toMatchObject({
      name: "ThreadError",
      code: "thread_corrupt",
      index,
      path: expect.stringContaining(`entries[${index}]`),
    });
  });

  test("that ends too early or is too long is refused with the index", () => {
    expect(damaged((data) => data.entries.pop())).toMatchObject({ code: "thread_corrupt", index: 3 });
    expect(damaged((data) => Object.assign(data, { rev: 2 }))).toMatchObject({ code: "thread_corrupt", index: 2 });
  });

  test.each<[string, string, unknown]>([
    ["format", "heddle.thread/2", "heddle.thread/2"],
    ["format", "nothing", undefined],
    ["id", "a path", "../a"],
    ["id", "nothing", undefined],
    ["createdAt", "text", "yesterday"],
    ["createdAt", "null", null],
    ["metadata", "a list", []],
    ["entries", "an object", {}],
    ["entries", "nothing", undefined],
    ["rev", "text", "4"],
    ["rev", "negative", -1],
    ["firstSeq", "negative", -1],
    ["firstSeq", "a fraction", 0.5],
    ["firstSeq", "without a base", 2],
    ["base", "text", "x"],
  ])("is refused when %s is %s", (field, _, value) => {
    const error = damaged((data) => Object.assign(data, { [field]: value }));
    expect(error).toMatchObject({ name: "ThreadError", code: "thread_corrupt" });
    expect(error.message).toMatch(/^The thread data is damaged: /);
  });

  test("says where in the entry the trouble is, without its value, and keeps the cause", () => {
    const error = damaged(({ entries }) => Object.assign(entries[1] ?? {}, { payload: { a: ["top secret \ud800"] } }));
    expect(error).toMatchObject({ path: "entries[1].payload.a[0]", index: 1, cause: { code: "not_json" } });
    expect(error.message).not.toContain("secret");
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a text", JSON.stringify(notes(1))],
    ["a list", [notes(1).toJSON()]],
    ["a Thread", notes(1)],
    ["something else", { hello: "world" }],
  ])("that never was a thread is refused: %s", (_, data) => {
    expect(errorOf(() => Thread.fromJSON(data))).toMatchObject({ name: "ThreadError", code: "thread_corrupt" });
  });
});

type DamagedEntry = { [field: string]: unknown };
type Damaged = { entries: DamagedEntry[] };
