import type { CounterState } from "../driver.ts";
import type { SqliteConnection } from "./connection.ts";

/** The counters of all nodes. `put` needs a transaction. */
export class CounterTable {
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: SqliteConnection) {
    this.#sql = statements(connection);
  }

  find(name: string, now: number): CounterState["nodes"] {
    return this.#sql.find.all(name, now).map(([node, incarnation, amount]) => {
      return { node, incarnation, amount } as CounterState["nodes"][number]; // a STRICT table
    });
  }

  put(name: string, { node, amount }: { readonly node: string; readonly amount: number }, now: number): void {
    this.#sql.purge.run(name, now);
    this.#sql.put.run(name, node, amount, node);
  }
}

function statements(connection: SqliteConnection) {
  return {
    find: connection.prepare(
      `SELECT l.node, l.incarnation, coalesce(c.amount, 0)
       FROM leases l LEFT JOIN counters c ON c.tenant = '' AND c.name = ? AND c.node = l.node
       WHERE l.ended = 0 AND l.until > ?`,
    ),
    purge: connection.prepare(
      `DELETE FROM counters WHERE tenant = '' AND name = ?
       AND node NOT IN (SELECT l.node FROM leases l WHERE l.ended = 0 AND l.until > ?)`,
    ),
    put: connection.prepare(
      `INSERT OR REPLACE INTO counters (tenant, name, node, amount, until)
       SELECT '', ?, ?, ?, l.until FROM leases l WHERE l.node = ?`,
    ),
  };
}
