import type { RecordSpace } from "../driver.ts";
import { CorruptionError } from "../errors.ts";
import type { SqliteConnection, SqlValue } from "./connection/connection.ts";

/** Checkpoints and blobs by key. Texts are stored as TEXT, bytes as BLOB. */
export class Records {
  readonly #tenant: string;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: SqliteConnection, tenant: string) {
    this.#tenant = tenant;
    this.#sql = statements(connection);
  }

  get(space: RecordSpace, key: string): string | Uint8Array | undefined {
    const value = this.#sql.get.get(this.#tenant, space, key)?.[0];
    if (value === undefined || typeof value === "string" || value instanceof Uint8Array) return value;
    // A flipped bit can turn a text into a number. Report the damage instead of "not found".
    throw new CorruptionError({ seq: -1, trouble: `${space} ${key} is not what was written` });
  }

  put(space: RecordSpace, key: string, value: SqlValue): void {
    this.#sql.put.run(this.#tenant, space, key, value);
  }

  delete(space: RecordSpace, key: string): boolean {
    return this.#sql.delete.get(this.#tenant, space, key) !== undefined;
  }
}

function statements(connection: SqliteConnection) {
  return {
    get: connection.prepare("SELECT value FROM records WHERE tenant = ? AND space = ? AND key = ?"),
    put: connection.prepare("INSERT OR REPLACE INTO records (tenant, space, key, value) VALUES (?, ?, ?, ?)"),
    delete: connection.prepare("DELETE FROM records WHERE tenant = ? AND space = ? AND key = ? RETURNING 1"),
  };
}
