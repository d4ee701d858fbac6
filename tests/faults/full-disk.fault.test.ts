import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { StoreFullError } from "heddle/store";
import { note, notes } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import type { UpgradeProgress } from "../../src/stores/options.ts";
import { findSqlite } from "../../src/stores/sqlite/connection.ts";
import { ask } from "../stores/sqlite/support/sql.ts";
import { writeEarlierFile } from "../support/earlier-database.ts";
import { installedBetterSqlite3 } from "../support/open-at.ts";
import { report } from "../support/report.ts";
import { mountedDisk, type SmallDisk, smallDisk } from "./support/small-disk.ts";

/** How much more space each attempt to upgrade has, in bytes. */
const UPGRADE_SPACE_STEP = 32 * 1024;
const MAX_UPGRADE_SPACE = 1024 * 1024;

const libraries = { "node:sqlite": findSqlite(), "better-sqlite3": installedBetterSqlite3() };

test("a full disk refuses appends, loses nothing, and works again when there is space", async () => {
  const { disk, store } = open();
  const before = await fill(store, "thread_1", 20_000);
  report({ disk: disk.kind, entries: before });
  expect(await store.load("thread_1")).toMatchObject({ rev: before });
  expect(await store.verify("thread_1")).toMatchObject({ ok: true, entries: before });
  expect((await store.list()).threads).toMatchObject([{ id: "thread_1", rev: before }]);
  disk.giveSpace();
  expect((await store.append("thread_1", notes(3))).rev).toBe(before + 3);
  expect(await store.verify("thread_1")).toMatchObject({ ok: true, entries: before + 3 });
});

test("a batch that does not fit leaves none of its entries, and can be retried", async () => {
  const { disk, store } = open();
  const before = await fill(store, "thread_1", 20_000);
  const batch = Array.from({ length: 20 }, (_, n) => text(20_000, `late_${n}`));
  await expect(store.append("thread_1", batch)).rejects.toBeInstanceOf(StoreFullError);
  await expect(store.append("new", batch)).rejects.toMatchObject({ code: "store_full", retryable: true });
  expect((await store.load("thread_1"))?.rev).toBe(before);
  expect(await store.load("new")).toBeUndefined();
  disk.giveSpace();
  expect(await store.append("thread_1", batch)).toMatchObject({ rev: before + 20, replayed: false });
  expect(await store.append("thread_1", batch)).toMatchObject({ rev: before + 20, replayed: true });
});

