import { randomUUID } from "node:crypto";
import type { ThreadStore } from "heddle";
import {
  type PostgresDatabaseOptions,
  type PostgresStoreOptions,
  postgresDatabase,
  postgresStore,
} from "heddle/postgres";
import type { ThreadDatabase } from "heddle/store";
import postgres from "postgres";
import { afterAll, inject, onTestFinished, TestRunner } from "vitest";

/** The schema of the test file that runs. Stores and raw connections use it. */
export let schema = "";

let closing: (() => Promise<void>)[] = [];

/** Called before each test file, because the files of a worker share this module. */
export function useOwnSchema(): void {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  const opened: (() => Promise<void>)[] = [];
  schema = name;
  closing = opened;
  afterAll(async () => {
    if (opened.length === 0) return;
    await Promise.all(opened.map((close) => close()));
    const sql = postgres(inject("postgresUrl"), { max: 1, onnotice: () => {} });
    await sql`drop schema if exists ${sql(name)} cascade`;
    await sql.end({ timeout: 1 });
  });
}

/** Each one is as good as a process of its own: it shares no connection and no memory with another. */
export function openStore(options: PostgresStoreOptions = {}, url = inject("postgresUrl")): ThreadStore {
  const store = postgresStore(url, { schema, ...options });
  whenOver(() => store.close());
  return store;
}

/** The same for all tenants. */
export function openDatabase(options: PostgresDatabaseOptions = {}, url = inject("postgresUrl")): ThreadDatabase {
  const database = postgresDatabase(url, { schema, ...options });
  closing.push(() => database.close());
  return database;
}

/** Behind the store's back; tables are found without naming the schema. */
export function rawConnection(url = inject("postgresUrl")): postgres.Sql {
  const connection = { search_path: schema };
  const types = { bigint: { to: 20, from: [20], serialize: String, parse: Number } };
  const sql = postgres(url, { max: 2, connection, types, onnotice: () => {} });
  whenOver(() => sql.end({ timeout: 1 }));
  return sql as unknown as postgres.Sql; // bigints come back as numbers, which rows of type any do not show
}

/** At the end of the test that runs, because the stores of a file of many tests have more connections than a server. */
function whenOver(close: () => Promise<void>): void {
  if (TestRunner.getCurrentTest() === undefined) closing.push(close);
  else onTestFinished(close);
}
