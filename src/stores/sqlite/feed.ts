import { setImmediate as endOfTurn } from "node:timers/promises";
import type { Change, FeedEpoch, ThreadChanges } from "../driver.ts";
import { storeClosed } from "../errors.ts";
import { bodyOfFeedItem, type FeedChange, readFeedItem } from "../feed-item.ts";
import { invalidCursor } from "../options.ts";
import { dataVersion, type SqliteConnection, type SqliteStatement, type SqlValue } from "./connection.ts";
import { retryBusy, translateErrors } from "./errors.ts";
import { ROW_COLUMNS, toRow } from "./row-columns.ts";

/** How many positions one statement reads, so that a long gap does not block the event loop. */
const WINDOW = 10_000;

/**
 * Without CROSS JOIN the planner reads all threads of the tenant and sorts their rows, at each poll. With it the rows come
 * in order from the last position on.
 */
const CHANGES = `
  SELECT e.pos, t.id, ${ROW_COLUMNS} FROM entries e CROSS JOIN threads t ON t.key = e.thread
  WHERE e.pos > ? AND e.pos <= ? AND t.tenant = ? AND t.state IS NULL ORDER BY e.pos LIMIT ?`;

const ITEMS = `
  SELECT after_row, pos, thread, kind, body FROM feed_items
  WHERE tenant = ? AND (after_row, pos) > (?, ?) AND after_row <= ? ORDER BY after_row, pos LIMIT ?`;
const CHANGED_BY_ITEMS = "SELECT DISTINCT thread FROM feed_items WHERE pos > ? AND pos <= ? AND tenant = ?";

const CHANGED_THREADS = `
  SELECT DISTINCT t.id FROM entries e CROSS JOIN threads t ON t.key = e.thread
  WHERE e.pos > ? AND e.pos <= ? AND t.tenant = ?`;

const POSTED_THREADS = `
  SELECT value FROM json_each(?)
  WHERE EXISTS (SELECT 1 FROM commands WHERE tenant = ? AND thread = value AND done_at IS NULL)`;

/**
 * How far a reader of the feed is: the position of the last row, and of the last other item, such as a fork, after this row. 0 for none.
 */
type Place = readonly [row: number, item: number];

/**
 * The rows and items of all threads of a tenant by position. SQLite runs one write transaction at a time, so positions are in
 * commit order. An item has the position of the row before it and a number of its own.
 */
export class Feed {
  readonly #tenant: string;
  readonly #isClosed: () => boolean;
  readonly #meta: SqliteStatement;
  readonly #version: () => SqlValue;
  readonly #end: SqliteStatement;
  readonly #changes: SqliteStatement;
  readonly #items: SqliteStatement;
  readonly #changedThreads: SqliteStatement;
  readonly #changedByItems: SqliteStatement;
  readonly #postedThreads: SqliteStatement;
  /** Where the last look ended, and the version of the database before it. */
  #lastLook: { readonly version: SqlValue; readonly position: string } | undefined;

