import type { Change, NamedHead, RowRange, StoredRow } from "../../driver.ts";
import { invalidOption } from "../../options.ts";
import type { SqliteConnection, SqliteStatement } from "../connection/connection.ts";
import { HEAD_COLUMNS, ROW_COLUMNS, toHead, toRow } from "../rows.ts";

const THREAD = "e.thread = (SELECT key FROM threads WHERE tenant = ? AND id = ?)";
const RANGE = `FROM entries e WHERE ${THREAD} AND e.seq BETWEEN ? AND ?`;
const OF_KIND = "AND e.kind IN (SELECT value FROM json_each(?))";

/** Everything that reads what is committed. */
export class History {
  readonly #tenant: string;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: SqliteConnection, tenant: string) {
    this.#tenant = tenant;
    this.#sql = statements(connection);
  }

  rows(threadId: string, { from, to, kinds, reverse = false, limit }: RowRange): readonly StoredRow[] {
    const direction = reverse ? this.#sql.backward : this.#sql.forward;
    const range = [this.#tenant, threadId, from, to] as const;
    const found =
      kinds === undefined
        ? direction.any.all(...range, limit)
        : direction.ofKind.all(...range, JSON.stringify(kinds), limit);
    return found.map(toRow);
  }

  /** SQLite writes one transaction at a time, so positions are in commit order. */
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

interface Direction {
  readonly any: SqliteStatement;
  readonly ofKind: SqliteStatement;
}

function statements(connection: SqliteConnection) {
  return {
    forward: direction(connection, "ASC"),
    backward: direction(connection, "DESC"),
    changes: connection.prepare(`
      SELECT e.pos, t.id, ${ROW_COLUMNS} FROM entries e JOIN threads t ON t.key = e.thread
      WHERE e.pos > ? AND t.tenant = ? ORDER BY e.pos LIMIT ?`),
    heads: connection.prepare(
      `SELECT id, ${HEAD_COLUMNS} FROM threads WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?`,
    ),
  };
}

function direction(connection: SqliteConnection, order: "ASC" | "DESC"): Direction {
  return {
    any: connection.prepare(`SELECT ${ROW_COLUMNS} ${RANGE} ORDER BY e.seq ${order} LIMIT ?`),
    ofKind: connection.prepare(`SELECT ${ROW_COLUMNS} ${RANGE} ${OF_KIND} ORDER BY e.seq ${order} LIMIT ?`),
  };
}
