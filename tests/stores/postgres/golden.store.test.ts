import { readFileSync } from "node:fs";
import { inLane, note } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { V1 } from "../../../src/stores/postgres/schema/v1.ts";
import { asText, everythingIn, type Names } from "../../support/everything.ts";
import { openStore, rawConnection, schema } from "./open.ts";

const golden = (name: string) => readFileSync(new URL(`../../golden/${name}`, import.meta.url), "utf8");

interface Golden {
  readonly names: Names;
  readonly contents: Omit<Awaited<ReturnType<typeof everythingIn>>, "feed">;
}

test("schema 1 still creates the same tables", () => {
  expect(V1).toBe(golden("postgres-v1.sql"));
});

test("a database of schema 1 opens complete, and can be continued", async () => {
  await restore(schema);
  const { names, contents } = JSON.parse(golden("postgres-v1.json")) as Golden;
  const store = openStore();
  const { feed: _, ...found } = await everythingIn(store, names);
  expect(asText(found)).toBe(asText(contents));
  for (const { id, rev } of contents.byId) {
    expect(await store.verify(id)).toMatchObject({ ok: true, entries: rev });
    expect((await store.append(id, note())).rev).toBe(rev + 1);
    expect(await store.verify(id)).toMatchObject({ ok: true, entries: rev + 1 });
  }
});

test("a process of 0.1 that is connected during the upgrade can no longer read heads, so it can not append", async () => {
  const sql = rawConnection();
  const name = schema.replace("test_", "test_fence_");
  onTestFinished(async () => {
    await sql`drop schema if exists ${sql(name)} cascade`;
  });
  await restore(name);
  const threads = sql(`${name}.threads`);
  const head = () => sql`select t.key, t.seal, t.track, t.mark from ${threads} t where t.id = ${"counted"}`;
  const key = (await head())[0]?.["key"] as number; // the golden thread has a number
  const store = openStore({ schema: name });
  expect(await store.verify("counted")).toMatchObject({ ok: true });
  await expect(head()).rejects.toThrow(/track does not exist/);
  await expect(sql`update ${threads} set track = '{}', mark = null where key = ${key}`).rejects.toThrow(
    /does not exist/,
  );
  await store.append("counted", [inLane("a", note()), inLane("b", note())]);
  const lanes = () => sql`select from ${sql(`${name}.lanes`)} where thread = ${key}`;
  expect(await lanes()).not.toHaveLength(0);
  await sql`delete from ${sql(`${name}.entries`)} where thread = ${key}`;
  await sql`delete from ${threads} where key = ${key}`;
  expect(await lanes()).toHaveLength(0);
});

/** As a dump of then would be restored: the tables as they were made, then their rows, then where counting goes on. */
async function restore(schema: string): Promise<void> {
  const sql = rawConnection();
  const tables = JSON.parse(golden("postgres-v1-tables.json")) as Readonly<Record<string, object[]>>;
  const meta = "create table meta (name text primary key, value text not null);";
  await sql.unsafe(`create schema ${schema}; set search_path to ${schema}; ${golden("postgres-v1.sql")} ${meta}`);
  for (const [table, rows] of Object.entries(tables)) {
    const name = sql(`${schema}.${table}`);
    await sql`insert into ${name} overriding system value
      select * from json_populate_recordset(null::${name}, ${JSON.stringify(rows)}::text::json)`;
  }
  for (const [table, column] of [
    ["threads", "key"],
    ["entries", "pos"],
  ] as const) {
    await sql`select setval(pg_get_serial_sequence(${`${schema}.${table}`}, ${column}), max(${sql(column)}))
      from ${sql(`${schema}.${table}`)}`;
  }
}
