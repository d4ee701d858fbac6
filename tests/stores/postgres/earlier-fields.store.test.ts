import { expect, test } from "vitest";
import { V1 } from "../../../src/stores/postgres/schema/v1.ts";
import { earlierMetadata, expectedFields } from "../support/earlier-metadata.ts";
import { openStore, rawConnection, schema } from "./open.ts";

test("the upgrade makes the fields of earlier threads as an append would", async () => {
  const sql = rawConnection();
  const meta =
    "create table meta (name text primary key, value text not null); insert into meta values ('version', '1');";
  await sql.unsafe(`create schema ${schema}; set search_path to ${schema}; ${meta} ${V1}`);
  const texts = earlierMetadata.map((metadata) => JSON.stringify(metadata));
  await sql`
    insert into ${sql(`${schema}.threads`)} (tenant, id, rev, hash, created_at, updated_at, metadata, seal, track)
    select 'default', 't' || w.place, 0, '', 0, 0, w.metadata, '', '{}'
    from unnest(${texts}::text[]) with ordinality as w (metadata, place) order by w.place`;
  await openStore().load("none");
  const found = await sql`select thread, name, value from ${sql(`${schema}.thread_fields`)}`;
  expect(found.map(({ thread, name, value }) => JSON.stringify([thread, name, value])).sort()).toEqual(
    [...expectedFields(1)].sort(),
  );
});
