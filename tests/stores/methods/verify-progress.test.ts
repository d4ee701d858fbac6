import { memoryStore } from "heddle";
import { expect, test } from "vitest";

test("verify reports its progress from the first entry, and refuses other options", async () => {
  const store = memoryStore();
  await store.append(
    "thread_1",
    Array.from({ length: 2500 }, () => ({ kind: "note" })),
  );
  const told: number[] = [];
  const report = await store.verify("thread_1", { onProgress: (entries) => told.push(entries) });
  expect(report).toMatchObject({ ok: true, entries: 2500 });
  expect(told).toEqual([0, 1000, 2000]);
  await expect(store.verify("thread_1", { progress: () => undefined } as object)).rejects.toMatchObject({
    code: "invalid_options",
  });
});
