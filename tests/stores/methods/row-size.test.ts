import { defineStore, MemoryDatabase } from "heddle/store";
import { expect, test } from "vitest";
import { memoryDriver } from "../../../src/stores/memory-store.ts";

test("content that no row of the driver can hold is refused before it is written", async () => {
  const driver = memoryDriver(new MemoryDatabase().tenant("t"), () => 0);
  const store = defineStore({ ...driver, maxRowBytes: 50_000 });
  const large = "é".repeat(30_000);
  const refused = { code: "too_large", message: expect.stringContaining("60") };
  await expect(store.append("t", { kind: "note", payload: { text: large } })).rejects.toMatchObject(refused);
  await expect(store.putBlob(large)).rejects.toMatchObject(refused);
  await expect(store.putCheckpoint("key", large)).rejects.toMatchObject(refused);
  expect([await store.load("t"), store.maxRowBytes]).toEqual([undefined, 50_000]);
  await store.append("t", { kind: "note", payload: { text: "é".repeat(20_000) } });
  expect((await store.load("t"))?.entryCount).toBe(1);
});
