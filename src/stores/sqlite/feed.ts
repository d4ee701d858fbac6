import { setImmediate as endOfTurn } from "node:timers/promises";
import type { Change, ThreadChanges } from "../driver.ts";
import { feedPosition } from "../options.ts";
import type { SqliteConnection, SqliteStatement, SqlValue } from "./connection.ts";
import { translateErrors } from "./errors.ts";
import { ROW_COLUMNS, toRow } from "./thread-tables.ts";

/** How many positions one statement of a look reads, so that a long gap does not block the event loop. */
const WINDOW = 10_000;

/**
 * Without CROSS JOIN the planner reads all threads of the tenant and sorts their rows, at each poll. With it the rows come
 * in order from the last position on.
 */
const CHANGES = `
  SELECT e.pos, t.id, ${ROW_COLUMNS} FROM entries e CROSS JOIN threads t ON t.key = e.thread
  WHERE e.pos > ? AND t.tenant = ? ORDER BY e.pos LIMIT ?`;
const CHANGED_THREADS = `
  SELECT DISTINCT t.id FROM entries e CROSS JOIN threads t ON t.key = e.thread
  WHERE e.pos > ? AND e.pos <= ? AND t.tenant = ?`;

/**
 * The rows of all threads of a tenant by position. SQLite runs one write transaction at a time, so positions are in commit
 * order.
 */
export class Feed {
  readonly #tenant: string;
  readonly #version: SqliteStatement;
  readonly #end: SqliteStatement;
  readonly #changes: SqliteStatement;
  readonly #changedThreads: SqliteStatement;
  /** Where the last look ended, and the version of the database before it. */
  #lastLook: { readonly version: SqlValue; readonly position: string } | undefined;

  constructor(connection: SqliteConnection, tenant: string) {
    this.#tenant = tenant;
    this.#version = connection.prepare("PRAGMA data_version");
    this.#end = connection.prepare("SELECT coalesce(max(pos), 0) FROM entries");
    this.#changes = connection.prepare(CHANGES);
    this.#changedThreads = connection.prepare(CHANGED_THREADS);
  }

  changes(after: string | undefined, limit: number): readonly Change[] {
    const found = this.#changes.all(after === undefined ? 0 : feedPosition(after), this.#tenant, limit);
    return found.map(([pos, threadId, ...columns]) => ({
      cursor: String(pos),
      threadId: String(threadId),
      row: toRow(columns),
    }));
  }

  /**
   * Reads no table unless another connection has committed. The version is read first, so that the next look finds what
   * is committed after it.
   */
  async changedThreads(after: string | undefined): Promise<ThreadChanges> {
    const version = singleValue(this.#version);
    const last = this.#lastLook;
    if (after !== undefined && after === last?.position && version === last.version)
      return { threadIds: [], position: after };
    const end = Number(singleValue(this.#end));
    const threadIds = after === undefined ? [] : await this.#threadsBetween(Number(after), end);
    this.#lastLook = { version, position: String(end) };
    return { threadIds, position: String(end) };
  }

  async #threadsBetween(after: number, end: number): Promise<readonly string[]> {
    const threadIds = new Set<string>();
    for (let from = after; from < end; from += WINDOW) {
      if (from > after) await endOfTurn();
      const to = Math.min(from + WINDOW, end);
      const found = translateErrors(() => this.#changedThreads.all(from, to, this.#tenant));
      for (const [id] of found) threadIds.add(String(id));
    }
    return [...threadIds];
  }
}

function singleValue(statement: SqliteStatement): SqlValue {
  return translateErrors(() => statement.get()?.[0]) ?? null;
}
