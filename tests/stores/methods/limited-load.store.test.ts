import { memoryStore, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { tempFile } from "../../support/temp-folder.ts";

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(tempFile())],
] as const)("a load that is limited by size: %s", (_name, open) => {
  async function tables(store: ThreadStore, count: number): Promise<ThreadStore> {
    for (let index = 0; index < count; index++) {
      const payload = { role: "tool", toolCallId: `c${index}`, content: "A table.", details: ["x".repeat(100_000)] };
      await store.append("thread_t", { kind: "ai_message", payload });
    }
    return store;
  }

  test.each([
    ["of all that fit", 1_000_000, 9],
    ["of the last one at least", 10, 1],
    ["of all where the limit is larger", 100_000_000, 40],
  ])("is the end %s", async (_what, maxChars, count) => {
    const store = await tables(open(), 40);
    const thread = await store.load("thread_t", { last: 40, maxChars });
    expect([thread?.rev, thread?.firstSeq]).toEqual([40, 40 - count]);
    const whole = await store.load("thread_t");
    expect(thread?.toArray({ partial: true })).toEqual(whole?.toArray().slice(-count));
    await store.close();
  });

  test("has at most one page, and small entries are all there", async () => {
    const store = open();
    await store.append(
      "thread_t",
      Array.from({ length: 700 }, (_, index) => ({ kind: "note", payload: { text: `Note ${index}` } })),
    );
    const first = async (last: number) => (await store.load("thread_t", { last, maxChars: 1_000_000 }))?.firstSeq;
    expect([await first(128), await first(700)]).toEqual([572, 201]);
    await expect(store.load("thread_t", { last: 1, maxChars: -1 })).rejects.toMatchObject({ code: "invalid_options" });
    await store.close();
  });
});
