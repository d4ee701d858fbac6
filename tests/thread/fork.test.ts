import { Thread } from "heddle";
import { describe, expect, test } from "vitest";
import { countingPorts, errorOf, note, notes, textsOf } from "./builders.ts";

describe("a fork", () => {
  test("shares the history up to and including its seq", () => {
    const parent = notes(4);
    const child = parent.fork({ atSeq: 2 });
    expect(textsOf(child)).toEqual(["0", "1", "2"]);
    expect(child.toArray()).toEqual(parent.slice(0, 2));
    expect(child).toMatchObject({ rev: 3, lastSeq: 2, firstSeq: 0 });
  });

  test("has an id of its own and says where it comes from", () => {
    const child = notes(3).fork({ atSeq: 1 });
    expect(child.id).toMatch(/^thread_/);
    expect(child.id).not.toBe("thread_a");
    expect(child.metadata).toEqual({ parentThreadId: "thread_a", forkSeq: 1 });
    expect(notes(3).fork({ atSeq: 1, id: "thread_b" }).id).toBe("thread_b");
  });

  test("inherits metadata, adds its own, and cannot lie about its parent", () => {
    const parent = Thread.create({ id: "thread_a", metadata: { title: "A", owner: "me" } }).append({});
    const metadata = { title: "B", tags: ["x"], parentThreadId: "thread_z", forkSeq: 99 };
    const child = parent.fork({ atSeq: 0, metadata });
    metadata.tags.push("y");
    expect(child.metadata).toEqual({ title: "B", owner: "me", tags: ["x"], parentThreadId: "thread_a", forkSeq: 0 });
    expect(child.fork({ atSeq: -1 }).metadata).toMatchObject({ parentThreadId: child.id, forkSeq: -1 });
    expect(parent.metadata).toEqual({ title: "A", owner: "me" });
  });

  test("is created now and updated when its last entry happened", () => {
    let now = 10;
    const parent = Thread.create({ clock: () => now }).append([{ at: 11 }, { at: 12 }]);
    now = 20;
    expect(parent.fork({ atSeq: 0 })).toMatchObject({ createdAt: 20, updatedAt: 11 });
    expect(parent.fork({ atSeq: -1 })).toMatchObject({ createdAt: 20, updatedAt: 20, rev: 0 });
  });

  test.each([0, 1, 2])("at %i and its parent grow apart", (atSeq) => {
    const parent = notes(3);
    const child = parent.fork({ atSeq });
    const grown = { child: child.append(note("c")), parent: parent.append(note("p")), again: child.append(note("d")) };
    const shared = ["0", "1", "2"].slice(0, atSeq + 1);
    expect(textsOf(grown.child)).toEqual([...shared, "c"]);
    expect(textsOf(grown.again)).toEqual([...shared, "d"]);
    expect(textsOf(grown.parent)).toEqual(["0", "1", "2", "p"]);
    expect([textsOf(parent), textsOf(child)]).toEqual([["0", "1", "2"], shared]);
  });

  test("keeps the clock and ids of its parent", () => {
    const parent = Thread.create({ ...countingPorts(), id: "a" }).append({});
    const child = parent.fork({ atSeq: 0 }).append({});
    expect(child.toArray().map(({ id }) => id)).toEqual(["entry_0", "entry_2"]);
    expect(child.id).toBe("thread_1");
  });

  test("outside the thread is an error, and so is bad metadata", () => {
    const parent = notes(2);
    expect(errorOf(() => parent.fork({ atSeq: 2 }))).toMatchObject({ code: "seq_out_of_range", seq: 2 });
    expect(errorOf(() => parent.fork({ atSeq: 0, id: "a/b" }))).toMatchObject({ code: "invalid_id" });
    for (const metadata of ["text", ["a"], new Date(), null, 5] as never[]) {
      expect(errorOf(() => parent.fork({ atSeq: 0, metadata }))).toMatchObject({ code: "not_json", path: "metadata" });
    }
  });
});
