import { DatabaseSync, type StatementSync } from "node:sqlite";

/**
 * The least that keeps a log in SQLite: one table, prepared statements, and the pragmas of heddle/sqlite. No hashes, no
 * revisions, no check of anything.
 */
export class Baseline {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #last: StatementSync;
  readonly #all: StatementSync;

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#database.exec(`
      PRAGMA journal_mode = wal; PRAGMA synchronous = full; PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1;
      PRAGMA cell_size_check = 1;
      CREATE TABLE IF NOT EXISTS entries (
        thread TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, payload TEXT NOT NULL, PRIMARY KEY (thread, seq)
      ) STRICT`);
    this.#insert = this.#database.prepare("INSERT INTO entries (thread, seq, id, payload) VALUES (?, ?, ?, ?)");
    this.#last = this.#database.prepare(
      "SELECT seq, id, payload FROM entries WHERE thread = ? ORDER BY seq DESC LIMIT ?",
    );
    this.#all = this.#database.prepare("SELECT seq, id, payload FROM entries WHERE thread = ? ORDER BY seq");
  }

  /** By itself it is a transaction of its own. */
  insert(thread: string, seq: number, payload: unknown): void {
    this.#insert.run(thread, seq, idOf(thread, seq), JSON.stringify(payload));
  }

  inOneTransaction(work: () => void): void {
    this.#database.exec("BEGIN IMMEDIATE");
    work();
    this.#database.exec("COMMIT");
  }

  /** The last payloads, parsed, oldest first. */
  last(thread: string, count: number): unknown[] {
    const rows = this.#last.all(thread, count);
    return rows.map((row) => JSON.parse(String(row["payload"])) as unknown).reverse();
  }

  /** Parses every payload; how many there were. */
  scan(thread: string): number {
    let count = 0;
    for (const row of this.#all.iterate(thread)) if (JSON.parse(String(row["payload"])) !== null) count += 1;
    return count;
  }

  /** Also writes what is in the WAL into the file. */
  close(): void {
    this.#database.close();
  }
}

/** As long as the ids heddle makes. */
function idOf(thread: string, seq: number): string {
  return `entry_${thread.slice(-8).padEnd(8, "0")}-0000-7000-8000-${String(seq).padStart(12, "0")}`;
}
