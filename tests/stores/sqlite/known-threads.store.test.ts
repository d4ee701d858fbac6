import { sqliteDatabase, sqliteStore } from "heddle/sqlite";
import { note, notes } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { recording } from "./support/recording.ts";

function open() {
  const sql = recording();
  const path = fastFile("known.db");
  const database = sqliteDatabase(path, { connect: sql.connect });
  onTestFinished(() => database.close());
  const headsRead = () => sql.ran.filter((statement) => /^SELECT .* FROM threads/.test(statement)).length;
  return { path, database, sql, headsRead };
}

test("an append reads the head of a thread only when another connection has written since", async () => {
  const { path, database, sql, headsRead } = open();
  const store = database.tenant("acme");
  const other = sqliteStore(path, { tenant: "acme" });
  await store.append("thread_1", note());
  sql.forget();
  await store.append("thread_1", note());
  expect(headsRead()).toBe(0);
  expect((await other.append("thread_1", note())).rev).toBe(3);
  expect((await store.append("thread_1", note())).rev).toBe(4);
  expect(headsRead()).toBe(1);
  expect(await store.verify("thread_1")).toMatchObject({ ok: true, entries: 4 });
  await other.close();
});

test("an append after a transaction that was rolled back continues what is stored", async () => {
  const { database, sql } = open();
  const store = database.tenant("acme");
  await store.append("thread_1", note());
  sql.before = (statement) => {
    if (statement === "COMMIT") throw Object.assign(new Error("database or disk is full"), { errcode: 13 });
  };
  await expect(store.append("thread_1", note())).rejects.toMatchObject({ code: "store_full" });
  await expect(store.append("thread_2", note())).rejects.toMatchObject({ code: "store_full" });
  sql.before = () => {};
  const revs = await Promise.all(["thread_1", "thread_2"].map(async (id) => (await store.append(id, note())).rev));
  expect(revs).toEqual([2, 1]);
  expect(await store.verify("thread_1")).toMatchObject({ ok: true, entries: 2 });
});

test("all stores of a connection know what the others have written, and each tenant has its own threads", async () => {
  const { database } = open();
  const [one, same, other] = ["acme", "acme", "other"].map((tenant) => database.tenant(tenant));
  await one?.append("thread_1", notes(2));
  expect((await same?.append("thread_1", note()))?.rev).toBe(3);
  expect((await other?.append("thread_1", note()))?.rev).toBe(1);
  expect((await one?.append("thread_1", note(), { expectedRev: 3 }))?.rev).toBe(4);
  await same?.delete("thread_1");
  expect((await one?.append("thread_1", note(), { expectedRev: 0 }))?.rev).toBe(1);
  await same?.delete("thread_1");
  await other?.append("parent", notes(3));
  await one?.append("parent", notes(3));
  await same?.fork("parent", { atSeq: 2, newId: "thread_1" });
  expect((await one?.append("thread_1", note()))?.rev).toBe(4);
  expect(await one?.verify("thread_1")).toMatchObject({ ok: true });
});

test("a connection remembers at most 1,000 threads", async () => {
  const { database, sql, headsRead } = open();
  const store = database.tenant("acme");
  await Promise.all(Array.from({ length: 1001 }, (_, n) => store.append(`thread_${n}`, note())));
  sql.forget();
  await store.append("thread_1000", note());
  expect(headsRead()).toBe(0);
  await store.append("thread_0", note());
  expect(headsRead()).toBe(1);
});
