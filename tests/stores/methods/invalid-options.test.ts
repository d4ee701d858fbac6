import { memoryStore, type ThreadStore } from "heddle";
import type { StoreOptions } from "heddle/store";
import { describe, expect, test } from "vitest";

/** Calls of people who write JavaScript, or a name wrong. */
const CALLS: Readonly<Record<string, (store: ThreadStore) => unknown>> = {
  "append with a misspelt expectedRev": (store) => store.append("t", {}, misspelt({ expectRev: 0 })),
  "append with null": (store) => store.append("t", {}, missing()),
  "load with null": (store) => store.load("t", missing()),
  "load with a misspelt last": (store) => store.load("t", misspelt({ lasts: 3 })),
  "read with a misspelt limit": (store) => first(store.read("t", misspelt({ limits: 1 }))),
  "list with a misspelt status": (store) => store.list(misspelt({ state: "idle" })),
  "watch without options": (store) => first(store.watch("t", missing())),
  "feed with a misspelt cursor": (store) => first(store.feed(misspelt({ cursor: "1" }))),
  "fork without options": (store) => store.fork("t", missing()),
  "claim without options": (store) => store.claim("t", missing()),
};

describe("invalid options", () => {
  test.each(Object.entries(CALLS))("are refused: %s", async (_, call) => {
    const store = memoryStore();
    await store.append("t", {});
    const refusal = await Promise.resolve(call(store)).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "StoreError", code: "invalid_options" });
    expect((await store.load("t"))?.rev).toBe(1);
    await store.close();
  });

  test.each<StoreOptions>([
    { keepBlobsMs: Number.NaN },
    { keepBlobsMs: "1d" as never },
    { keepOutcomesMs: -1 },
    { pollMs: 0.5 },
    { maxEntryChars: Number.POSITIVE_INFINITY },
  ])("of a store are refused: %j", (options) => {
    expect(() => memoryStore(options)).toThrow(expect.objectContaining({ code: "invalid_options" }));
  });

  test("are named in the message, with the known options", async () => {
    const store = memoryStore();
    await expect(store.append("t", {}, misspelt({ expectRev: 0 }))).rejects.toThrow(/expectRev.*expectedRev, epoch/);
  });

  test("are refused when a store is opened", () => {
    expect(() => memoryStore(misspelt({ tenent: "acme" }))).toThrow(/no option tenent/);
  });

  test("with the value undefined mean the default", async () => {
    const store = memoryStore({ clock: undefined } as object);
    expect((await store.append("t", {})).entries[0]?.at).toBeGreaterThan(0);
  });
});

function misspelt(options: object): object {
  return options;
}

function missing(): never {
  return null as never; // what only JavaScript can pass
}

async function first(items: AsyncIterable<unknown>): Promise<unknown> {
  for await (const item of items) return item;
  return undefined;
}
