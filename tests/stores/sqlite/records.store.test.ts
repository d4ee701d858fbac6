import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "heddle/sqlite";
import { expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";

test("a checkpoint or blob that became a number is damage, not absence", async () => {
  const path = fastFile();
  const store = sqliteStore(path);
  await store.putCheckpoint("resume", { step: 3 });
  const hash = await store.putBlob({ prompt: "weave" });
  const database = new DatabaseSync(path);
  database.exec("UPDATE records SET value = 105");
  database.close();
  await expect(store.getCheckpoint("resume")).rejects.toMatchObject({ name: "CorruptionError", code: "corrupt" });
  await expect(store.getBlob(hash)).rejects.toMatchObject({ name: "CorruptionError", code: "corrupt" });
  expect(await store.getCheckpoint("never put")).toBeUndefined();
  await store.close();
});
