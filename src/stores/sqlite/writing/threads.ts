import type { Clock } from "../../../thread/ports.ts";
import type { ClaimRecord, Decision, StoredRow, ThreadHead, ThreadState } from "../../driver.ts";
import { nativeSha256 } from "../../native/sha256.ts";
import type { SqliteConnection } from "../connection/connection.ts";
import { HEAD_COLUMNS, headValues, ROW_COLUMNS, rowValues, toHead, toRow } from "../rows.ts";

/** Longer payloads are stored in their own table, once per text. */
const BIG = 32 * 1024;

export interface OpenThread {
  readonly state: ThreadState;
  apply(decision: Decision<unknown>): void;
}

/** Reads and writes the state of one thread. The caller must have begun a transaction, except for `head`. */
export class Threads {
  readonly #tenant: string;
  readonly #clock: Clock;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: SqliteConnection, tenant: string, clock: Clock) {
    this.#tenant = tenant;
    this.#clock = clock;
    this.#sql = statements(connection);
  }

  head(threadId: string): ThreadHead | undefined {
    return this.#find(threadId)?.head;
  }

  /** Reads the state of a thread. `apply` writes the decision. */
  open(threadId: string, wantedIds: readonly string[]): OpenThread {
    const found = this.#find(threadId);
    const known = found === undefined ? [] : this.#known(found.key, wantedIds);
    const state = { head: found?.head, claim: this.#claim(threadId), known, now: this.#clock() };
    return { state, apply: (decision) => this.#apply(threadId, found?.key, decision) };
  }

  #apply(threadId: string, key: number | undefined, { head, rows = [], claim }: Decision<unknown>): void {
    if (claim !== undefined)
      this.#sql.putClaim.run(this.#tenant, threadId, claim.holder, claim.epoch, claim.until, claim.ttlMs);
    if (head === undefined) return;
    const thread = this.#putHead(threadId, key, head);
    for (const row of rows) {
      this.#sql.putRow.run(thread, ...rowValues(row, this.#putAside(row.payload)));
    }
  }

  #find(threadId: string): { readonly key: number; readonly head: ThreadHead } | undefined {
    const columns = this.#sql.head.get(this.#tenant, threadId);
    return columns && { key: Number(columns[0]), head: toHead(threadId, columns.slice(1)) };
  }

  #putHead(threadId: string, key: number | undefined, head: ThreadHead): number {
    if (key === undefined) return Number(this.#sql.addHead.get(this.#tenant, threadId, ...headValues(head))?.[0]);
    this.#sql.putHead.run(...headValues(head), key);
    return key;
  }

  #known(key: number, wantedIds: readonly string[]): readonly StoredRow[] {
    const found = wantedIds.flatMap((id) => this.#sql.byId.all(id, key).map(toRow));
    return found.length < 2 ? found : found.sort((a, b) => a.seq - b.seq);
  }

  #claim(threadId: string): ClaimRecord | undefined {
    const columns = this.#sql.claim.get(this.#tenant, threadId);
    if (columns === undefined) return undefined;
    const [holder, epoch, until, ttlMs] = columns;
    return { holder, epoch, until, ttlMs } as ClaimRecord; // a STRICT table
  }

  #putAside(payload: string | null): number | null {
    if (payload === null || payload.length <= BIG) return null;
    return Number(this.#sql.putBig.get(this.#tenant, nativeSha256(payload), payload)?.[0]);
  }
}

function statements(connection: SqliteConnection) {
  return {
    head: connection.prepare(`SELECT key, ${HEAD_COLUMNS} FROM threads WHERE tenant = ? AND id = ?`),
    claim: connection.prepare("SELECT holder, epoch, until, ttl FROM claims WHERE tenant = ? AND thread = ?"),
    byId: connection.prepare(`SELECT ${ROW_COLUMNS} FROM entries e WHERE e.id = ? AND e.thread = ?`),
    addHead: connection.prepare(`
      INSERT INTO threads (tenant, id, ${HEAD_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING key`),
    putHead: connection.prepare(`UPDATE threads SET (${HEAD_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?) WHERE key = ?`),
    putRow: connection.prepare(`
      INSERT INTO entries (thread, seq, id, at, v, kind, refs, payload, big, salt, digest, prev, hash, lane, measure, mark, track)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    putBig: connection.prepare(`
      INSERT INTO big_payloads (tenant, hash, payload) VALUES (?, ?, ?)
      ON CONFLICT (tenant, hash) DO UPDATE SET hash = excluded.hash RETURNING key`),
    putClaim: connection.prepare(
      "INSERT OR REPLACE INTO claims (tenant, thread, holder, epoch, until, ttl) VALUES (?, ?, ?, ?, ?, ?)",
    ),
  };
}
