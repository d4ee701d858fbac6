import { readFileSync } from "node:fs";
import { note } from "heddle/testing";
import { expect, test } from "vitest";
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
  await restore();
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

/** As a dump of then would be restored: the tables as they were made, then their rows, then where counting goes on. */
async function restore(): Promise<void> {
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
