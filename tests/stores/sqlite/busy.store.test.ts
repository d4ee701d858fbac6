import { type SqliteConnection, sqliteStore } from "heddle/sqlite";
import { note } from "heddle/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { BUSY_TIMEOUT_MS, BusyPauses } from "../../../src/stores/sqlite/errors.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { plainConnect, recording } from "./support/recording.ts";

/** A store, and a connection that holds the write lock as another process does. */
function openBeside() {
  const sql = recording();
  const path = fastFile();
  const store = sqliteStore(path, { connect: sql.connect });
  const other: SqliteConnection = plainConnect()(path);
  onTestFinished(async () => {
    other.close();
    await store.close();
  });
  sql.forget();
  other.exec("BEGIN IMMEDIATE");
  const tried = () => sql.ran.filter((statement) => statement === "BEGIN IMMEDIATE").length;
  const committed = () => sql.ran.filter((statement) => statement === "COMMIT").length;
  return { store, sql, tried, committed, release: () => other.exec("COMMIT") };
}

test("while another process writes, an append waits and the event loop continues", async () => {
  const { store, tried, committed, release } = openBeside();
  let isStored = false;
  const first = store.append("a", note()).finally(() => {
    isStored = true;
  });
  await expect.poll(tried).toBeGreaterThan(2);
  const second = store.append("b", note());
  expect([isStored, committed(), (await store.load("a"))?.rev]).toEqual([false, 0, undefined]);
  release();
  expect((await Promise.all([first, second])).map(({ rev }) => rev)).toEqual([1, 1]);
  expect(committed(), "appends that wait share a transaction").toBe(1);
});

test("closing waits for appends that wait", async () => {
  const { store, tried, release } = openBeside();
  const append = store.append("a", note());
  await expect.poll(tried).toBeGreaterThan(1);
  const closed = store.close();
  release();
  await closed;
  expect((await append).rev).toBe(1);
});

test("an append that has waited too long is store_busy, and one that came later is stored", async () => {
  const { store, tried, release } = openBeside();
  const first = store.append("a", note()).catch((error: unknown) => error);
  await expect.poll(tried).toBeGreaterThan(1);
  const start = performance.now();
  const now = vi.spyOn(performance, "now").mockImplementation(() => start + BUSY_TIMEOUT_MS + 1000);
  onTestFinished(() => now.mockRestore());
  const second = store.append("b", note());
  expect(await first).toMatchObject({ code: "store_busy", retryable: true });
  release();
  expect((await second).rev).toBe(1);
  expect(await store.load("a")).toBeUndefined();
});

test("a read of a file that another process recovers is tried again", async () => {
  const { store, sql, release } = openBeside();
  release();
  await store.append("a", note());
  let refused = 0;
  sql.before = (statement) => {
    if (statement.startsWith("SELECT") && refused++ < 3) throw Object.assign(new Error("locked"), { errcode: 261 });
  };
  expect((await store.load("a"))?.rev).toBe(1);
  expect(refused).toBeGreaterThan(3);
});

test("pauses grow with the usual wait, shrink as a call waits, and end when no other process writes", () => {
  const pauses = new BusyPauses();
  expect(pauses.first()).toBe(0);
  for (let call = 0; call < 20; call++) {
    pauses.next(10);
    pauses.end(200);
  }
  expect(pauses.first()).toBeGreaterThan(70);
  expect(pauses.next(100)).toBeGreaterThan(9);
  expect(pauses.next(600)).toBeLessThan(2);
  for (let call = 0; call < 8; call++) pauses.end(1);
  expect(pauses.first()).toBe(0);
});
