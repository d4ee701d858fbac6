import { defineStore, MemoryDatabase, type StoreDriver } from "heddle/store";
import { note } from "heddle/testing";
import { expect, test } from "vitest";
import { memoryDriver } from "../../../src/stores/memory-store.ts";

const notes = (count: number) => Array.from({ length: count }, () => note());

/** A store of one thread. The head is read after the rows, and `between` is called before it. */
async function slowStore(between: (plain: ReturnType<typeof defineStore>) => Promise<unknown>) {
  const tenant = new MemoryDatabase().tenant("t");
  const plain = defineStore(memoryDriver(tenant, Date.now));
  await plain.append("t", notes(5));
  const sound = memoryDriver(tenant, Date.now);
  const read = Promise.withResolvers<void>();
  let reads = 0;
  const rows: StoreDriver["rows"] = async (threadId, range) => {
    const found = await sound.rows(threadId, range);
    reads++;
    read.resolve();
    return found;
  };
  const head: StoreDriver["head"] = async (threadId) => {
    await read.promise;
    if (reads === 1) await between(plain);
    return sound.head(threadId);
  };
  return { plain, slow: defineStore({ ...sound, rows, head }), reads: () => reads };
}

test("a load asks for the head and the rows at once", async () => {
  const { plain, slow, reads } = await slowStore(async () => undefined);
  expect((await slow.load("t", { last: 9 }))?.toArray()).toEqual((await plain.load("t"))?.toArray());
  expect(reads()).toBe(1);
});

test.each([
  ["appended to", async (plain: ReturnType<typeof defineStore>) => plain.append("t", note())],
  [
    "deleted and made again",
    async (plain: ReturnType<typeof defineStore>) => {
      await plain.delete("t");
      await plain.append("t", notes(5));
    },
  ],
])("rows that were read before the thread was %s are read again", async (_what, change) => {
  const { plain, slow, reads } = await slowStore(change);
  const loaded = await slow.load("t", { last: 9 });
  expect(loaded?.toArray()).toEqual((await plain.load("t"))?.toArray());
  expect(reads()).toBe(2);
});
