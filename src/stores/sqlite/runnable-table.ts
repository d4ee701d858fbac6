import type { Decision, InboxQuery, InboxState, TakeQuery } from "../driver.ts";
import type { TakenThread } from "../runnable.ts";
import type { LeaseRecord, RunnableRow } from "../stored-records.ts";
import type { SqliteConnection } from "./connection.ts";

/** The runnable rows of one tenant. `apply` needs a transaction. */
export class RunnableRows {
  readonly #tenant: string;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: SqliteConnection, tenant: string) {
    this.#tenant = tenant;
    this.#sql = statements(connection);
  }

  state({ threadId, runnable }: InboxQuery): Pick<InboxState, "runnable" | "pending"> {
    if (runnable === undefined) return {};
    const columns = this.#sql.find.get(this.#tenant, threadId);
    const row = columns === undefined ? null : toRow(columns);
    if (runnable === "row") return { runnable: row };
    const pending = this.#sql.pending.all(this.#tenant, threadId);
    return {
      runnable: row,
      pending: pending.map(([id, revision]) => ({ id: String(id), revision: Number(revision) })),
    };
  }

  apply({ runnable = [] }: Decision<unknown>): void {
    for (const { threadId, row } of runnable)
      this.#sql.put.run(this.#tenant, threadId, row.agent, row.dueAt, row.priority);
  }
}

/** STRICT tables keep the type of each column, so the cast is safe. */
function toRow([agent, dueAt, priority]: readonly unknown[]): RunnableRow {
  return { agent, dueAt, priority } as RunnableRow;
}

function statements(connection: SqliteConnection) {
  return {
    find: connection.prepare("SELECT agent, due_at, priority FROM runnable WHERE tenant = ? AND thread = ?"),
    pending: connection.prepare(
      "SELECT id, revision FROM commands WHERE tenant = ? AND thread = ? AND done_at IS NULL",
    ),
    put: connection.prepare(
      "INSERT OR REPLACE INTO runnable (tenant, thread, agent, due_at, priority) VALUES (?, ?, ?, ?, ?)",
    ),
  };
}

/** Must run inside a transaction. */
export function removeRunnable(connection: SqliteConnection, tenant: string, threadId: string): void {
  connection.prepare("DELETE FROM runnable WHERE tenant = ? AND thread = ?").run(tenant, threadId);
}

// better-sqlite3 takes no numbered parameters, so each value comes once.
const DUE = `
  WITH query (node, incarnation, now, only_tenant, agents, unnamed, per_tenant, after_tenant) AS (SELECT ?, ?, ?, ?, ?, ?, ?, ?),
  held AS (
    SELECT tenant, count(*) AS threads FROM claims JOIN query q USING (node, incarnation) WHERE until <> 0 GROUP BY tenant
  ), due AS (
    SELECT r.tenant, r.thread, r.agent,
      row_number() OVER (PARTITION BY r.tenant ORDER BY r.priority DESC, r.due_at, r.thread) AS place
    FROM query q
    JOIN runnable r ON r.due_at <= q.now
    LEFT JOIN claims c ON c.tenant = r.tenant AND c.thread = r.thread
    LEFT JOIN leases l ON l.node = c.node AND l.incarnation = c.incarnation AND l.ended = 0 AND l.until > q.now
    WHERE (q.only_tenant IS NULL OR r.tenant = q.only_tenant)
      AND CASE WHEN r.agent IS NULL THEN q.unnamed ELSE q.agents IS NULL OR r.agent IN (SELECT value FROM json_each(q.agents)) END
      AND NOT (c.until IS NOT NULL AND c.until <> 0 AND CASE WHEN c.node IS NULL THEN c.until > q.now ELSE l.node IS NOT NULL END)
  ), turns AS (
    SELECT d.*, d.place + coalesce(h.threads, 0) AS turn FROM due d LEFT JOIN held h ON h.tenant = d.tenant
  )
  SELECT tenant, thread, agent FROM turns JOIN query q
  WHERE turn <= q.per_tenant ORDER BY turn, tenant <= q.after_tenant, tenant LIMIT ?`;

/** The threads of all tenants that a node can take. `take` needs a transaction. */
export class DueThreads {
  readonly #sql: ReturnType<typeof dueStatements>;

  constructor(connection: SqliteConnection) {
    this.#sql = dueStatements(connection);
  }

  find(query: TakeQuery, now: number): ReturnType<typeof this.take> {
    const { lease, tenant: only = null, agents, unnamed, limit, perTenant, afterTenant } = query;
    const names = agents === undefined ? null : JSON.stringify(agents);
    const which = [lease.node, lease.incarnation, now, only, names, Number(unnamed)];
    const found = this.#sql.due.all(...which, perTenant, afterTenant, limit);
    return found.map(([tenant, thread, agent]) => ({
      tenant: String(tenant),
      threadId: String(thread),
      epoch: 0,
      ...(agent !== null && { agent: String(agent) }),
    }));
  }

  /** Whether `take` has something to write: threads, or leases that have expired. */
  isNeeded(query: TakeQuery, now: number): boolean {
    return this.#sql.expired.get(now) !== undefined || this.find(query, now).length > 0;
  }

  take(query: TakeQuery, { until, ttlMs }: LeaseRecord, now: number): readonly TakenThread[] {
    const { holder, lease } = query;
    this.#sql.end.run(now);
    return this.find(query, now).map((due) => {
      const values = [due.tenant, due.threadId, holder, until, ttlMs, lease.node, lease.incarnation];
      return { ...due, epoch: Number(this.#sql.claim.get(...values)?.[0]) };
    });
  }
}

function dueStatements(connection: SqliteConnection) {
  return {
    due: connection.prepare(DUE),
    expired: connection.prepare("SELECT 1 FROM leases WHERE ended = 0 AND until <= ? LIMIT 1"),
    end: connection.prepare("UPDATE leases SET ended = 1 WHERE ended = 0 AND until <= ?"),
    claim: connection.prepare(`
      INSERT INTO claims (tenant, thread, holder, epoch, until, ttl, node, incarnation) VALUES (?, ?, ?, 1, ?, ?, ?, ?)
      ON CONFLICT (tenant, thread) DO UPDATE SET
        holder = excluded.holder, epoch = epoch + 1, until = excluded.until, ttl = excluded.ttl,
        node = excluded.node, incarnation = excluded.incarnation
      RETURNING epoch`),
  };
}
