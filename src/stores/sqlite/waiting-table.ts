import type { WaitingQuery } from "../driver.ts";
import type { StoredWaiting, ThreadWaiting } from "../stored-records.ts";
import type { SqliteConnection, SqlValue } from "./connection.ts";

const COLUMNS = "call_id, kind, since, deadline, body";

/** STRICT tables keep the type of each column, so the cast is safe. */
function toWaiting([callId, kind, since, deadline, body]: readonly SqlValue[]): StoredWaiting {
  return { callId, kind, since, deadline, body } as StoredWaiting;
}

/** The waiting calls of one tenant. `replace` needs a transaction. */
export class WaitingCalls {
  readonly #tenant: string;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: SqliteConnection, tenant: string) {
    this.#tenant = tenant;
    this.#sql = statements(connection);
  }

  of(threadId: string): readonly StoredWaiting[] {
    return this.#sql.ofThread.all(this.#tenant, threadId).map(toWaiting);
  }

  find({ kind, after, limit }: WaitingQuery): readonly ThreadWaiting[] {
    const { since, threadId, callId } = after ?? { since: -1, threadId: "", callId: "" };
    const found = this.#sql.page.all(this.#tenant, since, threadId, callId, kind ?? null, limit);
    return found.map(([thread, ...columns]) => ({ threadId: String(thread), call: toWaiting(columns) }));
  }

  replace(threadId: string, calls: readonly StoredWaiting[]): void {
    this.#sql.remove.run(this.#tenant, threadId);
    for (const { callId, kind, since, deadline, body } of calls)
      this.#sql.put.run(this.#tenant, threadId, callId, kind, since, deadline, body);
  }
}

function statements(connection: SqliteConnection) {
  return {
    ofThread: connection.prepare(`SELECT ${COLUMNS} FROM waiting WHERE tenant = ? AND thread = ?`),
    page: connection.prepare(`
      SELECT thread, ${COLUMNS} FROM waiting
      WHERE tenant = ? AND (since, thread, call_id) > (?, ?, ?) AND kind = coalesce(?, kind)
      ORDER BY since, thread, call_id LIMIT ?`),
    remove: connection.prepare(REMOVE),
    put: connection.prepare(`INSERT INTO waiting (tenant, thread, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`),
  };
}

const REMOVE = "DELETE FROM waiting WHERE tenant = ? AND thread = ?";

/** Must run inside a transaction. */
export function removeWaiting(connection: SqliteConnection, tenant: string, threadId: string): void {
  connection.prepare(REMOVE).run(tenant, threadId);
}
