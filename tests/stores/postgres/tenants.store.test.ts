import { randomUUID } from "node:crypto";
import type { Entry } from "heddle";
import { type PostgresDatabaseOptions, postgresDatabase } from "heddle/postgres";
import { note } from "heddle/testing";
import { afterAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { openStore, rawConnection, schema } from "./open.ts";

const closing: (() => Promise<void>)[] = [];

afterAll(async () => {
  await Promise.all(closing.map((close) => close()));
});

function openDatabase(options: PostgresDatabaseOptions = {}, url = inject("postgresUrl")) {
  const database = postgresDatabase(url, { schema, ...options });
  closing.push(() => database.close());
  return database;
}

const sql = rawConnection();

/** A role that may open only so many connections. The server refuses any more. */
async function urlWithLimit(limit: number): Promise<{ readonly url: string; readonly schema: string }> {
  const name = `limited_${randomUUID().replaceAll("-", "").slice(0, 20)}`;
  await sql.unsafe(`create role ${name} login password 'limited' connection limit ${limit}`);
  await sql.unsafe(`create schema ${name} authorization ${name}`);
  onTestFinished(async () => {
    await sql.unsafe(`drop schema ${name} cascade`);
    await sql.unsafe(`drop role ${name}`);
  });
  const url = new URL(inject("postgresUrl"));
  url.username = name;
  url.password = "limited";
  return { url: url.href, schema: name };
}

test("forty tenants that write, read and watch at once use at most ten connections", async () => {
  const limited = await urlWithLimit(10);
  const database = openDatabase({ schema: limited.schema }, limited.url);
  await database.tenant("t0").list();
  await Promise.all(
    Array.from({ length: 40 }, async (_, n) => {
      const store = database.tenant(`t${n}`);
      const watcher = store.watch("thread", { fromSeq: 0 })[Symbol.asyncIterator]();
      const seen = watcher.next();
      await Promise.all(Array.from({ length: 5 }, (_, step) => store.append("thread", note({ n, step }))));
      const [thread, page] = await Promise.all([store.load("thread"), store.list(), store.verify("thread")]);
      expect([thread?.rev, page.threads.length, (await seen).value?.payload["n"]]).toEqual([5, 1, n]);
      await store.close();
    }),
  );
  await database.close();
});

test("tenants do not see each other, also under one thread id", async () => {
  const database = openDatabase();
  await database.tenant("one").append("same", note({ of: "one" }));
  await database.tenant("two").append("same", [note({ of: "two" }), note({ of: "two" })]);
  expect((await database.tenant("one").load("same"))?.rev).toBe(1);
  expect((await openStore({ tenant: "two" }).load("same"))?.rev).toBe(2);
  expect(await database.tenant("three").load("same")).toBeUndefined();
});

test("closing the store of a tenant waits for its appends and leaves the database open", async () => {
  const database = openDatabase();
  const store = database.tenant("closed");
  const appended = store.append("t", {});
  await store.close();
  expect((await appended).rev).toBe(1);
  await expect(store.load("t")).rejects.toMatchObject({ code: "store_closed" });
  expect((await database.tenant("closed").load("t"))?.rev).toBe(1);
  expect((await database.tenant("other").append("t", {})).rev).toBe(1);
});

test("closing the database waits for appends, ends all watchers and refuses further calls", async () => {
  const database = openDatabase({ pollMs: 2 ** 31 - 1 });
  const [one, two] = [database.tenant("watched-1"), database.tenant("watched-2")];
  const seen: Entry[] = [];
  const watching = [one, two].map(async (store) => {
    for await (const entry of store.watch("t", { fromSeq: 0 })) seen.push(entry);
  });
  await one.append("t", {});
  await expect.poll(() => seen.length).toBe(1);
  const last = two.append("t", {});
  await Promise.all([database.close(), database.close()]);
  expect((await last).rev).toBe(1);
  await Promise.all(watching);
  await expect(one.append("t", {})).rejects.toMatchObject({ code: "store_closed" });
  await expect(database.tenant("new").load("t")).rejects.toMatchObject({ code: "store_closed" });
});

describe("a tenant whose thread is locked by another session", () => {
  test("does not hold up the appends and deletions of other tenants", async () => {
    const database = openDatabase({ maxConnections: 6 }); // two of them write
    const [slow, quick] = [database.tenant("slow"), database.tenant("quick")];
    await Promise.all([slow.append("t", {}), quick.append("t", {})]);
    const other = await sql.reserve();
    await other`begin`;
    await other`select pg_advisory_xact_lock(hashtextextended(${`${schema}/slow/t`}, 0))`;
    let isDone = false;
    const waiting = Promise.all([slow.append("t", {}), slow.delete("t")]).finally(() => {
      isDone = true;
    });
    for (let n = 0; n < 20; n++) await quick.append("t", {});
    await quick.delete("t");
    expect(isDone).toBe(false);
    await other`rollback`;
    other.release();
    await waiting;
  });
});

test("the appends of a tenant share a transaction, and those of another have their own", async () => {
  const database = openDatabase();
  const [one, two] = [database.tenant("batch-1"), database.tenant("batch-2")];
  await Promise.all([one.append("a", {}), two.append("a", {}), one.append("b", {}), two.append("b", {})]);
  const rows = await sql<{ tenant: string; transactions: number }[]>`
    select tenant, count(distinct xid)::int as transactions from entries where tenant like 'batch-_' group by tenant`;
  expect(rows.map(({ transactions }) => transactions)).toEqual([1, 1]);
});

test("the name of a tenant is checked, and the database has no option tenant", () => {
  const database = openDatabase();
  expect(() => database.tenant("a/b")).toThrow(expect.objectContaining({ code: "invalid_id" }));
  const options: object = { tenant: "a" };
  expect(() => postgresDatabase(inject("postgresUrl"), options)).toThrow(
    expect.objectContaining({ code: "invalid_options" }),
  );
});
