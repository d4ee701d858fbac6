import { sqliteStore } from "heddle/sqlite";
import { note, notes } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { feedSoFar } from "../../support/everything.ts";
import { seeded } from "../../support/seeded.ts";
import { fastFile } from "../../support/temp-folder.ts";

function open(path = fastFile()) {
  const store = sqliteStore(path);
  onTestFinished(() => store.close());
  return store;
}

test("a position is not reused after the newest thread is deleted", async () => {
  const store = open();
  await store.append("old", note());
  await store.append("newest", notes(3));
  const seen = (await feedSoFar(store)).at(-1)?.cursor;
  await store.delete("newest");
  await store.append("next", note({ text: "not to be missed" }));
  expect(await after(store, seen)).toEqual(["deleted newest", "entry next"]);
});

test("a position is not reused after another handle deletes every thread", async () => {
  const path = fastFile();
  const [store, other] = [open(path), open(path)];
  for (const id of ["a", "b", "c"]) await store.append(id, notes(2));
  const seen = (await feedSoFar(store)).at(-1)?.cursor;
  for (const id of ["c", "a", "b"]) await other.delete(id);
  await other.append("next", note());
  expect(await after(store, seen)).toEqual(["deleted c", "deleted a", "deleted b", "entry next"]);
});

test("under any appends, forks and deletions cursors only grow and a reader misses nothing", async () => {
  const random = seeded();
  const store = open();
  const alive = new Set<string>();
  let cursor: string | undefined;
  for (let step = 0; step < 150; step++) {
    const id = `t_${random.below(6)}`;
    const written: string[] = [];
    if (random.oneIn(3)) {
      if (await store.delete(id)) written.push(`deleted ${id}`);
      alive.delete(id);
    } else if (alive.has(id) && random.oneIn(4)) {
      const newId = `fork_${step}`;
      await store.fork(id, { atSeq: 0, newId });
      alive.add(newId);
      written.push(`forked ${newId}`);
    } else {
      await store.append(id, note({ step }));
      alive.add(id);
      written.push(`entry ${id}`);
    }
    const items = await Array.fromAsync(itemsAfter(store, cursor));
    expect(
      items.map(({ type, threadId }) => `${type} ${threadId}`),
      `seed ${random.seed}, step ${step}`,
    ).toEqual(written);
    for (const item of items) expect(placeOf(item.cursor)).toBeGreaterThan(placeOf(cursor ?? "-0"));
    cursor = items.at(-1)?.cursor ?? cursor;
  }
});

test("an invalid cursor is refused; the feed does not wait", async () => {
  const store = open();
  await store.append("a", note());
  for (const cursor of ["", "newest", "1.5", "-1", "1e3", " 1", "1"])
    await expect(Array.fromAsync(itemsAfter(store, cursor)), cursor).rejects.toMatchObject({ code: "invalid_options" });
});

function itemsAfter(store: ReturnType<typeof open>, after: string | undefined) {
  const over = new AbortController();
  setImmediate(() => over.abort());
  return store.feed({ after, signal: over.signal });
}

async function after(store: ReturnType<typeof open>, cursor: string | undefined): Promise<string[]> {
  return (await Array.fromAsync(itemsAfter(store, cursor))).map(({ type, threadId }) => `${type} ${threadId}`);
}

/** The row of a cursor, and as a fraction the item behind it. */
function placeOf(cursor: string): number {
  const [row = 0, item = 0] = cursor
    .slice(cursor.indexOf("-") + 1)
    .split(".")
    .map(Number);
  return row + item / 1e6;
}
