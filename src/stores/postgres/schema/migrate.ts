import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../../errors.ts";
import { type OnUpgrade, stepsOf } from "../../options.ts";
import type { Sql } from "../connection-pool.ts";
import { V1 } from "./v1.ts";
import { V2 } from "./v2.ts";

interface Following {
  /** Opens another connection, to watch the progress of the upgrade. */
  readonly connect: () => Sql;
  readonly onUpgrade: OnUpgrade;
}

/** Migrates the schema to the version of this code. Several processes may do this at the same time. */
export async function migrate(sql: Sql, schema: string, following: Following): Promise<void> {
  const before = await versionOf(sql, schema);
  if (before === MIGRATIONS.length) return;
  if (before === 0) await sql.unsafe(migrationScript(schema));
  if (before > 0 && before < MIGRATIONS.length) await upgrade(sql, schema, before, following);
  const after = await versionOf(sql, schema);
  if (after > MIGRATIONS.length) throw newerSchema(schema, after);
}

const LOOK_MS = 500;

/** Migrates, and reports the progress, also while another process migrates. */
async function upgrade(sql: Sql, schema: string, from: number, { connect, onUpgrade }: Following): Promise<void> {
  const steps = stepsOf(MIGRATIONS.slice(from)).length;
  const [found] = await sql<{ readonly entries: number }[]>`
    select greatest(reltuples, pg_stat_get_live_tuples(oid))::float8 as entries
    from pg_class where oid = to_regclass(${`${schema}.entries`})`; // a count would wait for the locks of the upgrade
  const entries = Math.max(0, Math.round(found?.entries ?? 0));
  const report = (done: number): void => onUpgrade({ from, to: MIGRATIONS.length, entries, done, steps });
  const over = new AbortController();
  report(0);
  const looking = look(connect(), schema, report, over.signal);
  try {
    await withoutDeadlock(() => sql.unsafe(migrationScript(schema)));
    report(steps);
  } finally {
    over.abort();
    await looking;
  }
}

const ATTEMPTS = 5;

/** An old process may lock the same tables in another order. Postgres then aborts one of the two, which may be the upgrade. */
async function withoutDeadlock(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      const isDeadlock = error instanceof Error && "code" in error && error.code === "40P01";
      if (!isDeadlock || attempt === ATTEMPTS) throw error;
    }
  }
}

/**
 * The application name of the upgrade says how many steps are done. For an index, the server reports how much of it is built.
 */
async function look(sql: Sql, schema: string, report: (done: number) => void, signal: AbortSignal): Promise<void> {
  for (let last = 0; !signal.aborted; ) {
    const [found] = await sql<{ readonly done: string | null; readonly part: number | null }[]>`
      select substring(a.application_name from '^heddle upgrade (\\d+)') as done,
        p.blocks_done::float8 / nullif(p.blocks_total, 0) as part
      from pg_locks l join pg_stat_activity a using (pid) left join pg_stat_progress_create_index p using (pid)
      where l.locktype = 'advisory' and l.granted and a.datname = current_database()
        and (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(${lockName(schema)}, 0)`.catch(() => []);
    if (found?.done != null && !signal.aborted) {
      // In the last part of building an index, the server reports no progress.
      last = Math.max(last, Number(found.done) + Math.min(0.99, found.part ?? 0));
      report(last);
    }
    await sleep(LOOK_MS, undefined, { ref: false, signal }).catch(() => {});
  }
  await sql.end({ timeout: 0 });
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
        ${before === 0 ? "" : announced(LOCK_TABLES, 0)}
        ${stepsOf([ddl]).map(announced).join("\n")}
        update meta set value = '${before + 1}' where name = 'version';
      end if;`,
  );
  return `
    select pg_advisory_xact_lock(hashtextextended('${lockName(schema)}', 0));
    do $heddle$ begin
      if to_regnamespace('${schema}') is null then create schema ${schema}; end if;
    end $heddle$;
    set local search_path to ${schema};
    create table if not exists meta (name text primary key, value text not null);
    insert into meta (name, value) values ('version', '0') on conflict (name) do nothing;
    do $heddle$ begin ${steps.join("")}
    end $heddle$;`;
}

/**
 * An upgrade locks the tables before it changes any, in the order in which an append uses them. Otherwise it would hold a
 * weak lock of one, wait for the strong lock of another, and so deadlock with appends of old processes.
 */
const LOCK_TABLES = "lock table threads, entries, claims in access exclusive mode;";

/** The advisory lock of all processes that migrate the schema. */
function lockName(schema: string): string {
  return `heddle/migrate/${schema}`;
}

/** Other connections can read the application name while the transaction runs. */
function announced(step: string, done: number): string {
  return `perform set_config('application_name', 'heddle upgrade ${done}', true);\n${step}`;
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
