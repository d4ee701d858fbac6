import { sqliteStore } from "heddle/sqlite";
import { note, notes } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { tempFile } from "../../support/temp-folder.ts";
import { recording } from "./support/recording.ts";

/** Stands in for what SQLite throws. */
const diskFull = () => Object.assign(new Error("database or disk is full"), { errcode: 13 });

function open() {
  const sql = recording();
  const path = tempFile();
  const store = sqliteStore(path, { connect: sql.connect });
  onTestFinished(() => store.close());
  sql.forget();
  const counted = (wanted: string) => sql.ran.filter((statement) => statement === wanted).length;
  return { store, sql, path, begun: () => counted("BEGIN IMMEDIATE"), committed: () => counted("COMMIT") };
}

test("the appends of one turn of the event loop share one transaction", async () => {
  const { store, begun, committed } = open();
  await Promise.all(Array.from({ length: 100 }, (_, n) => store.append(`thread_${n % 10}`, notes(2))));
  expect([begun(), committed()]).toEqual([1, 1]);
  expect((await store.load("thread_3"))?.rev).toBe(20);
});

test("checkpoints, blobs, claims, forks and deletions of one turn share one transaction", async () => {
  const { store, sql, begun, committed } = open();
  await store.append("parent", notes(3));
  sql.forget();
  await Promise.all([
    store.append("thread_1", note()),
    store.putCheckpoint("key", 1),
    store.putBlob({ a: 1 }),
    store.claim("thread_1", { holder: "me", ttlMs: 1000 }),
    store.delete("nobody"),
    store.fork("parent", { atSeq: 1 }),
  ]);
  expect(begun()).toBeLessThanOrEqual(3); // a fork reads before it writes, and a deletion then removes unused blobs
  expect(committed()).toBe(begun());
});

test("appends of one turn after the other each have their own transaction", async () => {
  const { store, begun } = open();
  for (let n = 0; n < 40; n++) await store.append("thread_1", note({ n }));
  expect(begun()).toBe(40);
});

test("a refused append fails alone, in the same transaction", async () => {
  const { store, committed } = open();
  const outcomes = await Promise.allSettled([
    store.append("thread_1", note({ n: 1 })),
    store.append("thread_1", note({ n: 2 }), { expectedRev: 7 }),
    store.append("thread_1", note({ n: 3 })),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(outcomes[1]).toMatchObject({ reason: { code: "conflict", expected: 7, actual: 1 } });
  expect(committed()).toBe(1);
  expect((await store.load("thread_1"))?.toArray().map(({ payload }) => payload["n"])).toEqual([1, 3]);
});

test("when a shared commit fails, each append is retried alone", async () => {
  const { store, sql, committed } = open();
  let commits = 0;
  sql.before = (statement) => {
    if (statement === "COMMIT" && ++commits === 1) throw diskFull();
  };
  const outcomes = await Promise.allSettled([1, 2, 3].map((n) => store.append("thread_1", note({ n }))));
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
  expect(committed()).toBe(3);
  expect(await store.verify("thread_1")).toMatchObject({ ok: true, entries: 3 });
});

test("an append that the database refuses fails alone", async () => {
  const { store, sql } = open();
  let inserts = 0;
  sql.before = (statement) => {
    // the second row of the group, and again when it is tried alone
    if (statement.includes("INSERT INTO entries") && [2, 4].includes(++inserts)) throw diskFull();
  };
  const [first, second, third] = await Promise.allSettled([1, 2, 3].map((n) => store.append(`t_${n}`, note({ n }))));
  expect([first?.status, third?.status]).toEqual(["fulfilled", "fulfilled"]);
  expect(second).toMatchObject({ status: "rejected", reason: { code: "store_full", retryable: true } });
  expect(await store.load("t_2")).toBeUndefined();
});

test("when SQLite cannot begin a transaction, all appends fail without single retries", async () => {
  const { store, sql, committed } = open();
  sql.before = (statement) => {
    if (statement === "BEGIN IMMEDIATE") throw Object.assign(new Error("disk I/O error"), { errcode: 10 });
  };
  const outcomes = await Promise.allSettled([store.append("a", note()), store.append("b", note())]);
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "store_failed" } });
  expect(committed()).toBe(0);
  sql.before = () => {};
  expect((await store.append("a", note())).rev).toBe(1);
});

test("a big batch is atomic", async () => {
  const { store, sql } = open();
  let inserts = 0;
  sql.before = (statement) => {
    if (statement.includes("INSERT INTO entries") && ++inserts === 50) throw diskFull();
  };
  await expect(store.append("thread_1", notes(80))).rejects.toMatchObject({ code: "store_full" });
  expect(await store.load("thread_1")).toBeUndefined();
  expect((await store.append("thread_1", notes(80))).rev).toBe(80);
});

test("closing loses none of the appends that are queued", async () => {
  const { store, path } = open();
  const queued = Array.from({ length: 30 }, (_, n) => store.append("thread_1", note({ n })));
  await store.close();
  expect((await Promise.all(queued)).at(-1)?.rev).toBe(30);
  const again = sqliteStore(path);
  expect((await again.load("thread_1"))?.rev).toBe(30);
  await again.close();
});

test("closing twice is fine, and after it every call is refused", async () => {
  const { store } = open();
  await store.append("thread_1", note());
  await Promise.all([store.close(), store.close()]);
  await expect(store.append("thread_1", note())).rejects.toMatchObject({ code: "store_closed" });
  await expect(store.load("thread_1")).rejects.toMatchObject({ code: "store_closed" });
});
