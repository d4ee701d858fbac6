import { type EntryInput, memoryStore, type ThreadStore } from "heddle";
import { systemPorts } from "heddle/core";
import { defineStore, type StoreDriver } from "heddle/store";
import { notes } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { MemoryTenant, memoryDriver } from "../../../src/stores/memory-store.ts";

const soundDriver = () => memoryDriver(new MemoryTenant(), systemPorts.clock);

const STORES: Readonly<Record<string, () => ThreadStore>> = {
  memoryStore: () => memoryStore(),
  defineStore: () => defineStore(soundDriver()),
};

describe.each(Object.entries(STORES))("the first calls of %s", (_, open) => {
  test("made in one turn run in the order of the calls", async () => {
    const store = open();
    const appended = Promise.all([1, 2, 3, 4].map((n) => store.append("t", { payload: { n } })));
    const seen = store.load("t");
    const after = store.append("t", { payload: { n: 5 } });
    expect((await appended).map(({ rev }) => rev)).toEqual([1, 2, 3, 4]);
    expect((await seen)?.rev).toBe(4);
    expect((await after).rev).toBe(5);
    expect((await store.load("t"))?.toArray().map(({ payload }) => payload["n"])).toEqual([1, 2, 3, 4, 5]);
  });

  test("are not overtaken by a call made when one of them resolves", async () => {
    const store = open();
    const order: string[] = [];
    const said = (name: string) => store.append("t", { payload: { name } }).then(() => order.push(name));
    const first = said("first").then(() => said("later"));
    await Promise.all([first, said("second"), said("third")]);
    const stored = (await store.load("t"))?.toArray().map(({ payload }) => payload["name"]);
    expect(stored).toEqual(["first", "second", "third", "later"]);
    expect(order).toEqual(stored);
  });

  test("copy their arguments at once", async () => {
    const store = open();
    const list = { limit: 1 };
    const inputs: EntryInput[] = [{ payload: { text: "said" } }];
    const given = {
      options: { metadata: { status: "open" } },
      value: { step: 1 },
      bytes: Uint8Array.of(1),
      json: ["a"],
    };
    const forked = { atSeq: 0, newId: "u", metadata: { by: "me" } };
    const claimed = { holder: "a", ttlMs: 60_000 };
    const calls = [
      store.append("t", inputs, given.options),
      store.append("s", {}),
      store.putCheckpoint("key", given.value),
      store.putBlob(given.bytes),
      store.putBlob(given.json),
      store.fork("t", forked),
      store.claim("t", claimed),
      store.list(list),
    ].map((call) => call.catch((error: unknown) => error));
    inputs[0] = { payload: { text: "changed" } };
    inputs.push({});
    given.options.metadata = { status: "changed" };
    given.value.step = 2;
    given.bytes[0] = 2;
    given.json.push("b");
    forked.metadata.by = "you";
    forked.newId = "changed";
    claimed.holder = "changed";
    list.limit = 2;
    const [, , , bytes, json, , , page] = await Promise.all(calls);
    expect((await store.load("t"))?.toArray().map(({ payload }) => payload)).toEqual([{ text: "said" }]);
    expect((await store.load("t"))?.metadata).toEqual({ status: "open" });
    expect((await store.load("u"))?.metadata).toMatchObject({ by: "me" });
    expect(await store.getCheckpoint("key")).toEqual({ step: 1 });
    expect(await store.getBlob(String(bytes))).toEqual(Uint8Array.of(1));
    expect(await store.getBlob(String(json))).toEqual(["a"]);
    expect(page).toMatchObject({ threads: [{}], cursor: expect.any(String) });
    await expect(store.claim("t", { holder: "b", ttlMs: 1 })).rejects.toMatchObject({ holder: "a" });
  });

  test("reject for a wrong argument, and do not throw", async () => {
    const store = open();
    await expect(store.append("a/b", {})).rejects.toMatchObject({ code: "invalid_id" });
    await expect(store.load("a/b")).rejects.toMatchObject({ code: "invalid_id" });
    await expect(store.renew("t", -1)).rejects.toMatchObject({ code: "invalid_options" });
    await expect(store.read("a/b")[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "invalid_id" });
  });

  test("can be reads that start at once", async () => {
    const store = open();
    void store.append("t", notes(3));
    const read = await Array.fromAsync(store.read("t"), ({ seq }) => seq);
    expect(read).toEqual([0, 1, 2]);
  });

  test("finish before a close of the same turn, and later calls are refused", async () => {
    const store = open();
    const before = store.append("t", {});
    const closed = store.close();
    const after = store.append("t", {});
    await expect(before).resolves.toMatchObject({ rev: 1 });
    await expect(after).rejects.toMatchObject({ code: "store_closed" });
    await closed;
    await expect(store.load("t")).rejects.toMatchObject({ code: "store_closed" });
  });
});

test("a watcher of an unused store ends when the store closes", async () => {
  const store = memoryStore();
  const waiting = store.watch("t", { fromSeq: 0 })[Symbol.asyncIterator]().next();
  await store.close();
  await expect(waiting).resolves.toEqual({ done: true, value: undefined });
});

test("a wrong option of a store is thrown at once", () => {
  expect(() => memoryStore({ tenant: "a/b" })).toThrow(expect.objectContaining({ code: "invalid_id" }));
  expect(() => memoryStore({ pol: 1 } as object)).toThrow(expect.objectContaining({ code: "invalid_options" }));
  expect(() => defineStore(soundDriver(), { pol: 1 } as object)).toThrow(/no option pol/);
});

test("a driver sees the first appends of one turn together, before anything else happens", async () => {
  const sound = soundDriver();
  const batches: number[] = [];
  const grouping: StoreDriver = {
    ...sound,
    transact(threadId, ids, decide) {
      if (batches.length === 0 || closed) {
        batches.push(0);
        closed = false;
        queueMicrotask(() => {
          closed = true;
        });
      }
      batches[batches.length - 1] = (batches.at(-1) ?? 0) + 1;
      return sound.transact(threadId, ids, decide);
    },
  };
  let closed = false;
  const store = defineStore(grouping);
  for (const size of [5, 3]) {
    batches.length = 0;
    await Promise.all(Array.from({ length: size }, () => store.append("t", {})));
    expect(batches).toEqual([size]);
  }
});

test("calls made while the first ones are pending do not overtake them", async () => {
  const store = defineStore(soundDriver());
  const appends: Promise<unknown>[] = [];
  const append = (name: string) => appends.push(store.append("t", { payload: { name } }));
  for (const name of ["a", "b"]) append(name);
  for (const name of "123456") {
    await Promise.resolve();
    append(name);
  }
  await Promise.all(appends);
  const stored = (await store.load("t"))?.toArray().map(({ payload }) => payload["name"]);
  expect(stored?.join("")).toBe("ab123456");
});
