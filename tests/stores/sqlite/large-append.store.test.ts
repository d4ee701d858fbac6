import { sqliteDatabase, sqliteStore } from "heddle/sqlite";
import { note, notes } from "heddle/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { WorkerConnection } from "../../../src/stores/sqlite/worker-connection.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { ask } from "./support/sql.ts";

const COUNT = 2000;

function twoHandles() {
  const path = fastFile();
  const [store, other] = [sqliteStore(path), sqliteStore(path)];
  onTestFinished(async () => {
    await store.close();
    await other.close();
  });
  return { store, other };
}

/** Runs `work` instead of the next write of a worker. It gets that write. */
function replaceNextWrite(work: (write: () => Promise<boolean | undefined>) => Promise<boolean | undefined>) {
  const original = WorkerConnection.prototype.write;
  const write = vi.spyOn(WorkerConnection.prototype, "write");
  onTestFinished(() => write.mockRestore());
  return write.mockImplementationOnce(function (this: WorkerConnection, ...args) {
    return work(() => original.apply(this, args));
  });
}

test("a worker writes a large append, and what memory would hold", async () => {
  const { store, other } = twoHandles();
  const write = replaceNextWrite((written) => written());
  const text = "wool ".repeat(10_000); // stored in the table of large payloads, once
  const switched = {
    kind: "ai_context_operation",
    payload: { contextRef: "side", operation: { type: "switch", reason: "manual" } },
  };
  const entries = [...notes(COUNT), switched, note({ text }), note({ text })];
  await store.append("thread_1", note({ n: "first" }), { metadata: { title: "a", project: "x" } });
  const { entries: written, rev } = await store.append("thread_1", entries, {
    metadata: { title: "b", project: [] },
  });
  expect(rev).toBe(COUNT + 4);
  expect(write).toHaveBeenCalledTimes(1);
  const loaded = await other.load("thread_1");
  expect(loaded?.metadata).toEqual({ title: "b", project: [] });
  expect((await other.list({ metadata: { title: "b" } })).threads).toHaveLength(1);
  expect((await other.list({ metadata: { project: "x" } })).threads).toHaveLength(0);
  expect(loaded?.slice(1, rev - 1)).toEqual(written);
  expect(await other.verify("thread_1")).toMatchObject({ ok: true, entries: rev });
  expect(await store.append("thread_1", {})).toMatchObject({ rev: rev + 1 });
});

test("appends of other threads wait for the worker's transaction", async () => {
  const { store } = twoHandles();
  const ends: string[] = [];
  let small: Promise<unknown> | undefined;
  replaceNextWrite((written) => {
    const result = written();
    small = store.append("other", {}).then(() => ends.push("small"));
    return result;
  });
  await store.append("thread_1", notes(COUNT)).then(() => ends.push("large"));
  await small;
  expect(ends.toSorted()).toEqual(["large", "small"]);
  expect(await store.verify("other")).toMatchObject({ ok: true, entries: 1 });
});

test("a thread that another process has changed meanwhile gets the batch behind the change", async () => {
  const { store, other } = twoHandles();
  const write = replaceNextWrite(async (written) => {
    await other.append("thread_1", note({ n: "between" }));
    return written();
  });
  expect(await store.append("thread_1", notes(COUNT))).toMatchObject({ rev: COUNT + 1 });
  expect(write).toHaveBeenCalledTimes(2);
  expect(await store.verify("thread_1")).toMatchObject({ ok: true, entries: COUNT + 1 });
});

test("a claim that was lost meanwhile refuses the batch", async () => {
  const { store, other } = twoHandles();
  const { epoch } = await store.claim("thread_1", { holder: "a", ttlMs: 60_000 });
  replaceNextWrite(async (written) => {
    await store.release("thread_1", epoch);
    await other.claim("thread_1", { holder: "b", ttlMs: 60_000 });
    return written();
  });
  await expect(store.append("thread_1", notes(COUNT), { epoch })).rejects.toMatchObject({ code: "stale_holder" });
  expect(await store.load("thread_1")).toBeUndefined();
});

test("a batch whose worker was lost is written once, whether its commit was reached or not", async () => {
  const { store } = twoHandles();
  replaceNextWrite(async () => undefined);
  expect(await store.append("thread_1", notes(COUNT))).toMatchObject({ rev: COUNT });
  replaceNextWrite(async (written) => void (await written()));
  expect(await store.append("thread_1", notes(COUNT))).toMatchObject({ rev: 2 * COUNT });
  expect(await store.verify("thread_1")).toMatchObject({ ok: true, entries: 2 * COUNT });
});

test("a store that closes waits for a large write that has begun", async () => {
  const path = fastFile();
  const store = sqliteStore(path);
  let closed: Promise<void> | undefined;
  replaceNextWrite((written) => {
    closed = store.close();
    return written();
  });
  expect(await store.append("thread_1", notes(COUNT))).toMatchObject({ rev: COUNT });
  await closed;
  const again = sqliteStore(path);
  expect(await again.verify("thread_1")).toMatchObject({ ok: true, entries: COUNT });
  await again.close();
});

test("rows of a large append that failed are in no later one, also of another tenant", async () => {
  const path = fastFile();
  const database = sqliteDatabase(path);
  onTestFinished(() => database.close());
  const [acme, globex] = [database.tenant("acme"), database.tenant("globex")];
  const original = WorkerConnection.prototype.write;
  const write = vi.spyOn(WorkerConnection.prototype, "write");
  onTestFinished(() => write.mockRestore());
  write.mockImplementationOnce(function (this: WorkerConnection, script) {
    return original.call(this, script, () => Promise.reject(new Error("stopped before the transaction")));
  });
  await expect(acme.append("a", notes(COUNT))).rejects.toThrow("stopped before");
  expect(await globex.append("b", notes(COUNT - 500))).toMatchObject({ rev: COUNT - 500 });
  expect(ask(path, "SELECT count(*) FROM entries")).toEqual([[COUNT - 500]]);
  expect(await acme.append("a", notes(COUNT))).toMatchObject({ rev: COUNT });
  expect(await acme.verify("a")).toMatchObject({ ok: true, entries: COUNT });
  expect(await globex.append("b", note())).toMatchObject({ rev: COUNT - 499 });
});
