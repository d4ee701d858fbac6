import type { Change, NamedHead, RowRange, StoredRow } from "../../driver.ts";
import { invalidOption } from "../../options.ts";
import type { SqliteConnection, SqliteStatement } from "../connection/connection.ts";
import { HEAD_COLUMNS, PAYLOAD, ROW_COLUMNS, toHead, toRow } from "../rows.ts";

const THREAD = "e.thread = (SELECT key FROM threads WHERE tenant = ? AND id = ?)";
const RANGE = `FROM entries e WHERE ${THREAD} AND e.seq BETWEEN ? AND ?`;
const OF_KIND = "AND e.kind IN (SELECT value FROM json_each(?))";
const MENTIONING = `AND instr(lower(${PAYLOAD}), ?)`;

/** Reads committed rows, changes and heads. */
export class History {
  readonly #connection: SqliteConnection;
  readonly #tenant: string;
  readonly #prepared = new Map<string, SqliteStatement>();
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: SqliteConnection, tenant: string) {
    this.#connection = connection;
    this.#tenant = tenant;
    this.#sql = statements(connection);
  }

  rows(threadId: string, { from, to, kinds, search, reverse = false, limit }: RowRange): readonly StoredRow[] {
    const conditions = [
      ...(kinds === undefined ? [] : [{ sql: OF_KIND, value: JSON.stringify(kinds) }]),
      ...(search === undefined ? [] : [{ sql: MENTIONING, value: search }]),
    ];
    const where = conditions.map(({ sql }) => sql).join(" ");
    const values = conditions.map(({ value }) => value);
    return this.#rows(where, reverse)
      .all(this.#tenant, threadId, from, to, ...values, limit)
      .map(toRow);
  }

  /** Prepares one statement per combination of conditions. */
  #rows(where: string, reverse: boolean): SqliteStatement {
    const sql = `SELECT ${ROW_COLUMNS} ${RANGE} ${where} ORDER BY e.seq ${reverse ? "DESC" : "ASC"} LIMIT ?`;
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(sql);
    this.#prepared.set(sql, statement);
    return statement;
  }

  /** SQLite runs one write transaction at a time, so positions are in commit order. */
  changes(after: string | undefined, limit: number): readonly Change[] {
    const found = this.#sql.changes.all(positionOf(after), this.#tenant, limit);
    return found.map(([pos, threadId, ...columns]) => ({
      cursor: String(pos),
      threadId: String(threadId),
      row: toRow(columns),
    }));
  }

  heads(afterId: string | undefined, limit: number): readonly NamedHead[] {
    return this.#sql.heads.all(this.#tenant, afterId ?? "", limit).map(([first, ...columns]) => {
      const id = String(first);
      return { id, head: toHead(id, columns) };
    });
  }
}

function positionOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (!/^\d{1,15}$/.test(cursor)) throw invalidOption("after", "the cursor of a feed item");
  return Number(cursor);
}

function statements(connection: SqliteConnection) {
  return {
    changes: connection.prepare(`
      SELECT e.pos, t.id, ${ROW_COLUMNS} FROM entries e JOIN threads t ON t.key = e.thread
      WHERE e.pos > ? AND t.tenant = ? ORDER BY e.pos LIMIT ?`),
    heads: connection.prepare(
      `SELECT id, ${HEAD_COLUMNS} FROM threads WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?`,
    ),
  };
}
