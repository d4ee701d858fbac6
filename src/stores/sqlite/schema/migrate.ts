import { StoreError } from "../../errors.ts";
import { type OnUpgrade, reportUpgrade, stepsOf, upgradeRuns } from "../../options.ts";
import { type EmbeddedDatabase, rollback, type SqliteConnection } from "../connection.ts";
import { isBusy, translateErrors } from "../errors.ts";
import { V1 } from "./v1.ts";
import { V2 } from "./v2.ts";

/** "Hedl" in ASCII. Marks the file as a Heddle database, also for the `file` command. */
const APPLICATION_ID = 0x48_65_64_6c;

/** The migrations in order, from an empty file. Their number is the schema version. */
const MIGRATIONS: readonly string[] = [V1, V2];

/** Refuses files of other programs and newer schemas, before anything is written. */
export function checkIdentity(connection: SqliteConnection): void {
  const inUse = hasTables(connection); // read first: another process may create tables and identity in one transaction now
  const version = userVersion(connection);
  const applicationId = readPragma(connection, "application_id");
  if (applicationId === APPLICATION_ID) {
    if (version > MIGRATIONS.length) throw newerSchema(version);
  } else if (applicationId !== 0 || version !== 0 || inUse) {
    const message = "The file is a SQLite database of another program. Choose another path; nothing was changed.";
    throw new StoreError({ code: "store_not_heddle", message });
  }
}

/** One transaction, so that a crash leaves the schema of before. Several processes may do this at the same time. */
export function migrate(connection: SqliteConnection, onUpgrade?: OnUpgrade): void {
  const found = userVersion(connection);
  if (found === MIGRATIONS.length) return;
  begin(connection, found > 0);
  try {
    const from = userVersion(connection); // another process may have migrated meanwhile
    if (from > MIGRATIONS.length) throw newerSchema(from);
    const report = reporter(connection, from, onUpgrade);
    for (const [done, step] of stepsOf(MIGRATIONS.slice(from)).entries()) {
      report(done);
      connection.exec(step);
    }
    connection.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`);
    if (from < MIGRATIONS.length) report(stepsOf(MIGRATIONS.slice(from)).length);
  } catch (error) {
    rollback(connection);
    throw error;
  }
}

/** The same for a database without pragmas: a row of its table `meta` has the version. */
export function migrateEmbedded(connection: SqliteConnection, { transaction }: EmbeddedDatabase): void {
  const hasMeta = connection.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'meta'").get();
  const [value = 0] = (hasMeta && connection.prepare("SELECT value FROM meta WHERE name = 'schema'").get()) ?? [];
  const version = Number(value);
  if (version > MIGRATIONS.length) throw newerSchema(version);
  if (version === MIGRATIONS.length) return;
  transaction(() => {
    for (const step of stepsOf(MIGRATIONS.slice(version))) connection.exec(step);
    connection.exec(`INSERT OR REPLACE INTO meta VALUES ('schema', '${MIGRATIONS.length}')`);
  });
}

/** Waits for a process that upgrades the file, as long as for any lock. */
function begin(connection: SqliteConnection, isUpgrade: boolean): void {
  try {
    translateErrors(() => connection.exec("BEGIN IMMEDIATE"));
  } catch (error) {
    throw isUpgrade && isBusy(error)
      ? upgradeRuns(" by another process, or another process writes to it", error)
      : error;
  }
}

/** Reports the number of steps that are done. A new file is not an upgrade. */
function reporter(
  connection: SqliteConnection,
  from: number,
  onUpgrade: OnUpgrade | undefined,
): (done: number) => void {
  if (from === 0 || onUpgrade === undefined) return () => {};
  const steps = stepsOf(MIGRATIONS.slice(from)).length;
  const entries = Number(connection.prepare("SELECT count(*) FROM entries").get()?.[0]);
  return (done) => reportUpgrade(onUpgrade, { from, to: MIGRATIONS.length, entries, done, steps });
}

function userVersion(connection: SqliteConnection): number {
  return readPragma(connection, "user_version");
}

function hasTables(connection: SqliteConnection): boolean {
  return connection.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() !== undefined;
}

function readPragma(connection: SqliteConnection, name: string): number {
  return Number(connection.prepare(`PRAGMA ${name}`).get()?.[0]);
}

function newerSchema(version: number): StoreError {
  const message = `The database has schema ${version}; this version of Heddle supports up to ${MIGRATIONS.length}. Update Heddle; nothing was changed.`;
  return new StoreError({ code: "store_schema_newer", message });
}
