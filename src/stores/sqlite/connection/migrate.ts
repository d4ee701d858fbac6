import { StoreError } from "../../errors.ts";
import { V1 } from "../schema/v1.ts";
import type { SqliteConnection } from "./connection.ts";
import { rollBack } from "./roll-back.ts";

/** "Hedl" in ASCII: what the `file` command and we recognise our databases by. */
const APPLICATION_ID = 0x48_65_64_6c;

/** One after the other from an empty file; the index of the last is the version of the schema. */
const MIGRATIONS: readonly string[] = [V1];

/** Refuses what is not ours or newer than we are, before a single byte is written. */
export function checkIdentity(connection: SqliteConnection): void {
  const inUse = hasTables(connection); // first: a store being made at this moment gets tables and identity at once
  const version = userVersion(connection);
  const applicationId = pragma(connection, "application_id");
  if (applicationId === APPLICATION_ID) {
    if (version > MIGRATIONS.length) throw newer(version);
  } else if (applicationId !== 0 || version !== 0 || inUse) {
    const message = "The file is a SQLite database of another program. Choose another path; nothing was changed.";
    throw new StoreError({ code: "store_not_heddle", message });
  }
}

export function migrate(connection: SqliteConnection): void {
  if (userVersion(connection) === MIGRATIONS.length) return;
  connection.exec("BEGIN IMMEDIATE");
  try {
    const version = userVersion(connection); // another process may have been faster
    if (version > MIGRATIONS.length) throw newer(version);
    for (const step of MIGRATIONS.slice(version)) connection.exec(step);
    connection.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`);
  } catch (error) {
    rollBack(connection);
    throw error;
  }
}

function userVersion(connection: SqliteConnection): number {
  return pragma(connection, "user_version");
}

function hasTables(connection: SqliteConnection): boolean {
  return connection.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() !== undefined;
}

function pragma(connection: SqliteConnection, name: string): number {
  return Number(connection.prepare(`PRAGMA ${name}`).get()?.[0]);
}

function newer(version: number): StoreError {
  const message = `The database has schema ${version}; this version of Heddle knows up to ${MIGRATIONS.length}. Update Heddle; nothing was changed.`;
  return new StoreError({ code: "store_schema_newer", message });
}
