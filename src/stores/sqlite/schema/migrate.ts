import { StoreError } from "../../errors.ts";
import { rollback, type SqliteConnection } from "../connection.ts";
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

export function migrate(connection: SqliteConnection): void {
  if (userVersion(connection) === MIGRATIONS.length) return;
  connection.exec("BEGIN IMMEDIATE");
  try {
    const version = userVersion(connection); // another process may have migrated meanwhile
    if (version > MIGRATIONS.length) throw newerSchema(version);
    for (const step of MIGRATIONS.slice(version)) connection.exec(step);
    connection.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`);
  } catch (error) {
    rollback(connection);
    throw error;
  }
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
