import { note } from "heddle/testing";
import { expect, inject, onTestFinished, test } from "vitest";
import type { UpgradeProgress } from "../../../src/stores/options.ts";
import { openPostgresStore } from "../../../src/stores/postgres/postgres-store.ts";
import { writeEarlierSchema } from "../../support/earlier-database.ts";
import { takesLeftRequests } from "../../support/earlier-requests.ts";
import { until } from "../../support/postgres/until.ts";
import { openStore, rawConnection, schema } from "./open.ts";

/** A database of 0.1 with a few threads, in a schema of its own. */
async function earlierSchema(name: string, isRunning = false): Promise<string> {
  const own = schema.replace("test_", `test_${name}_`);
  const sql = rawConnection();
  onTestFinished(async () => {
    await sql`drop schema if exists ${sql(own)} cascade`;
  });
  await writeEarlierSchema(sql, own, { threads: 2, entriesPerThread: 10, isRunning });
  return own;
}

test("an upgrade reports its progress from the first step to the last", async () => {
  const own = await earlierSchema("progress");
  const seen: UpgradeProgress[] = [];
  const store = openStore({ schema: own, onUpgrade: (progress) => seen.push(progress) });
  expect(await store.verify("earlier_1")).toMatchObject({ ok: true, entries: 10 });
  expect(seen[0]).toMatchObject({ from: 1, to: 2, done: 0 });
  expect(seen.at(-1)?.done).toBe(seen[0]?.steps);
  const again: UpgradeProgress[] = [];
  await openStore({ schema: own, onUpgrade: (progress) => again.push(progress) }).list();
  expect(again).toEqual([]);
});

test("a call that cannot wait for an upgrade says so, and the upgrade continues", async () => {
  const own = await earlierSchema("waits");
  const sql = rawConnection();
  const reader = await sql.reserve(); // the upgrade waits for this transaction
  await reader.unsafe(`begin; select from ${own}.threads`);
  const seen: UpgradeProgress[] = [];
  const options = { schema: own, callTimeoutMs: 1500 };
  const first = openStore({ ...options, onUpgrade: (progress) => seen.push(progress) });
  const second = openStore(options);
  let isOpen = false;
  const opening = openPostgresStore(inject("postgresUrl"), options).then((store) => {
    isOpen = true;
    return store;
  });
  const calls = [first.list(), second.append("earlier_0", note())];
  for (const call of calls)
    await expect(call).rejects.toMatchObject({
      code: "store_busy",
      retryable: true,
      message: expect.stringMatching(/is being upgraded .* entries, \d+ % of the steps are done/),
    });
  expect(isOpen).toBe(false);
  await reader.unsafe("commit");
  reader.release();
  await expect.poll(() => seen.at(-1)?.done).toBe(seen[0]?.steps);
  await (await opening).close();
  expect((await second.append("earlier_0", note())).rev).toBe(11);
  expect(await first.verify("earlier_0")).toMatchObject({ ok: true, entries: 11 });
});

test.each([
  ["reads threads, then writes them, as an append does", "threads", "threads"],
  ["reads entries, then writes threads", "entries", "threads"],
])("an upgrade does not fail beside an old process that %s", async (_, first, second) => {
  const own = await earlierSchema(first);
  const [old, sql] = [await rawConnection().reserve(), rawConnection()];
  await old.unsafe(`begin; select from ${own}.${first}`);
  const store = openStore({ schema: own });
  const listed = store.list();
  await until("the upgrade waits for the old process", async () => {
    const waiting = await sql`select from pg_locks where not granted and relation = ${`${own}.${first}`}::regclass`;
    return waiting.length > 0;
  });
  const ended = old.unsafe(`update ${own}.${second} set id = id where false; commit`);
  if (first === "threads") await ended;
  else await ended.catch(() => old.unsafe("rollback")); // one of the two is aborted
  old.release();
  expect((await listed).threads).toHaveLength(2);
  expect(await store.verify("earlier_0")).toMatchObject({ ok: true, entries: 10 });
});

test("a worker takes the requests that a process of 0.1 has left", async () => {
  await takesLeftRequests(openStore({ schema: await earlierSchema("left", true) }));
});
