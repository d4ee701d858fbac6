import { StoreError } from "../../errors.ts";
import type { Sql } from "../connection-pool.ts";
import { V1 } from "./v1.ts";
import { V2 } from "./v2.ts";

/** Migrates the schema to the version of this code. Several processes may do this at the same time. */
export async function migrate(sql: Sql, schema: string): Promise<void> {
  const before = await versionOf(sql, schema);
  if (before < MIGRATIONS.length) await sql.unsafe(migrationScript(schema));
  const after = before < MIGRATIONS.length ? await versionOf(sql, schema) : before;
  if (after > MIGRATIONS.length) throw newerSchema(schema, after);
}

/** The version of the schema; 0 when it has no tables yet. */
async function versionOf(sql: Sql, schema: string): Promise<number> {
  const [found] = await sql<{ readonly has_meta: boolean; readonly is_used: boolean }[]>`
    select to_regclass(${`${schema}.meta`}) is not null as has_meta,
      exists (select from pg_class where relnamespace = to_regnamespace(${schema})) as is_used`;
  if (!found?.has_meta) {
    if (found?.is_used) throw notHeddle(schema);
    return 0;
  }
  const [row] = await sql<{ readonly value: string }[]>`
    select value from ${sql(`${schema}.meta`)} where name = 'version'`;
  const version = Number(row?.value);
  if (!Number.isSafeInteger(version)) throw notHeddle(schema);
  return version;
}

/**
 * Sent as one message, which is one transaction. It waits for another process that migrates, then runs the remaining
 * steps. It creates the schema only when it is missing, so that users without that privilege can use an existing one.
 */
function migrationScript(schema: string): string {
  const steps = MIGRATIONS.map(
    (ddl, before) => `
      if (select value from meta where name = 'version') = '${before}' then
        ${ddl}
        update meta set value = '${before + 1}' where name = 'version';
      end if;`,
  );
  return `
    select pg_advisory_xact_lock(hashtextextended('heddle/migrate/${schema}', 0));
    do $heddle$ begin
      if to_regnamespace('${schema}') is null then create schema ${schema}; end if;
    end $heddle$;
    set local search_path to ${schema};
    create table if not exists meta (name text primary key, value text not null);
    insert into meta (name, value) values ('version', '0') on conflict (name) do nothing;
    do $heddle$ begin ${steps.join("")}
    end $heddle$;`;
}

function newerSchema(schema: string, version: number): StoreError {
  const message = `Schema ${schema} has version ${version}; this version of heddle supports up to ${MIGRATIONS.length}. Upgrade heddle.`;
  return new StoreError({ code: "store_schema_newer", message });
}

function notHeddle(schema: string): StoreError {
  const message = `Schema ${schema} contains tables of another program. Choose another with the option schema.`;
  return new StoreError({ code: "store_not_heddle", message });
}

/** The migrations in order. The first one creates the tables. */
const MIGRATIONS: readonly string[] = [V1, V2];
