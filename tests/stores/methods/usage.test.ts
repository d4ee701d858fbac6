import fc from "fast-check";
import { type EntryInput, memoryStore, type ThreadStore } from "heddle";
import { defineStore, MemoryDatabase } from "heddle/store";
import { note, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { addUsage, recordedUsage, type Usage } from "../../../src/agent/model-call.ts";
import { memoryDriver } from "../../../src/stores/memory-store.ts";

describe("usage", () => {
  test("costs what the prices say, with another price for cached input", async () => {
    const store = memoryStore();
    const usage = { inputTokens: 3_000_000, outputTokens: 2_000_000, cacheReadTokens: 1_000_000 };
    for (const model of ["a", "b", "c"]) await store.append("t", answer(model, usage));
    const prices = { a: { input: 2, output: 10, cached: 0.5 }, b: { input: 2, output: 10 } };
    const [day] = await store.usage({ prices });
    expect(day?.models.map(({ cost }) => cost)).toEqual([24.5, 26, undefined]);
    expect(day?.models[2]).not.toHaveProperty("cost");
  });

  test("costs another price for input that was written to the cache, by default that of input", async () => {
    const store = memoryStore();
    const usage = { inputTokens: 6_000_000, cacheReadTokens: 1_000_000, cacheWriteTokens: 2_000_000 };
    for (const model of ["a", "b"]) await store.append("t", answer(model, usage));
    const price = { input: 4, output: 0, cached: 1 };
    const [day] = await store.usage({ prices: { a: { ...price, cacheWrite: 5 }, b: price } });
    expect(day?.models.map(({ cost }) => cost)).toEqual([23, 21]);
  });

  test.each<Parameters<ThreadStore["usage"]>[0]>([
    { since: -1 },
    { until: 0.5 },
    { since: Number.MAX_SAFE_INTEGER },
    { prices: { a: { input: -1, output: 0 } } },
    { prices: { a: { input: 1 } as never } },
    { prices: { a: { input: 1, output: 1, cacheWrite: Number.NaN } } },
    { prices: [] as never },
    { user: "ada" } as never,
  ])("refuses %j", async (options) => {
    await expect(memoryStore().usage(options)).rejects.toMatchObject({ code: "invalid_options" });
  });

  test("of a driver that keeps none is refused, and says what to do", async () => {
    const { usage: _, ...driver } = memoryDriver(new MemoryDatabase().tenant("t"), Date.now);
    const store = defineStore(driver);
    await store.append("t", answer("m", { inputTokens: 1 }));
    const refusal = { code: "store_unsupported", message: expect.stringContaining("`usage`") };
    await expect(store.usage()).rejects.toMatchObject(refusal);
  });

  test("of a saved thread counts nothing, however long the thread is", async () => {
    const [from, to] = [memoryStore(), memoryStore()];
    await from.append(
      "t",
      Array.from({ length: 1001 }, () => answer("m", { inputTokens: 1 })),
    );
    const thread = await from.load("t");
    if (thread !== undefined) await to.save(thread);
    expect((await to.load("t"))?.rev).toBe(1001);
    expect(await to.usage()).toEqual([]);
  });

  test("is that of the entries", async () => {
    const models = fc.constantFrom("a", "b:c/d", "constructor", "__proto__");
    const count = fc.nat(1000);
    const usage = fc.record({ inputTokens: count, outputTokens: count, cacheReadTokens: count }, { requiredKeys: [] });
    const kind = fc.constantFrom("ai_message", "error", "note", "summary");
    const entry = fc.oneof(
      fc.tuple(models, usage, kind).map(([model, used, of]) => answer(model, used, of)),
      fc.nat(5).map((n) => ask(`r${n}`)),
      fc.constantFrom(note(), user("hi"), { ...ask("r1"), refs: {} }),
    );
    const batches = fc.array(
      fc.record({ thread: fc.constantFrom("t1", "t2"), batch: fc.array(entry, { maxLength: 4 }) }),
    );
    await fc.assert(
      fc.asyncProperty(batches, async (appends) => {
        const store = memoryStore({ clock: () => 0 });
        for (const { thread, batch } of appends) await store.append(thread, batch);
        for (const threadId of ["t1", "t2"])
          expect(await sumsOf(store, threadId)).toEqual(await counted(store, threadId));
      }),
      { numRuns: 60 },
    );
  });
});

const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

/** The slow way: from all entries. */
async function counted(store: ThreadStore, threadId: string) {
  const models = new Map<string, { usage: Usage; calls: number }>();
  let asks = 0;
  for await (const entry of store.read(threadId)) {
    const { role, steer, call } = entry.payload as Record<"role" | "steer", unknown> & {
      readonly call?: { readonly model: string };
    };
    if (/message$/.test(entry.kind) && role === "user" && steer === undefined && entry.refs["requestId"] !== undefined)
      asks++;
    if (call === undefined) continue;
    const { usage, calls } = models.get(call.model) ?? { usage: NO_TOKENS, calls: 0 };
    models.set(call.model, { usage: addUsage(usage, recordedUsage(call)), calls: calls + 1 });
  }
  return { asks, models };
}

async function sumsOf(store: ThreadStore, threadId: string) {
  const [day] = await store.usage({ threadId });
  const models = (day?.models ?? []).map(({ model, calls, ...tokens }): [string, { usage: Usage; calls: number }] => {
    return [model, { usage: tokens, calls }];
  });
  return { asks: day?.asks ?? 0, models: new Map(models) };
}

function ask(requestId: string): EntryInput {
  const refs = { requestId, runId: requestId };
  return { kind: "ai_message", payload: { role: "user", content: "hi", ...refs }, refs };
}

function answer(model: string, usage: Usage, kind = "ai_message"): EntryInput {
  return { kind, payload: { role: "assistant", content: "", call: { model, usage } } };
}
