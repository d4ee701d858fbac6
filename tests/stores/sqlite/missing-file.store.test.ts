import { renameSync, rmSync, writeFileSync } from "node:fs";
import { sqliteDatabase, sqliteStore } from "heddle/sqlite";
import { note } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { tempFile } from "../../support/temp-folder.ts";

const REFUSED = { code: "store_failed", message: expect.stringContaining("deleted or replaced") };

function opened() {
  const path = tempFile();
  let now = 1_000_000;
  const store = sqliteStore(path, { clock: () => now });
  onTestFinished(() => store.close());
  const pass = (ms: number): void => {
    now += ms;
  };
  return { path, store, pass };
}

test("an append to a file that was deleted fails, once a second has passed; so does verify at once", async () => {
  const { path, store, pass } = opened();
  await store.append("thread_1", note());
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
  const reason = expect.stringContaining("was deleted or replaced");
  expect(await store.verify("thread_1")).toMatchObject({ ok: false, bad: { reason } });
  pass(1000);
  for (let tries = 0; tries < 2; tries++) {
    await expect(store.append("thread_1", note())).rejects.toMatchObject(REFUSED);
  }
  expect((await store.load("thread_1"))?.rev).toBe(1); // it can still be read
});

test("a file that was replaced is found; one that was moved back is used again", async () => {
  const { path, store, pass } = opened();
  await store.append("thread_1", note());
  renameSync(path, `${path}.moved`);
  writeFileSync(path, "");
  pass(-5000); // the clock was set back
  await expect(store.append("thread_1", note())).rejects.toMatchObject(REFUSED);
  renameSync(`${path}.moved`, path);
  expect((await store.append("thread_1", note())).rev).toBe(2);
  expect(await store.verify("thread_1")).toMatchObject({ ok: true });
});

test("all tenants of a file that was deleted, and the leases, fail", async () => {
  const path = tempFile();
  let now = 1_000_000;
  const database = sqliteDatabase(path, { clock: () => now });
  onTestFinished(() => database.close());
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
  now += 1000;
  await expect(database.tenant("acme").append("thread_1", note())).rejects.toMatchObject(REFUSED);
  await expect(database.leases.start({ node: "pod-1", ttlMs: 10_000 })).rejects.toMatchObject(REFUSED);
});
