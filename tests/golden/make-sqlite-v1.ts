/**
 * Makes the golden files of schema 1. Run once, when the schema was new; the files are what Heddle 0.1 wrote and are
 * never made again: a later version that cannot read them has broken a promise.
 *
 * node tests/golden/make-sqlite-v1.ts
 */
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { nodeSqlite } from "../../src/stores/sqlite/connection.ts";
import { sqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { asText, everythingIn } from "../support/everything.ts";
import { countingPorts, writeSample } from "../support/sample.ts";

const database = fileURLToPath(new URL("./sqlite-v1.db", import.meta.url));
rmSync(database, { force: true });
const store = sqliteStore(database, countingPorts());
const names = await writeSample(store);
const contents = await everythingIn(store, names);
await store.close();

const connection = nodeSqlite()?.(database);
const ddl = connection?.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").all() ?? [];
connection?.close();
writeFileSync(new URL("./sqlite-v1.sql", import.meta.url), `${ddl.map(([sql]) => `${String(sql)};`).join("\n\n")}\n`);
writeFileSync(new URL("./sqlite-v1.json", import.meta.url), asText({ names, contents }));
