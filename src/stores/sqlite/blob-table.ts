import type { RecordSpace } from "../driver.ts";
import { CorruptionError } from "../errors.ts";
import type { BlobUse, StoredBlob } from "../stored-records.ts";
import type { SqliteConnection, SqlValue } from "./connection.ts";
import { PAYLOAD } from "./row-columns.ts";

/** How many blobs one call removes. */
const PURGE_LIMIT = 100;

/** The function stores the missing blobs and records that the thread uses them, inside the transaction that writes the rows. */
export function blobWriter(
  connection: SqliteConnection,
  tenant: string,
): (threadId: string, blobs: readonly BlobUse[], now: number) => void {
  const isThere = connection.prepare("SELECT 1 FROM records WHERE tenant = ? AND space = 'blob' AND key = ?");
  const isUsed = connection.prepare("SELECT 1 FROM blob_uses WHERE tenant = ? AND hash = ? LIMIT 1");
  const put = connection.prepare("INSERT INTO records (tenant, space, key, value) VALUES (?, 'blob', ?, ?)");
  const use = connection.prepare(`
    INSERT INTO blob_uses (tenant, hash, thread, purpose, ended_at)
    VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (tenant, hash, thread, purpose) DO UPDATE SET ended_at = excluded.ended_at`);
  const thread = connection.prepare("SELECT 1 FROM threads WHERE tenant = ? AND id = ?");
  return (threadId, blobs, now) => {
    const endedAt = thread.get(tenant, threadId) === undefined ? now : null; // the thread may never be created
    for (const { hash, content, purpose } of blobs) {
      if (isThere.get(tenant, hash) === undefined) put.run(tenant, hash, content);
      else if (isUsed.get(tenant, hash) === undefined) connection.prepare(KEEP).run(tenant, hash);
      use.run(tenant, hash, threadId, purpose, endedAt);
    }
  };
}

/** A use without a thread never ends. */
const KEEP = "INSERT INTO blob_uses (tenant, hash, thread, purpose) VALUES (?, ?, '', 'put') ON CONFLICT DO NOTHING";

/** If the blob has uses, it is kept forever from now on. */
function keepBlob(connection: SqliteConnection, tenant: string, hash: string): void {
  const isUsed = connection.prepare("SELECT 1 FROM blob_uses WHERE tenant = ? AND hash = ? LIMIT 1");
  if (isUsed.get(tenant, hash) !== undefined) connection.prepare(KEEP).run(tenant, hash);
}

/** Ends the uses of a thread whose rows are removed. */
export function releaseBlobs(connection: SqliteConnection, tenant: string, threadId: string, now: number): void {
  connection
    .prepare("UPDATE blob_uses SET ended_at = ? WHERE tenant = ? AND thread = ? AND ended_at IS NULL")
    .run(now, tenant, threadId);
}

/** The blobs that rows of a thread with such a seq refer to. A damaged row refers to none. */
const referencesAt = (seqs: string): string => `
  SELECT r.value FROM part CROSS JOIN entries e ON e.thread = part.owner AND e.seq <= part.last AND e.seq ${seqs}
  CROSS JOIN json_each(CASE WHEN json_valid(${PAYLOAD}) THEN ${PAYLOAD} ELSE '[]' END, '$[1]') r
  WHERE substr(${PAYLOAD}, 1, 1) = '[' AND typeof(r.value) = 'text'`;

/** The rows up to a fork are read only if those behind it have blobs. */
const COPY_USES = `
  WITH RECURSIVE part (owner, last) AS (
    SELECT key, ${Number.MAX_SAFE_INTEGER} FROM threads WHERE tenant = ? AND id = ?
    UNION ALL SELECT o.origin, o.fork_seq FROM part JOIN threads o ON o.key = part.owner WHERE o.origin IS NOT NULL
  )
  INSERT INTO blob_uses (tenant, hash, thread, purpose)
  SELECT tenant, hash, ?, purpose FROM blob_uses
  WHERE tenant = ? AND thread = ?
    AND (purpose = 'put' OR hash NOT IN (${referencesAt("> ?")}) OR hash IN (${referencesAt("<= ?")}))
  ON CONFLICT (tenant, hash, thread, purpose) DO UPDATE SET ended_at = NULL`;

