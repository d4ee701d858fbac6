import { memoryStore, type ThreadStore } from "heddle";
import { postgresStore } from "heddle/postgres";
import { sqliteStore } from "heddle/sqlite";
import { expect, inject, test } from "vitest";
import { tempFile } from "../../support/temp-folder.ts";

const stores: readonly [name: string, open: () => ThreadStore][] = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(tempFile())],
  ["Postgres", () => postgresStore(inject("postgresUrl"))],
];

test.each(stores)("the %s store refuses a lone surrogate, and names its path and the cause", async (_, open) => {
  const store = open();
  const half = "\ud83d";
  const refused = (path: string) => ({
    code: "not_json",
    path,
    message: expect.stringContaining("a lone surrogate"),
  });
  const inText = store.append("t", { kind: "note", payload: { list: [{ text: `cut ${half}` }] } });
  await expect(inText).rejects.toMatchObject(refused("entry.payload.list[0].text"));
  const inKey = store.append("t", [{ kind: "note" }, { kind: "note", payload: { [half]: 1 } }]);
  await expect(inKey).rejects.toMatchObject(refused("entries[1].payload"));
  const inMetadata = store.append("t", { kind: "note" }, { metadata: { title: half } });
  await expect(inMetadata).rejects.toMatchObject(refused("metadata.title"));
  await expect(store.putCheckpoint("k", { text: half })).rejects.toMatchObject(refused("value.text"));
  await expect(store.putBlob({ text: half })).rejects.toMatchObject(refused("content.text"));
  expect(await store.load("t")).toBeUndefined();
  await store.close();
});