test("a small append goes through beside one that does not fit", async () => {
  const { store } = open();
  await store.append("small", note());
  const outcomes = await Promise.allSettled([
    store.append("small", note({ n: 1 })),
    store.append(
      "big",
      Array.from({ length: 100 }, (_, n) => text(30_000 * 3, `part_${n}`)),
    ),
    store.append("small", note({ n: 2 })),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(outcomes[1]).toMatchObject({ reason: { code: "store_full" } });
  expect(await store.verify("small")).toMatchObject({ ok: true, entries: 3 });
  expect(await store.load("big")).toBeUndefined();
});

test("a store closed on a full disk opens there again and has everything", async () => {
  const { disk, store } = open();
  const before = await fill(store, "thread_1", 20_000);
  await store.close();
  disk.giveSpace();
  const again = sqliteStore(disk.path, { connect: disk.connect });
  expect(await again.verify("thread_1")).toMatchObject({ ok: true, entries: before });
  expect((await again.append("thread_1", note())).rev).toBe(before + 1);
  await again.close();
});

test.each(Object.entries(libraries))(
  "on %s no store is made or opened on a disk without any space, until there is some",
  async (_, connect) => {
    const disk = mountedDisk();
    if (disk === undefined)
      return report({ untested: "mounting is not allowed here, and SQLite's own limit does not reach this far" });
    const path = join(disk.folder, "threads.db");
    const store = sqliteStore(path, { connect });
    await store.append("thread_1", notes(3));
    await store.close();
    disk.fill();
    for (const file of [path, join(disk.folder, "new.db")])
      expect(() => sqliteStore(file, { connect })).toThrow(
        expect.objectContaining({ code: "store_full", retryable: true }),
      );
    disk.giveSpace();
    const again = sqliteStore(path, { connect });
    expect(await again.verify("thread_1")).toMatchObject({ ok: true, entries: 3 });
    await again.close();
    await sqliteStore(join(disk.folder, "new.db"), { connect }).close();
  },
);

test.each(Object.entries(libraries))(
  "on %s an upgrade that does not fit is refused, loses nothing, and succeeds when there is space",
  async (_, connect) => {
    const disk = mountedDisk();
    if (disk === undefined) return report({ untested: "mounting is not allowed here" });
    const path = join(disk.folder, "threads.db");
    writeEarlierFile(path, { threads: 2, entriesPerThread: 400 });
    const before = readFileSync(path);
    const refusedAt = new Set<number>();
    const open = (): ThreadStore | undefined => {
      let step = 0;
      try {
        const onUpgrade = ({ done }: UpgradeProgress): void => {
          step = done;
        };
        return sqliteStore(path, { connect, onUpgrade });
      } catch (error) {
        expect(error).toMatchObject({ code: "store_full", retryable: true });
        expect(readFileSync(path).equals(before)).toBe(true);
        refusedAt.add(step);
        return undefined;
      }
    };
    for (let space = 0; space < MAX_UPGRADE_SPACE; space += UPGRADE_SPACE_STEP) {
      disk.fill(space);
      const store = open();
      await store?.close();
      if (store !== undefined) break;
    }
    report({ "refused at steps": [...refusedAt] });
    expect(
      [...refusedAt].some((step) => step > 0),
      "refused in the middle of an upgrade",
    ).toBe(true);
    disk.giveSpace();
    const store = sqliteStore(path, { connect });
    onTestFinished(() => store.close());
    for (const id of ["earlier_0", "earlier_1"]) {
      expect(await store.verify(id)).toMatchObject({ ok: true, entries: 400 });
      expect(await Array.fromAsync(store.read(id, { refs: { requestId: `${id}-r0` } }))).toHaveLength(5);
      expect((await store.append(id, note())).rev).toBe(401);
    }
  },
);

test("texts that are stored as blobs leave nothing when they do not fit, and can be retried", async () => {
  const { disk, store } = open();
  await store.append("thread_1", notes(3));
  const batch = ["a", "b", "c"].map((id) => text(1_200_000, id)); // two of them would fit
  const putOf = (word: string) => store.putBlob({ word: word.repeat(3_000_000) }, { threadId: "thread_1" });
  await expect(store.append("thread_1", batch)).rejects.toMatchObject({ code: "store_full", retryable: true });
  await expect(store.append("new", batch)).rejects.toMatchObject({ code: "store_full" });
  await expect(putOf("w")).rejects.toMatchObject({ code: "store_full" });
  expect(ask(disk.path, "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM blob_uses)")).toEqual([[0, 0]]);
  expect(await store.load("new")).toBeUndefined();
  expect(await store.verify("thread_1")).toMatchObject({ ok: true, entries: 3 });
  disk.giveSpace();
  expect(await store.append("thread_1", batch.slice(0, 1))).toMatchObject({ rev: 4, replayed: false });
  expect((await store.load("thread_1"))?.at(3)?.payload).toEqual(batch[0]?.payload);
  expect(await store.verify("thread_1")).toMatchObject({ ok: true, entries: 4 });
});

test("every other write is refused likewise, and reading continues", async () => {
  const { store } = open();
  const before = await fill(store, "thread_1", 100);
  const big = "full ".repeat(100_000);
  await expect(store.putCheckpoint("key", big)).rejects.toMatchObject({ code: "store_full" });
  await expect(store.putBlob({ big })).rejects.toMatchObject({ code: "store_full" });
  await expect(store.fork("thread_1", { atSeq: before - 1, newId: "fork" })).rejects.toMatchObject({
    code: "store_full",
  });
  expect(await store.getCheckpoint("key")).toBeUndefined();
  expect(await store.load("fork")).toBeUndefined();
  expect(await Array.fromAsync(store.read("thread_1", { reverse: true, limit: 2 }))).toHaveLength(2);
});

function open(): { disk: SmallDisk; store: ThreadStore } {
  const disk = smallDisk();
  const store = sqliteStore(disk.path, { connect: disk.connect });
  onTestFinished(() => store.close());
  return { disk, store };
}

/** Appends until not even a small entry fits; answers how many were acknowledged. */
async function fill(store: ThreadStore, threadId: string, size: number): Promise<number> {
  let acknowledged = 0;
  for (let chars = size; chars >= 1; chars = Math.floor(chars / 8)) {
    try {
      for (;;) acknowledged = (await store.append(threadId, text(chars))).rev;
    } catch (error) {
      if (!StoreFullError.isInstance(error)) throw error;
    }
  }
  return acknowledged;
}

/** No two are the same, so that none is stored by reference to another. */
function text(chars: number, id?: string) {
  return note({ text: `${id ?? ""}${"wool ".repeat(Math.ceil(chars / 5))}` }, id === undefined ? {} : { id });
}
