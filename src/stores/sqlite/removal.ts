import { releaseBlobs } from "./blob-table.ts";
import { removeCommands } from "./command-table.ts";
import type { SqliteConnection, SqlValue } from "./connection.ts";
import { addFeedItem } from "./feed.ts";
import { descendants, keyOf } from "./forks.ts";
import { removeRunnable } from "./runnable-table.ts";
import { forgetThreadInUsage } from "./usage-table.ts";
import { removeWaiting } from "./waiting-table.ts";

/** The tenant of deleted threads that still have rows to remove. No real tenant has a slash in its name. */
const REMOVED = "/removed";
const KEPT = "/kept";

/** How many rows one transaction removes. */
const ROWS_PER_REMOVAL = 500;

/**
 * Deletes a thread and its commands for all readers. `removeHidden` removes the rest of a long one. The rows that forks show
 * are kept; returns the ids of these forks. Undefined when there is no thread. Must run inside a transaction.
 */
export function hideThread(
  connection: SqliteConnection,
  tenant: string,
  threadId: string,
  now: number,
): readonly string[] | undefined {
  releaseBlobs(connection, tenant, threadId, now);
  removeCommands(connection, tenant, threadId);
  removeRunnable(connection, tenant, threadId);
  removeWaiting(connection, tenant, threadId);
  forgetThreadInUsage(connection, tenant, threadId);
  const key = keyOf(connection, tenant, threadId);
  if (key === undefined) return undefined;
  const sharing = descendants("origin = ?", "t.origin = found.key", "TRUE");
  const keptFor = connection.prepare(sharing).all(key);
  addFeedItem(connection, tenant, { type: "deleted", threadId });
  // The key is a unique id: a thread with this id may be hidden already.
  connection
    .prepare(`
      UPDATE threads SET tenant = ?, id = key, state = 'hidden', metadata = '{}', owner = NULL, seal = ''
      WHERE key = ?`)
    .run(REMOVED, key);
  connection.prepare("DELETE FROM lanes WHERE thread = ?").run(key);
  connection.prepare("DELETE FROM thread_fields WHERE thread = ?").run(key);
  removeSome(connection, key);
  return keptFor.map(([id]) => String(id));
}

/** Removes some rows of a hidden thread, of any process. False when there is none. Must run inside a transaction. */
export function removeHidden(connection: SqliteConnection): boolean {
  const [key] = connection.prepare("SELECT key FROM threads WHERE tenant = ? LIMIT 1").get(REMOVED) ?? [];
  if (key === undefined) return false;
  removeSome(connection, Number(key));
  return true;
}

/**
 * Removes rows of a hidden thread that no fork shares. When the thread has none left, the thread that it was forked from may
 * have rows to remove.
 */
function removeSome(connection: SqliteConnection, key: number): void {
  const shared = connection.prepare("SELECT max(fork_seq) FROM threads WHERE origin = ?").get(key)?.[0] ?? null;
  const unused = "FROM entries WHERE thread = ? AND seq > ?";
  const from = Number(shared ?? -1);
  const [first] = connection.prepare(`SELECT min(seq) ${unused}`).get(key, from) ?? [];
  if (typeof first === "number") removeRows(connection, key, first, first + ROWS_PER_REMOVAL - 1);
  if (connection.prepare(`SELECT 1 ${unused} LIMIT 1`).get(key, from) !== undefined) return;
  if (shared !== null) {
    connection.prepare("UPDATE threads SET tenant = ? WHERE key = ?").run(KEPT, key);
    return;
  }
  const [owner = null] = connection.prepare("SELECT origin FROM threads WHERE key = ?").get(key) ?? [];
  connection.prepare("DELETE FROM threads WHERE key = ?").run(key);
  connection.prepare("UPDATE threads SET tenant = ? WHERE key = ? AND state = 'hidden'").run(REMOVED, owner);
}

/** Removes a range of rows, and the big payloads that only these use. */
function removeRows(connection: SqliteConnection, key: number, from: number, to: number): void {
  const range = [key, from, to];
  const bigPayloads = connection
    .prepare("SELECT DISTINCT big FROM entries WHERE thread = ? AND seq BETWEEN ? AND ? AND big IS NOT NULL")
    .all(...range);
  const last = lastPosition(connection);
  connection.prepare("DELETE FROM entries WHERE thread = ? AND seq BETWEEN ? AND ?").run(...range);
  if (last !== lastPosition(connection)) keepPosition(connection, Number(last));
  const drop =
    "DELETE FROM big_payloads WHERE key = ? AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.big = big_payloads.key)";
  for (const big of bigPayloads) connection.prepare(drop).run(...big);
}

/** SQLite gives a new row the greatest position plus one. A placeholder row keeps a removed position from being reused. */
function keepPosition(connection: SqliteConnection, pos: number): void {
  connection.prepare("DELETE FROM entries WHERE thread = 0").run();
  connection
    .prepare(`
      INSERT INTO entries (pos, thread, seq, id, at, kind, refs, salt, prev, hash, lane, measure)
      VALUES (?, 0, 0, '', 0, '', '{}', '', '', '', '', 0)`)
    .run(pos);
}

function lastPosition(connection: SqliteConnection): SqlValue | undefined {
  return connection.prepare("SELECT max(pos) FROM entries").get()?.[0];
}