/** For a fork: not the files and texts that only rows behind it refer to. */
export function copyBlobUses(
  connection: SqliteConnection,
  tenant: string,
  { from, to, atSeq }: { readonly from: string; readonly to: string; readonly atSeq: number },
): void {
  connection.prepare(COPY_USES).run(tenant, from, to, tenant, from, atSeq, atSeq);
}

export function readBlobs(
  connection: SqliteConnection,
  tenant: string,
  hashes: readonly string[],
): readonly StoredBlob[] {
  const get = connection.prepare("SELECT value FROM records WHERE tenant = ? AND space = 'blob' AND key = ?");
  return hashes.flatMap((hash) => {
    const content = get.get(tenant, hash)?.[0];
    if (content === undefined) return [];
    return { hash, content: isContent(content) ? content : "" }; // a flipped bit can make it a number, which is damage
  });
}

function isContent(value: SqlValue): value is string | Uint8Array {
  return typeof value === "string" || value instanceof Uint8Array;
}

/** Removes blobs whose uses have ended before a time. True when there may be more. Must run inside a transaction. */
export function purgeBlobs(connection: SqliteConnection, tenant: string, before: number, now: number): boolean {
  const hashes = connection
    .prepare("SELECT DISTINCT hash FROM blob_uses WHERE tenant = ? AND ended_at < ? ORDER BY ended_at LIMIT ?")
    .all(tenant, before, PURGE_LIMIT);
  // The thread was created after its use ended, so the use is looked at again later.
  const postpone = connection.prepare(`
    UPDATE blob_uses SET ended_at = ? WHERE tenant = ? AND hash = ? AND ended_at < ?
      AND thread IN (SELECT id FROM threads t WHERE t.tenant = blob_uses.tenant)`);
  const end = connection.prepare("DELETE FROM blob_uses WHERE tenant = ? AND hash = ? AND ended_at < ?");
  const drop = connection.prepare(`
    DELETE FROM records WHERE tenant = ? AND space = 'blob' AND key = ?
      AND NOT EXISTS (SELECT 1 FROM blob_uses u WHERE u.tenant = records.tenant AND u.hash = records.key)`);
  for (const [hash] of hashes) {
    if (hash === undefined) continue;
    postpone.run(now, tenant, hash, before);
    end.run(tenant, hash, before);
    drop.run(tenant, hash);
  }
  return hashes.length === PURGE_LIMIT;
}

/** Checkpoints and blobs by key. Texts are stored as TEXT, bytes as BLOB. */
export class Records {
  readonly #connection: SqliteConnection;
  readonly #tenant: string;
  readonly #sql: ReturnType<typeof recordStatements>;

  constructor(connection: SqliteConnection, tenant: string) {
    this.#connection = connection;
    this.#tenant = tenant;
    this.#sql = recordStatements(connection);
  }

  get(space: RecordSpace, key: string): string | Uint8Array | undefined {
    const value = this.#sql.get.get(this.#tenant, space, key)?.[0];
    if (value === undefined || typeof value === "string" || value instanceof Uint8Array) return value;
    // A flipped bit can turn a text into a number. Report the damage instead of "not found".
    throw new CorruptionError({ seq: -1, trouble: `${space} ${key} is not what was written` });
  }

  put(space: RecordSpace, key: string, value: SqlValue): void {
    this.#sql.put.run(this.#tenant, space, key, value);
    if (space === "blob") keepBlob(this.#connection, this.#tenant, key);
  }

  delete(space: RecordSpace, key: string): boolean {
    return this.#sql.delete.get(this.#tenant, space, key) !== undefined;
  }
}

function recordStatements(connection: SqliteConnection) {
  return {
    get: connection.prepare("SELECT value FROM records WHERE tenant = ? AND space = ? AND key = ?"),
    put: connection.prepare("INSERT OR REPLACE INTO records (tenant, space, key, value) VALUES (?, ?, ?, ?)"),
    delete: connection.prepare("DELETE FROM records WHERE tenant = ? AND space = ? AND key = ? RETURNING 1"),
  };
}
