import { expect, inject, test } from "vitest";
import { openStore, rawConnection } from "./open.ts";

const sql = rawConnection();

test.each([
  ["durable", "on"],
  ["relaxed", "off"],
] as const)("%s commits with synchronous_commit=%s, whatever the connection came with", async (mode, expected) => {
  const url = new URL(inject("postgresUrl"));
  url.searchParams.set("synchronous_commit", expected === "on" ? "off" : "on");
  const store = openStore({ mode, tenant: mode }, url.href);
  await store.append("before", {});
  await sql`create table seen (setting text)`;
  await sql`create function look() returns trigger language plpgsql set search_path from current as
    $$ begin insert into seen values (current_setting('synchronous_commit')); return null; end $$`;
  for (const table of ["entries", "records", "claims"])
    await sql`create trigger look after insert on ${sql(table)} execute function look()`;
  await store.append("t", {});
  await store.putCheckpoint("k", 1);
  await store.claim("t", { holder: "me", ttlMs: 1000 });
  expect(await sql`select setting from seen`).toEqual(Array(3).fill({ setting: expected }));
  await sql`drop table seen`;
  await sql`drop function look cascade`;
});
