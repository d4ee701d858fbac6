import { defineStore, MemoryDatabase, memoryDatabase } from "heddle/store";
import { describe, expect, test } from "vitest";
import { memoryDriver } from "../../../src/stores/memory-store.ts";

describe("a driver without scheduling", () => {
  const store = defineStore({ ...memoryDriver(new MemoryDatabase().tenant("t"), Date.now), scheduling: false });

  test("refuses what it cannot keep, and says what to do", async () => {
    const refusal = { code: "store_unsupported", message: expect.stringContaining("scheduling") };
    const lease = { node: "ada", incarnation: 1 };
    await expect(store.claim("thread_1", { holder: "ada", lease })).rejects.toMatchObject(refusal);
    await expect(store.append("thread_1", { kind: "note" }, { next: null })).rejects.toMatchObject(refusal);
    await expect(store.post("thread_1", { id: "c1", type: "ask" }, { agent: "writer" })).rejects.toMatchObject(refusal);
    expect(await store.load("thread_1")).toBeUndefined();
  });

  test("keeps claims with a time, and inboxes", async () => {
    const { epoch } = await store.claim("thread_2", { holder: "ada", ttlMs: 1000 });
    await store.renew("thread_2", epoch);
    expect(await store.post("thread_2", { id: "c1", type: "ask" })).toEqual({ replayed: false });
  });
});

test("a take without agents has all threads, also those whose agent is not known", async () => {
  const database = memoryDatabase();
  const lease = await database.leases.start({ node: "ada", ttlMs: 60_000 });
  await database.tenant("acme").post("thread_1", { id: "c1", type: "ask" });
  await database.tenant("other").post("thread_2", { id: "c1", type: "ask" }, { agent: "writer" });
  const taken = await database.runnable.take({ lease, limit: 10 });
  expect(taken).toEqual([
    { tenant: "acme", threadId: "thread_1", epoch: 1 },
    { tenant: "other", threadId: "thread_2", epoch: 1, agent: "writer" },
  ]);
});

test("a closed database refuses every call", async () => {
  const database = memoryDatabase();
  const store = database.tenant("acme");
  const lease = await database.leases.start({ node: "ada", ttlMs: 60_000 });
  await database.close();
  await database.close();
  const closed = { code: "store_closed" };
  await expect(store.append("thread_1", { kind: "note" })).rejects.toMatchObject(closed);
  await expect(database.leases.renew(lease)).rejects.toMatchObject(closed);
  await expect(database.runnable.take({ lease })).rejects.toMatchObject(closed);
  await expect(database.tenant("acme").list()).rejects.toMatchObject(closed);
});

test("a driver without removeIf refuses to delete at a revision, and deletes without one", async () => {
  const { removeIf: _none, ...driver } = memoryDriver(new MemoryDatabase().tenant("t"), Date.now);
  const store = defineStore(driver);
  await store.append("thread_1", { kind: "note" });
  const refusal = { code: "store_unsupported", message: expect.stringContaining("removeIf") };
  await expect(store.delete("thread_1", { expectedRev: 1 })).rejects.toMatchObject(refusal);
  expect(await store.delete("thread_1")).toEqual({ deleted: ["thread_1"], keptFor: [] });
});
