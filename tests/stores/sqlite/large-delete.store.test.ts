import { readFileSync } from "node:fs";
import { sqliteStore } from "heddle/sqlite";
import { note, notes } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { ask, tamper } from "./support/sql.ts";

const COUNT = 1600;

function openStore() {
  const path = fastFile();
  const store = sqliteStore(path);
  onTestFinished(() => store.close());
  return { path, store };
}

const leftIn = (path: string) => ask(path, "SELECT (SELECT count(*) FROM threads), (SELECT count(*) FROM entries)");

test("a large thread is gone at once, and its rows are removed in slices", async () => {
  const { path, store } = openStore();
  await store.append("thread_1", [...notes(COUNT), note({ text: "wool ".repeat(10_000) })]);
  const deleted = store.delete("thread_1");
  let isDone = false;
  void deleted.then(() => {
    isDone = true;
  });
  await store.append("other", {});
  expect(await store.load("thread_1")).toBeUndefined();
  expect((await store.list({ search: "wool" })).threads).toEqual([]);
  expect(await store.append("thread_1", {}), "a new thread with the id").toMatchObject({ rev: 1 });
  expect(isDone).toBe(false);
  expect(await deleted).not.toBe(false);
  expect(await store.delete("thread_2")).toBe(false);
  expect(leftIn(path)).toEqual([[2, 2]]);
  expect(ask(path, "SELECT count(*) FROM big_payloads")).toEqual([[0]]);
  expect(await store.verify("thread_1")).toMatchObject({ ok: true, entries: 1 });
});

test("a deleted text is not in the file any more", async () => {
  const { path, store } = openStore();
  const secret = "an embarrassing question";
  const text = `${secret} ${"x".repeat(50_000)}`;
  await store.append("thread_1", [note({ secret }), note({ text }), ...notes(100)], { metadata: { secret } });
  await store.append("thread_2", notes(100));
  await store.delete("thread_1");
  await store.close();
  expect(readFileSync(path).includes(secret)).toBe(false);
});

test("a delete also removes what a process has left that died during one", async () => {
  const { path, store } = openStore();
  await store.append("thread_1", notes(COUNT));
  tamper(path, "UPDATE threads SET tenant = '/removed', id = key");
  expect(await store.delete("thread_1")).toBe(false);
  expect(leftIn(path)).toEqual([[0, 1]]); // one row keeps the last position of the feed
});
