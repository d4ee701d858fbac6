import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "heddle/sqlite";
import { expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";

const APPENDS = 100;

test("a single append writes its entry, two indexes of it, the head, and no index of threads", async () => {
  const path = fastFile("pages.db");
  const store = sqliteStore(path);
  await store.append("thread_1", { kind: "message", payload: { role: "user", content: "hello" } });
  const log = new DatabaseSync(path);
  log.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  for (let turn = 0; turn < APPENDS; turn++)
    await store.append("thread_1", { kind: "message", payload: { role: "user", content: "hello" } });
  const pages = log.prepare("PRAGMA wal_checkpoint(PASSIVE)").get()?.["log"];
  log.close();
  await store.close();
  expect(Number(pages) / APPENDS, "4, and some for pages that are full").toBeLessThan(4.6);
});
