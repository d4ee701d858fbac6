import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";

/**
 * Heddle's own table without heddle: the same rows, keys and pragmas, moved by two prepared statements. The
 * remaining difference is the work of heddle, not the size of its table.
 */
export class SameTable {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #last: StatementSync;
  readonly #row: Record<string, SQLInputValue>;

  /** `path` is a database made by heddle/sqlite, with one thread of at least one entry. */
  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#database.exec(`
      PRAGMA synchronous = full; PRAGMA wal_autocheckpoint = 4096; PRAGMA fullfsync = 1;
      PRAGMA checkpoint_fullfsync = 1; PRAGMA cell_size_check = 1`);
    this.#row = this.#database.prepare("SELECT * FROM entries ORDER BY pos DESC LIMIT 1").get() ?? {};
    const columns = Object.keys(this.#row);
    this.#insert = this.#database.prepare(
      `INSERT INTO entries (${columns}) VALUES (${columns.map((column) => `:${column}`)})`,
    );
    this.#last = this.#database.prepare(
      "SELECT seq, id, at, v, kind, payload, refs FROM entries WHERE thread = ? ORDER BY seq DESC LIMIT ?",
    );
  }

  /** By itself it is a transaction of its own. */
  insert(seq: number, payload: unknown): void {
    const id = `entry_00000000-0000-7000-8000-${String(seq).padStart(12, "0")}`;
    this.#insert.run({ ...this.#row, pos: null, seq, id, at: Date.now(), payload: JSON.stringify(payload) });
  }

  /** The last entries, parsed, oldest first. */
  last(count: number): unknown[] {
    const rows = this.#last.all(this.#row["thread"] ?? null, count).reverse();
    return rows.map(({ payload, refs, ...entry }) => ({
      ...entry,
      payload: JSON.parse(String(payload)) as unknown,
      refs: JSON.parse(String(refs)) as unknown,
    }));
  }

  close(): void {
    this.#database.close();
  }
}
