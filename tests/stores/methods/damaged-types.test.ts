import { defineStore, MemoryDatabase } from "heddle/store";
import { note } from "heddle/testing";
import { expect, test } from "vitest";
import { memoryDriver } from "../../../src/stores/memory-store.ts";
import { earlierThread, putEarlierThread } from "../../support/earlier-thread.ts";

// A flipped bit in the header of a record of SQLite turns a text into bytes or a number.

test.each([7, new Uint8Array([123, 125]), 0.5])(
  "a payload that is %s and no text is a damaged entry",
  async (value) => {
    const tenant = new MemoryDatabase().tenant("t");
    const { head, rows } = earlierThread("thread_1", [note(), note()]);
    const payload = value as unknown as string; // the damage
    putEarlierThread(tenant, "thread_1", {
      head,
      rows: rows.map((row) => (row.seq === 1 ? { ...row, payload } : row)),
    });
    const store = defineStore(memoryDriver(tenant, Date.now));
    await expect(store.load("thread_1")).rejects.toMatchObject({ code: "corrupt", seq: 1 });
    await expect(Array.fromAsync(store.read("thread_1"))).rejects.toMatchObject({ code: "corrupt", seq: 1 });
    expect(await store.verify("thread_1")).toMatchObject({ ok: false });
  },
);
