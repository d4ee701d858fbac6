import { inspect } from "node:util";
import { Thread } from "heddle";
import { describe, expect, test, vi } from "vitest";
import { assistant, countingPorts, errorOf, note, notes, user } from "./builders.ts";

const uuidV7 = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";

describe("a new thread", () => {
  test("is empty", () => {
    const thread = Thread.create();
    expect(thread).toMatchObject({ rev: 0, entryCount: 0, lastSeq: -1, firstSeq: 0, stats: { entryCount: 0 } });
    expect(thread.metadata).toEqual({});
    expect(thread.base).toBeUndefined();
    expect(thread.last()).toBeUndefined();
    expect(thread.toArray()).toEqual([]);
  });

  test("has a fresh id that says what it is", () => {
    const [one, two] = [Thread.create(), Thread.create()];
    expect(one.id).toMatch(new RegExp(`^thread_${uuidV7}$`));
    expect(one.id).not.toBe(two.id);
  });

  test("takes an id and metadata, and keeps a copy", () => {
    const metadata = { title: "Sums", tags: ["maths"] };
    const thread = Thread.create({ id: "thread_sums", metadata });
    metadata.title = "Other";
    metadata.tags.push("more");
    expect(thread.id).toBe("thread_sums");
    expect(thread.metadata).toEqual({ title: "Sums", tags: ["maths"] });
    expect(Object.isFrozen(thread.metadata["tags"])).toBe(true);
  });

  test("has createdAt and updatedAt of the clock", () => {
    const thread = Thread.create({ clock: () => 42 });
    expect([thread.createdAt, thread.updatedAt]).toEqual([42, 42]);
  });

  test("asks the system for the time when it has no clock of its own", () => {
    vi.spyOn(Date, "now").mockReturnValue(77);
    expect(Thread.create().append({}).last()?.at).toBe(77);
  });
});

describe("an entry that says nothing", () => {
  test("is an empty note of now with a fresh id", () => {
    const entry = Thread.create({ clock: () => 42 })
      .append({})
      .last();
    expect(entry).toEqual({ id: expect.any(String), seq: 0, at: 42, kind: "note", payload: {}, refs: {} });
    expect(entry?.id).toMatch(new RegExp(`^entry_${uuidV7}$`));
    expect(entry).not.toHaveProperty("v");
  });

  test("is the same when its fields are undefined", () => {
    const fields = { kind: undefined, payload: undefined, refs: undefined, id: undefined, at: undefined, v: undefined };
    const [bare, explicit] = [{}, fields].map((input) => Thread.create(countingPorts()).append(input).toArray());
    expect(explicit).toEqual(bare);
  });
});

describe("a clock and ids that are passed in", () => {
  const run = () => {
    const ports = countingPorts();
    const thread = Thread.create(ports).append([user("2+2?", { requestId: "r1" }), assistant("4")]);
    const fork = thread.fork({ atSeq: 0 }).append(note("again"));
    const copy = Thread.fromJSON(JSON.parse(JSON.stringify(fork)), ports).append(note("and again"));
    return JSON.stringify([thread, fork, copy]);
  };

  test("make two runs byte-identical", () => {
    expect(run()).toBe(run());
  });

  test("are all that a run takes from its environment", () => {
    vi.spyOn(Date, "now").mockImplementation(() => expect.fail("the system clock was read"));
    vi.spyOn(crypto, "getRandomValues").mockImplementation(() => expect.fail("chance was asked"));
    expect(run()).toContain('"id":"entry_1"');
  });

  test("are refused when they are no functions, or give nonsense", () => {
    const bad = (options: object) => errorOf(() => Thread.create(options));
    expect(bad({ clock: 5 })).toMatchObject({ code: "invalid_options", path: "options.clock" });
    expect(bad({ ids: "x" })).toMatchObject({ code: "invalid_options", path: "options.ids" });
    expect(bad({ clock: () => Number.NaN })).toMatchObject({ code: "invalid_options", path: "options.clock" });
    expect(bad({ clock: () => 1.5 })).toMatchObject({ code: "invalid_options", path: "options.clock" });
    expect(bad({ ids: () => 7 })).toMatchObject({ code: "invalid_id" });
  });

  test("that throw are heard as they are", () => {
    const broken = new Error("no time");
    const clock = () => {
      throw broken;
    };
    expect(() => Thread.create({ clock })).toThrow(broken);
    expect(() => notes(1).append({ id: "x", at: 1 })).not.toThrow();
  });
});

describe("a Thread", () => {
  test("is frozen", () => {
    const thread = notes(1);
    expect(Object.isFrozen(thread)).toBe(true);
    expect(() => Object.assign(thread, { id: "other" })).toThrow(TypeError);
    expect(thread.id).toBe("thread_a");
  });

  test("is recognized, also when another copy of the package made it", async () => {
    vi.resetModules();
    const other = await import("../../src/index.ts");
    expect(other.Thread).not.toBe(Thread);
    expect(Thread.isThread(other.Thread.create())).toBe(true);
    expect(other.Thread.isThread(notes(1))).toBe(true);
    expect(other.Thread.create()).not.toBeInstanceOf(Thread);
  });

  test("is nothing else", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const value of [undefined, null, 1, "thread", {}, [], notes(1).toJSON(), Thread, proxy]) {
      expect(Thread.isThread(value)).toBe(false);
    }
  });

  test("says in the console which thread it is", () => {
    expect(inspect(Thread.create({ id: "thread_1" }).append({}))).toBe("Thread(thread_1, 1 entries)");
  });
});
