import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "heddle/sqlite";
import { note } from "heddle/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { WorkerConnection, type WriteScript } from "../../../src/stores/sqlite/worker-connection.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { ask } from "./support/sql.ts";

/** Over 4 MB. */
async function largeFile() {
  const path = fastFile();
  const store = sqliteStore(path, { mode: "relaxed" });
  onTestFinished(() => store.close());
  const text = "wool ".repeat(6_000);
  for (let n = 0; n < 200; n++) await store.append(`thread_${n}`, note({ n, text }));
  await store.append("needle", note({ text: "a needle" }));
  const ran = vi.spyOn(WorkerConnection.prototype, "run");
  onTestFinished(() => ran.mockRestore());
  return { path, store, ran };
}

test("the check of a large file and a search run in a thread, and see what was just written", async () => {
  const { path, store, ran } = await largeFile();
  expect(await store.verify("thread_7")).toMatchObject({ ok: true });
  expect((await store.list({ search: "needle" })).threads.map(({ id }) => id)).toEqual(["needle"]);
  await store.append("late", note({ text: "NEEDLE" }));
  expect((await store.list({ search: "needle", order: "id" })).threads.map(({ id }) => id)).toEqual(["late", "needle"]);
  expect(ran.mock.calls.map(([sql]) => sql.slice(0, 6))).toEqual(["PRAGMA", "SELECT", "SELECT"]);
  for (const { value } of ran.mock.results) expect(await value, "answered by the thread").toBeDefined();
  await store.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test("damage that the thread finds is reported", async () => {
  const { path, store, ran } = await largeFile();
  await store.close();
  const [[, , , root] = []] = ask(path, "SELECT * FROM sqlite_schema WHERE name = 'threads_by_creation'");
  const bytes = readFileSync(path);
  bytes.fill(0, (Number(root) - 1) * 4096 + 3, (Number(root) - 1) * 4096 + 5); // the number of cells of the index's first page
  writeFileSync(path, bytes);
  const damaged = sqliteStore(path);
  onTestFinished(() => damaged.close());
  expect(await damaged.verify("thread_7")).toMatchObject({ ok: false, bad: { seq: -1 } });
  expect(ran).toHaveBeenCalled();
});

test("a query whose thread cannot open the file is run without it", async () => {
  const thread = new WorkerConnection("/missing/folder/file.db", "");
  expect(await thread.run("SELECT 1", [])).toBeUndefined();
  expect(await thread.run("SELECT 1", [])).toBeUndefined();
  await thread.close();
});

test("an error of SQLite in the thread is a StoreError", async () => {
  const { path } = await largeFile();
  const thread = new WorkerConnection(path, "");
  onTestFinished(() => thread.close());
  await expect(thread.run("SELECT nothing", [])).rejects.toMatchObject({ code: "store_failed" });
  expect(await thread.run("SELECT ?", ["x"])).toEqual([["x"]]);
});

/** A script that adds one row for each text. */
function adding(...texts: readonly string[]): WriteScript {
  return {
    unchanged: [],
    head: { sql: "SELECT ?", values: [texts[0] ?? ""] },
    putRow: "INSERT INTO kept VALUES (?, ?)",
    rowCount: texts.length,
    rows: (from, to) => texts.slice(from, to).map((text) => [text]),
    parts: [],
  };
}

const atOnce = (work: () => Promise<unknown>): Promise<unknown> => work();

test("a script that met the lock of another process writes nothing, also not with the next script", async () => {
  const path = fastFile();
  const other = new DatabaseSync(path);
  onTestFinished(() => other.close());
  other.exec("CREATE TABLE kept (head TEXT, text TEXT)");
  const thread = new WorkerConnection(path, "PRAGMA busy_timeout = 0");
  onTestFinished(() => thread.close());
  other.exec("BEGIN IMMEDIATE");
  await expect(thread.write(adding("a", "b"), atOnce)).rejects.toMatchObject({ code: "store_busy" });
  other.exec("ROLLBACK");
  expect(await thread.write(adding("c"), atOnce)).toBe(true);
  expect(ask(path, "SELECT head, text FROM kept")).toEqual([["c", "c"]]);
});

test("a connection that could not be set up is set up before the next script", async () => {
  const path = fastFile();
  const other = new DatabaseSync(path);
  onTestFinished(() => other.close());
  other.exec("CREATE TABLE kept (head TEXT, text TEXT)");
  const thread = new WorkerConnection(path, "INSERT INTO set_up VALUES (1)");
  onTestFinished(() => thread.close());
  await expect(thread.write(adding("a"), atOnce)).rejects.toMatchObject({ code: "store_failed" });
  other.exec("CREATE TABLE set_up (n)");
  expect(await thread.write(adding("b"), atOnce)).toBe(true);
  expect(ask(path, "SELECT count(*) FROM set_up")).toEqual([[1]]);
  expect(ask(path, "SELECT text FROM kept")).toEqual([["b"]]);
});
