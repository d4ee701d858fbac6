import type { SqliteConnection } from "./connection.ts";

/**
 * Runs SQLite's check of all pages and indexes. The result is cached until the next write, so that verifying many threads
 * reads the file once.
 */
export class FileInspection {
  readonly #connection: SqliteConnection;
  #state: string | undefined;
  #trouble: string | undefined;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  trouble(): string | undefined {
    const state = this.#writesSoFar();
    if (state !== this.#state) this.#trouble = this.#check();
    this.#state = state;
    return this.#trouble;
  }

  #check(): string | undefined {
    const found = this.#connection.prepare("PRAGMA integrity_check(1)").get()?.[0];
    return found === "ok" ? undefined : `SQLite reports "${String(found)}"`;
  }

  /** A text that changes with every write by any connection. */
  #writesSoFar(): string {
    const [own] = this.#connection.prepare("SELECT total_changes()").get() ?? [];
    const [others] = this.#connection.prepare("PRAGMA data_version").get() ?? [];
    return `${own}/${others}`;
  }
}
