import type { ThreadHead } from "../../driver.ts";
import { CorruptionError, threadNotFound } from "../../errors.ts";
import type { SqliteConnection, SqlValue } from "../connection/connection.ts";
import { HEAD_COLUMNS, headValues } from "../rows.ts";

const COLUMNS = "seq, id, at, v, kind, refs, payload, big, salt, digest, prev, hash, lane, measure, mark, track";

export interface Copy {
  readonly from: string;
  readonly to: string;
  readonly atSeq: number;
  readonly head: ThreadHead;
}

/**
 * Copies the rows unchanged, big payloads by reference. Returns false when the target exists. `head` was computed earlier,
 * so this checks that the rows have not changed since. Must run inside a transaction.
 */
export function copyThread(connection: SqliteConnection, tenant: string, { from, to, atSeq, head }: Copy): boolean {
  if (keyOf(connection, tenant, to) !== undefined) return false;
  const source = keyOf(connection, tenant, from);
  if (source === undefined) throw threadNotFound(from);
  const last = connection.prepare("SELECT hash FROM entries WHERE thread = ? AND seq = ?").get(source, atSeq);
  if (last?.[0] !== head.hash) throw new CorruptionError({ threadId: from, seq: atSeq, trouble: "it is missing" });
  const values = headValues(head);
  connection
    .prepare(`INSERT INTO threads (tenant, id, ${HEAD_COLUMNS}) VALUES (?, ?, ${values.map(() => "?")})`)
    .run(tenant, to, ...values);
  connection
    .prepare(`INSERT INTO entries (thread, ${COLUMNS})
      SELECT ?, ${COLUMNS} FROM entries WHERE thread = ? AND seq <= ? ORDER BY seq`)
    .run(Number(keyOf(connection, tenant, to)), source, atSeq);
  return true;
}

/** Removes a thread and the big payloads that only it uses. Must run inside a transaction. */
export function removeThread(connection: SqliteConnection, tenant: string, threadId: string): boolean {
  const key = keyOf(connection, tenant, threadId);
  if (key === undefined) return false;
  const bigs = connection.prepare("SELECT DISTINCT big FROM entries WHERE thread = ? AND big IS NOT NULL").all(key);
  const last = lastPosition(connection);
  connection.prepare("DELETE FROM entries WHERE thread = ?").run(key);
  if (last !== lastPosition(connection)) keepPosition(connection, Number(last));
  const drop = "DELETE FROM big_payloads WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM entries WHERE big = ?1)";
  for (const big of bigs) connection.prepare(drop).run(...big);
  connection.prepare("DELETE FROM threads WHERE key = ?").run(key);
  return true;
}

/** SQLite gives a new row the greatest position plus one. A placeholder row keeps a removed position from being reused. */
function keepPosition(connection: SqliteConnection, pos: number): void {
  const placeholder = "0, pos, '', 0, NULL, '', '{}', NULL, NULL, '', NULL, '', '', '', 0, NULL, NULL";
  connection.prepare("DELETE FROM entries WHERE thread = 0").run();
  connection
    .prepare(`INSERT INTO entries (pos, thread, ${COLUMNS}) SELECT pos, ${placeholder} FROM (SELECT ? AS pos)`)
    .run(pos);
}

function keyOf(connection: SqliteConnection, tenant: string, threadId: string): SqlValue | undefined {
  return connection.prepare("SELECT key FROM threads WHERE tenant = ? AND id = ?").get(tenant, threadId)?.[0];
}

function lastPosition(connection: SqliteConnection): SqlValue | undefined {
  return connection.prepare("SELECT max(pos) FROM entries").get()?.[0];
}
