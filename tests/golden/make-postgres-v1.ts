/**
 * Makes the golden files of Postgres schema 1. Run once, when the schema was new; the files are what Heddle 0.1 wrote and
 * are never made again: a later version that cannot read them has broken a promise.
 *
 * node tests/golden/make-postgres-v1.ts
 */
import { writeFileSync } from "node:fs";
import postgres from "postgres";
import { postgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { V1 } from "../../src/stores/postgres/schema/v1.ts";
import { asText, everythingIn } from "../support/everything.ts";
import { startPostgres } from "../support/postgres/start-postgres.ts";
import { countingPorts, writeSample } from "../support/sample.ts";

const server = await startPostgres({ own: true });
const store = postgresStore(server.url, countingPorts());
const names = await writeSample(store);
const { feed: _, ...contents } = await everythingIn(store, names); // cursors hold this server's transaction ids
await store.close();

const sql = postgres(server.url, { max: 1 });
const tables: Record<string, unknown> = {};
for (const table of ["threads", "entries", "big_payloads", "records", "claims", "meta"]) {
  const [row] = await sql`select coalesce(json_agg(t), '[]') as rows from ${sql(`heddle.${table}`)} t`;
  tables[table] = row?.["rows"];
}
await sql.end();
await server.stop();

writeFileSync(new URL("./postgres-v1.sql", import.meta.url), V1);
writeFileSync(new URL("./postgres-v1-tables.json", import.meta.url), `${JSON.stringify(tables, null, 1)}\n`);
writeFileSync(new URL("./postgres-v1.json", import.meta.url), asText({ names, contents }));
