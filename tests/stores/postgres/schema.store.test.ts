import { randomUUID } from "node:crypto";
import { expect, inject, onTestFinished, test } from "vitest";
import { openStore, rawConnection } from "./open.ts";

const sql = rawConnection();

function freshSchema(): string {
  const schema = `test_${randomUUID().replaceAll("-", "")}`;
  onTestFinished(async () => {
    await sql`drop schema if exists ${sql(schema)} cascade`;
  });
  return schema;
}

test("many stores that start at once make one schema", async () => {
  const schema = freshSchema();
  const stores = Array.from({ length: 8 }, () => openStore({ schema, maxConnections: 3 }));
  await Promise.all(stores.map((store) => store.append("t", {})));
  expect((await stores[0]?.load("t"))?.rev).toBe(8);
  expect(await sql`select name, value from ${sql(`${schema}.meta`)} order by name`).toEqual([
    { name: "feed_epoch", value: expect.stringMatching(/^[0-9a-f]{16}$/) },
    { name: "version", value: "2" },
  ]);
});

test("a schema newer than this code is refused before anything is written", async () => {
  const schema = freshSchema();
  await openStore({ schema }).append("t", {});
  await sql`update ${sql(`${schema}.meta`)} set value = '3'`;
  const store = openStore({ schema });
  await expect(store.append("t", {})).rejects.toMatchObject({ code: "store_schema_newer", retryable: false });
  await expect(store.load("t")).rejects.toMatchObject({ code: "store_schema_newer" });
  expect(await sql`select rev from ${sql(`${schema}.threads`)}`).toEqual([{ rev: 1 }]);
  await sql`update ${sql(`${schema}.meta`)} set value = '2'`;
  expect((await store.append("t", {})).rev).toBe(2);
});

test("a schema of another program is not changed", async () => {
  const schema = freshSchema();
  await sql`create schema ${sql(schema)}`;
  await sql`create table ${sql(`${schema}.threads`)} (name text)`;
  await expect(openStore({ schema }).load("t")).rejects.toMatchObject({ code: "store_not_heddle" });
  expect(await sql`select from pg_class where relnamespace = ${schema}::regnamespace`).toHaveLength(1);
});

test("a role without the right to create schemas works in an existing one", async () => {
  const schema = freshSchema();
  const role = `role_${schema}`.slice(0, 40);
  await sql`create role ${sql(role)} login password 'made for this test'`;
  onTestFinished(async () => {
    await sql`drop schema ${sql(schema)} cascade`;
    await sql`drop role ${sql(role)}`;
  });
  await sql`create schema ${sql(schema)} authorization ${sql(role)}`;
  const url = new URL(inject("postgresUrl"));
  url.username = role;
  url.password = "made for this test";
  const store = openStore({ schema }, url.href);
  expect((await store.append("t", {})).rev).toBe(1);
  await store.close();
});
