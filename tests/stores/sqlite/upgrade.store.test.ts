import { sqliteStore } from "heddle/sqlite";
import { note } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import type { UpgradeProgress } from "../../../src/stores/options.ts";
import { writeEarlierFile } from "../../support/earlier-database.ts";
import { takesLeftRequests } from "../../support/earlier-requests.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { plainConnect } from "./support/recording.ts";

function earlierFile(isRunning = false): string {
  const path = fastFile();
  writeEarlierFile(path, { threads: 2, entriesPerThread: 10, isRunning });
  return path;
}

test("an upgrade reports its progress from the first step to the last", async () => {
  const path = earlierFile();
  const seen: UpgradeProgress[] = [];
  const onUpgrade = (progress: UpgradeProgress) => {
    seen.push(progress);
    throw new Error("a report that fails stops no upgrade");
  };
  const store = sqliteStore(path, { onUpgrade });
  onTestFinished(() => store.close());
  const steps = seen[0]?.steps ?? 0;
  expect(seen).toEqual(Array.from({ length: steps + 1 }, (_, done) => ({ from: 1, to: 2, entries: 20, done, steps })));
  expect(await store.verify("earlier_1")).toMatchObject({ ok: true, entries: 10 });
  for (const file of [path, fastFile()]) await sqliteStore(file, { onUpgrade }).close();
  expect(seen).toHaveLength(steps + 1);
});

test("a process that cannot wait for an upgrade gets an error that names it", async () => {
  const path = earlierFile();
  const connect = (file: string) => {
    const connection = plainConnect()(file);
    const exec = (sql: string) => {
      if (sql === "BEGIN IMMEDIATE") throw Object.assign(new Error("database is locked"), { errcode: 5 }); // after the wait
      connection.exec(sql);
    };
    return { ...connection, exec };
  };
  const busy = { code: "store_busy", retryable: true, message: expect.stringContaining("being upgraded") };
  expect(() => sqliteStore(path, { connect })).toThrow(expect.objectContaining(busy));
  const store = sqliteStore(path);
  expect((await store.append("earlier_0", note())).rev).toBe(11);
  await store.close();
});

test("a worker takes the requests that a process of 0.1 has left", async () => {
  await takesLeftRequests(sqliteStore(earlierFile(true)));
});