  constructor(connection: SqliteConnection, tenant: string, isClosed: () => boolean) {
    this.#tenant = tenant;
    this.#isClosed = isClosed;
    this.#meta = connection.prepare("SELECT name, value FROM meta");
    const version = dataVersion(connection);
    this.#version = () => translateErrors(version) ?? null;
    this.#end = connection.prepare(
      "SELECT (SELECT coalesce(max(pos), 0) FROM entries), (SELECT coalesce(max(pos), 0) FROM feed_items)",
    );
    this.#changes = connection.prepare(CHANGES);
    this.#items = connection.prepare(ITEMS);
    this.#changedThreads = connection.prepare(CHANGED_THREADS);
    this.#changedByItems = connection.prepare(CHANGED_BY_ITEMS);
    this.#postedThreads = connection.prepare(POSTED_THREADS);
  }

  epoch(): FeedEpoch {
    const values = new Map(this.#meta.all().map(([name, value]) => [name, value]));
    return { epoch: String(values.get("feed_epoch")), hasEarlierCursors: values.has("earlier_cursors") };
  }

  /**
   * Reads only up to the last position at the start of the call. Of changes that are committed during the call, it could miss
   * earlier ones. The rows of other tenants are passed in parts too.
   */
  async changes(after: string | undefined, limit: number): Promise<readonly Change[]> {
    const [row, item] = after === undefined ? [0, 0] : readPlace(after);
    const [end, items] = await retryBusy(() => {
      const end = Number(this.#end.get()?.[0]);
      return [end, this.#items.all(this.#tenant, row, item, end, limit).map(toItem)] as const;
    });
    const rows: PlacedChange[] = [];
    for (let from = row; from < end && rows.length < limit; from += WINDOW) {
      if (from > row) await endOfTurn();
      if (this.#isClosed()) throw storeClosed();
      const to = Math.min(from + WINDOW, end);
      const found = await retryBusy(() => this.#changes.all(from, to, this.#tenant, limit - rows.length));
      rows.push(...found.map(toChangedRow));
    }
    if (items.length === 0) return rows.map(({ change }) => change);
    const placed = [...rows, ...items].sort(({ place: a }, { place: b }) => a[0] - b[0] || a[1] - b[1]);
    return placed.slice(0, limit).map(({ change }) => change);
  }

  /**
   * Reads no table unless another connection has committed. The version is read first, so that the next look finds what
   * is committed after it.
   */
  async changedThreads(after: string | undefined, inboxes?: readonly string[]): Promise<ThreadChanges> {
    const version = this.#version();
    const last = this.#lastLook;
    if (after !== undefined && after === last?.position && version === last.version)
      return { threadIds: [], postedIds: [], position: after };
    const [row, item] = translateErrors(() => this.#end.get()) ?? [];
    const end: Place = [Number(row), Number(item)];
    const from = after === undefined ? end : readPlace(after);
    const items = translateErrors(() => this.#changedByItems.all(from[1], end[1], this.#tenant)).map(([id]) =>
      String(id),
    );
    const threadIds = await this.#threadsBetween(from[0], end[0], items);
    const position = `${end[0]}.${end[1]}`;
    const posted =
      inboxes &&
      translateErrors(() => this.#postedThreads.all(JSON.stringify(inboxes), this.#tenant)).map(([id]) => String(id));
    this.#lastLook = { version, position };
    return { threadIds, postedIds: posted?.concat(items), position }; // a deleted one has no commands now
  }

  async #threadsBetween(after: number, end: number, items: readonly string[]): Promise<readonly string[]> {
    const threadIds = new Set(items);
    for (let from = after; from < end; from += WINDOW) {
      if (from > after) await endOfTurn();
      const to = Math.min(from + WINDOW, end);
      const found = translateErrors(() => this.#changedThreads.all(from, to, this.#tenant));
      for (const [id] of found) threadIds.add(String(id));
    }
    return [...threadIds];
  }
}

/** The cursor of a row is its position, as in version 0.1. The cursor of an item also has a dot and the item's number. */
function readPlace(cursor: string): Place {
  const [, row, item = "0"] = /^(\d{1,15})(?:\.(\d{1,15}))?$/.exec(cursor) ?? [];
  if (row === undefined) throw invalidCursor();
  return [Number(row), Number(item)];
}

interface PlacedChange {
  readonly place: Place;
  readonly change: Change;
}

function toChangedRow([pos, threadId, ...columns]: readonly SqlValue[]): PlacedChange {
  const row = toRow(columns);
  return {
    place: [Number(pos), 0],
    change: { type: "entry", threadId: String(threadId), row, cursor: String(pos) },
  };
}

function toItem([afterRow, pos, threadId, kind, body]: readonly SqlValue[]): PlacedChange {
  const change = readFeedItem(String(threadId), String(kind), String(body));
  return { place: [Number(afterRow), Number(pos)], change: { ...change, cursor: `${afterRow}.${pos}` } };
}

/** Adds an item at the end of the feed. Must run inside a transaction. */
export function addFeedItem(connection: SqliteConnection, tenant: string, item: FeedChange): void {
  if (item.type === "deleted")
    connection
      .prepare("DELETE FROM feed_items WHERE tenant = ? AND thread = ? AND kind = 'forked'")
      .run(tenant, item.threadId);
  connection
    .prepare(`
      INSERT INTO feed_items (after_row, tenant, thread, kind, body)
      SELECT coalesce(max(pos), 0), ?, ?, ?, ? FROM entries`)
    .run(tenant, item.threadId, item.type, bodyOfFeedItem(item));
}
