import type { ThreadStore } from "heddle";
import { sqliteDatabase, sqliteStore } from "heddle/sqlite";
import { note, notes } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { runChild } from "../../support/child.ts";
import { tempFile } from "../../support/temp-folder.ts";
import { recording } from "./support/recording.ts";

function open(path: string, options = {}) {
  const store = sqliteStore(path, options);
  onTestFinished(() => store.close());
  return store;
}

test("two handles on one file see each other's appends at once", async () => {
  const path = tempFile();
  const [one, other] = [open(path), open(path)];
  for (let n = 0; n < 20; n++) {
    await (n % 2 === 0 ? one : other).append("thread_1", note({ n }), { expectedRev: n });
    for (const store of [one, other]) expect((await store.load("thread_1"))?.rev).toBe(n + 1);
  }
  expect(await other.verify("thread_1")).toEqual(await one.verify("thread_1"));
});

test("stores of one database see each other's commits at once, without a poll", async () => {
  const database = sqliteDatabase(tempFile(), { pollMs: 2 ** 31 - 1 });
  onTestFinished(() => database.close());
  const [store, other] = [database.tenant("acme"), database.tenant("acme")];
  await other.append("t", note());
  const seen: string[] = [];
  void (async () => {
    for await (const { type, threadId } of store.feed()) seen.push(`${type} ${threadId}`);
  })();
  void (async () => {
    for await (const { seq } of store.watch("t", { fromSeq: 0 })) if (seq % 1000 === 0) seen.push(`watched ${seq}`);
  })();
  const woken: string[] = [];
  for (const id of ["t", "quiet"]) store.onPosted(id, () => woken.push(id));
  await expect.poll(() => [seen.length, woken.length]).toEqual([2, 2]);
  seen.length = 0;
  woken.length = 0;
  await other.append("t", notes(2000)); // by the worker
  await expect.poll(() => seen).toHaveLength(2002);
  expect(seen.filter((one) => one.startsWith("watched"))).toEqual(["watched 1000", "watched 2000"]);
  seen.length = 0;
  await other.post("t", { id: "c1", type: "x" });
  await expect.poll(() => woken).toEqual(["t"]);
  await other.amend("t", "c1", { type: "y" });
  await expect.poll(() => woken).toEqual(["t", "t"]);
  await database.tenant("globex").append("t", note());
  await other.fork("t", { atSeq: 0, newId: "f" });
  await expect.poll(() => seen).toEqual(["forked f"]);
  await other.delete("t");
  await expect.poll(() => seen).toEqual(["forked f", "deleted t"]);
  await expect.poll(() => woken).toEqual(["t", "t", "t"]);
});

test("closing one handle leaves the other open", async () => {
  const path = tempFile();
  const [one, other] = [open(path), open(path)];
  await one.append("thread_1", note());
  await one.close();
  expect((await other.append("thread_1", note())).rev).toBe(2);
});

test("tenants of one file do not see each other", async () => {
  const path = tempFile();
  const [one, other] = [open(path, { tenant: "one" }), open(path, { tenant: "other" })];
  await one.append("thread_1", note());
  const hash = await one.putBlob({ secret: true });
  await one.putCheckpoint("key", 1);
  expect(await other.load("thread_1")).toBeUndefined();
  expect((await other.list()).threads).toEqual([]);
  expect(await other.getBlob(hash)).toBeUndefined();
  expect(await other.getCheckpoint("key")).toBeUndefined();
  expect(await other.delete("thread_1")).toBe(false);
});

test("a fork whose parent is deleted meanwhile is complete or refused", async () => {
  const path = tempFile();
  const other = open(path);
  const sql = recording();
  const store = open(path, { connect: sql.connect });
  await store.append("parent", notes(5));
  sql.before = (statement) => {
    if (statement !== "BEGIN IMMEDIATE") return;
    sql.before = () => {};
    removeNow(path);
  };
  await expect(store.fork("parent", { atSeq: 3, newId: "fork" })).rejects.toMatchObject({ code: "thread_not_found" });
  expect(await other.load("fork")).toBeUndefined();
});

test("a fork whose parent was recreated meanwhile is a complete fork of the new one", async () => {
  const path = tempFile();
  const sql = recording();
  const store = open(path, { connect: sql.connect });
  await store.append("parent", notes(5));
  sql.before = (statement) => {
    if (statement !== "BEGIN IMMEDIATE") return;
    sql.before = () => {};
    removeNow(path);
    appendNow(path);
  };
  await store.fork("parent", { atSeq: 3, newId: "fork" });
  expect(await store.verify("fork")).toMatchObject({ ok: true, entries: 4 });
  expect((await store.load("fork"))?.at(0)?.payload).toEqual({ n: 0, anew: true });
});

test("a switch to WAL that meets the switch of another process is tried again", () => {
  const path = tempFile();
  const sql = recording();
  let refusals = 2;
  sql.before = (statement) => {
    if (!/journal_mode = wal/i.test(statement) || refusals-- <= 0) return;
    throw Object.assign(new Error("database is locked"), { code: "ERR_SQLITE_ERROR", errcode: 5 });
  };
  const store = open(path, { connect: sql.connect });
  expect(sql.ran.filter((statement) => statement.startsWith("BEGIN IMMEDIATE; ROLLBACK"))).toHaveLength(2);
  expect(store).toBeDefined();
});

test("eight processes can create the same store at the same moment", async () => {
  const path = tempFile();
  const script = new URL("./support/make-and-append.ts", import.meta.url);
  const answers = await Promise.all(Array.from({ length: 8 }, () => runChild(script, path)));
  expect(answers.map(Number).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(await open(path).verify("thread_1")).toMatchObject({ ok: true, entries: 8 });
});

/** The work of another handle, done before this one goes on: closing commits what is queued, at once. */
function removeNow(path: string): void {
  const store = sqliteStore(path);
  void store.delete("parent");
  closeNow(store);
}

function appendNow(path: string): void {
  const store = sqliteStore(path);
  void store.append(
    "parent",
    Array.from({ length: 5 }, (_, n) => note({ n, anew: true })),
  );
  closeNow(store);
}

/** The file stays until all is written. */
function closeNow(store: ThreadStore): void {
  const closed = store.close();
  onTestFinished(() => closed);
}
