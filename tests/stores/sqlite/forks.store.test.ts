import { statSync } from "node:fs";
import { sqliteStore } from "heddle/sqlite";
import { inLane, note, notes } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { ask, tamper } from "./support/sql.ts";

function open(path = fastFile()) {
  const store = sqliteStore(path, { mode: "relaxed" });
  onTestFinished(() => store.close());
  return { path, store };
}

function rowsOfForks(path: string) {
  const [[threads = 0] = []] = ask(path, "SELECT count(*) FROM threads");
  const [[entries = 0] = []] = ask(path, "SELECT count(*) FROM entries WHERE thread <> 0");
  const [[lanes = 0] = []] = ask(path, "SELECT count(*) FROM lanes");
  return { threads, entries, lanes };
}

test("a fork writes one thread and one item, whatever its length: less than 1 kB", async () => {
  const { path, store } = open();
  await store.append("long", notes(5000));
  const before = rowsOfForks(path);
  const pages = () =>
    Number(ask(path, "SELECT sum(payload) FROM dbstat WHERE name IN ('threads', 'feed_items')")[0]?.[0]);
  const bytes = canMeasure(path) ? pages() : 0;
  await store.fork("long", { atSeq: 4900, newId: "fork" });
  expect(rowsOfForks(path)).toEqual({ ...before, threads: 2 });
  if (canMeasure(path)) expect(pages() - bytes).toBeLessThan(1000);
  expect(statSync(path).size).toBeGreaterThan(0);
});

test("a deleted parent keeps what its forks show and nothing else, until the last one is deleted", async () => {
  const { path, store } = open();
  await store.append("parent", [note({ text: "shown" }), inLane("side", note()), note({ text: "secret" })], {
    metadata: { title: "secret" },
  });
  await store.fork("parent", { atSeq: 1, newId: "f1", metadata: { title: "fork" } });
  await store.fork("parent", { atSeq: 0, newId: "f2", metadata: { title: "fork" } });
  await store.append("f1", note({ text: "of the fork" }));
  await store.fork("f1", { atSeq: 2, newId: "f3" });
  expect(await store.delete("parent")).toEqual({ deleted: ["parent"], keptFor: ["f1", "f2", "f3"] });
  const content = () => JSON.stringify([ask(path, "SELECT * FROM entries"), ask(path, "SELECT * FROM threads")]);
  expect(content()).not.toContain("secret");
  expect(content()).toContain("shown");
  expect(await store.delete("f1")).toEqual({ deleted: ["f1"], keptFor: ["f3"] });
  expect(await store.delete("f3")).toEqual({ deleted: ["f3"], keptFor: [] });
  expect(rowsOfForks(path)).toEqual({ threads: 2, entries: 1, lanes: 0 });
  expect(await store.verify("f2")).toMatchObject({ ok: true, entries: 1 });
  await store.delete("f2");
  expect(rowsOfForks(path)).toEqual({ threads: 0, entries: 0, lanes: 0 });
});

test.each(["origin = origin + 1", "fork_seq = fork_seq - 1", "origin = NULL", "origin_sum = NULL", "fork_seq = NULL"])(
  "a pointer that was changed is an error when it is read: %s",
  async (change) => {
    const { path, store } = open();
    await store.append("parent", notes(5));
    await store.append("other", notes(5));
    await store.fork("parent", { atSeq: 3, newId: "f1" });
    await store.append("f1", notes(2));
    await store.fork("f1", { atSeq: 5, newId: "f2" });
    tamper(path, `UPDATE threads SET ${change} WHERE id = 'f1'`);
    for (const id of ["f1", "f2"]) {
      await expect(store.load(id), id).rejects.toMatchObject({ code: "corrupt" });
      await expect(Array.fromAsync(store.read(id, { toSeq: 2 })), id).rejects.toMatchObject({ code: "corrupt" });
      expect(await store.verify(id), id).toMatchObject({ ok: false });
    }
  },
);

test("a process of 0.1 cannot remove a thread whose rows a fork shows", async () => {
  const { path, store } = open();
  await store.append("parent", notes(3));
  await store.fork("parent", { atSeq: 1, newId: "fork" });
  const removal = `
    BEGIN; DELETE FROM entries WHERE thread = (SELECT key FROM threads WHERE id = 'parent');
    DELETE FROM threads WHERE id = 'parent'; COMMIT`;
  expect(() => tamper(path, removal)).toThrow(/A fork shows entries/);
  expect(await store.verify("fork")).toMatchObject({ ok: true, entries: 2 });
});

/** Whether SQLite was built with the table that tells the bytes of each page. */
function canMeasure(path: string): boolean {
  try {
    ask(path, "SELECT 1 FROM dbstat LIMIT 1");
    return true;
  } catch {
    return false;
  }
}
