import { note } from "heddle/testing";
import { expect, test } from "vitest";
import { memoryDatabase } from "../../../src/stores/memory-database.ts";
import { MemoryDatabase } from "../../../src/stores/memory-store.ts";

test("a thread that has nothing to do, and no row that says so, gets none, also after it was deleted", async () => {
  const data = new MemoryDatabase();
  const store = memoryDatabase({ database: data }).tenant("acme");
  const rows = () => [...data.tenant("acme").runnable];
  await store.append("t", note(), { next: { agent: "ada" } });
  await store.append("t", [], { next: null });
  expect(rows()).toEqual([["t", { agent: "ada", dueAt: null, priority: 0 }]]);
  await store.delete("t");
  await store.append("t", [], { next: null });
  await store.append("other", note(), { next: null });
  expect(rows()).toEqual([]);
});
