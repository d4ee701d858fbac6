import { memoryStore, projectFromStore, type ThreadStore } from "heddle";
import { defineStore, MemoryDatabase, type StoreDriver } from "heddle/store";
import { inLane, note } from "heddle/testing";
import { expect, test } from "vitest";
import { memoryDriver } from "../../../src/stores/memory-store.ts";

test("a tail never has the lanes of a thread that was recreated between two reads of it", async () => {
  const tenant = new MemoryDatabase().tenant("t");
  const plain = defineStore(memoryDriver(tenant, Date.now));
  const fill = (inSide: number) =>
    plain.append("t", [...Array.from({ length: inSide }, () => inLane("side", note())), note(), note(), note()]);
  const sound = memoryDriver(tenant, Date.now);
  let recreations = 0;
  const lanes: StoreDriver["lanes"] = async (threadId, names) => {
    if (recreations++ === 0) {
      await plain.delete("t");
      await fill(3);
    }
    return sound.lanes(threadId, names);
  };
  const load = async (store: ThreadStore) => {
    const tail = await store.load("t", { last: 2, lanes: ["side"] });
    return { base: tail?.base, entries: tail?.toArray({ partial: true }) };
  };

  await fill(1);
  const loaded = await load(defineStore({ ...sound, lanes }));
  expect(recreations).toBe(2);
  expect(loaded).toEqual(await load(plain));
});

test("a longer tail never has entries of a thread that was deleted and created again since", async () => {
  const plain = memoryStore();
  const say = (words: string) =>
    Array.from({ length: 400 }, (_, at) => ({ kind: "message", payload: { role: "user", content: `${words} ${at}` } }));
  await plain.append("t", say("old"));
  let loads = 0;
  const load: ThreadStore["load"] = async (...args) => {
    const found = await plain.load(...args);
    if (loads++ === 0) {
      await plain.delete("t");
      await plain.append("t", say("new"));
    }
    return found;
  };
  const policy = { maxInputTokens: 5000, reserveOutputTokens: 100 };
  const { messages } = await projectFromStore({ ...plain, load }, "t", { policy });
  expect(loads).toBeGreaterThan(1);
  expect(messages.length).toBeGreaterThan(20);
  expect(JSON.stringify(messages)).not.toContain("old");
});
