import { defineStore, type EntryInput, memoryStore, type StoreDriver, systemPorts, type ThreadStore } from "heddle";
import { notes } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { StoreHandle } from "../../../src/stores/handle.ts";
import { Machinery } from "../../../src/stores/machinery.ts";
import { MemoryTenant } from "../../../src/stores/memory/database.ts";
import { memoryDriver } from "../../../src/stores/memory/driver.ts";
import { completePorts } from "../../../src/stores/ports.ts";

const soundDriver = () => memoryDriver(new MemoryTenant(), systemPorts.clock);

const STORES: Readonly<Record<string, () => ThreadStore>> = {
  memoryStore: () => memoryStore(),
  defineStore: () => defineStore(soundDriver()),
};

describe.each(Object.entries(STORES))("the first calls of %s", (_, open) => {
  test("made in one turn are done in the order they were made", async () => {
    const store = open();
    const appended = Promise.all([1, 2, 3, 4].map((n) => store.append("t", { payload: { n } })));
    const seen = store.load("t");
    const after = store.append("t", { payload: { n: 5 } });
    expect((await appended).map(({ rev }) => rev)).toEqual([1, 2, 3, 4]);
    expect((await seen)?.rev).toBe(4);
    expect((await after).rev).toBe(5);
    expect((await store.load("t"))?.toArray().map(({ payload }) => payload["n"])).toEqual([1, 2, 3, 4, 5]);
  });

  test("are not overtaken by a call made as soon as one of them is answered", async () => {
    const store = open();
    const order: string[] = [];
    const said = (name: string) => store.append("t", { payload: { name } }).then(() => order.push(name));
    const first = said("first").then(() => said("later"));
    await Promise.all([first, said("second"), said("third")]);
    const stored = (await store.load("t"))?.toArray().map(({ payload }) => payload["name"]);
    expect(stored).toEqual(["first", "second", "third", "later"]);
    expect(order).toEqual(stored);
  });

  test("take what they are given as it is then", async () => {
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

  test("reject where an argument is wrong, and throw nothing", async () => {
    const store = open();
    await expect(store.append("a/b", {})).rejects.toMatchObject({ code: "invalid_id" });
    await expect(store.load("a/b")).rejects.toMatchObject({ code: "invalid_id" });
    await expect(store.renew("t", -1)).rejects.toMatchObject({ code: "invalid_options" });
    await expect(store.read("a/b")[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "invalid_id" });
  });

  test("can be reads that begin at once", async () => {
    const store = open();
    void store.append("t", notes(3));
    const read = await Array.fromAsync(store.read("t"), ({ seq }) => seq);
    expect(read).toEqual([0, 1, 2]);
  });

  test("are done before a close of the same turn, and what comes after it is refused", async () => {
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

test("a watcher that waits when its store was never used ends when it closes", async () => {
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

test("a store whose machinery could not be loaded tries again with the next call", async () => {
  const ports = completePorts({});
  let tries = 0;
  const store = new StoreHandle(ports, async () => {
    tries++;
    if (tries === 1) throw new Error("offline");
    return new Machinery(soundDriver(), ports);
  });
  const first = [store.append("t", {}), store.load("t")];
  await expect(first[0]).rejects.toThrow("offline");
  await expect(first[1]).rejects.toThrow("offline");
  await expect(store.append("t", {})).resolves.toMatchObject({ rev: 1 });
  await expect(store.append("t", {})).resolves.toMatchObject({ rev: 2 });
  expect(tries).toBe(2);
});

test("a call made while the machinery becomes ready does not overtake those that wait for it", async () => {
  const ports = completePorts({});
  const names: Promise<unknown>[] = [];
  const say = (name: string) => names.push(store.append("t", { payload: { name } }));
  const store = new StoreHandle(ports, async () => {
    void (async () => {
      for (const step of "123456") {
        await Promise.resolve();
        say(step);
      }
    })();
    return new Machinery(soundDriver(), ports);
  });
  for (const name of ["a", "b"]) say(name);
  await store.load("t");
  await Promise.all(names);
  const stored = (await store.load("t"))?.toArray().map(({ payload }) => payload["name"]);
  expect(stored?.join("")).toBe("ab123456");
});
