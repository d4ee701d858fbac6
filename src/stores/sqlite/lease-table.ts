import type { LeaseRecord } from "../stored-records.ts";
import type { SqliteConnection } from "./connection.ts";

/** The leases of all nodes. Each method but `find` needs a transaction. */
export class LeaseTable {
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: SqliteConnection) {
    this.#sql = statements(connection);
  }

  find(node: string): LeaseRecord | undefined {
    const columns = this.#sql.find.get(node);
    if (columns === undefined) return undefined;
    const [incarnation, until, ttlMs, ended] = columns.map(Number);
    return { node, incarnation, until, ttlMs, ended: ended === 1 } as LeaseRecord; // a STRICT table
  }

  put({ node, incarnation, until, ttlMs, ended }: LeaseRecord): void {
    this.#sql.put.run(node, incarnation, until, ttlMs, ended ? 1 : 0);
  }

  purge(before: number): void {
    this.#sql.purge.run(before);
  }
}

function statements(connection: SqliteConnection) {
  return {
    find: connection.prepare("SELECT incarnation, until, ttl, ended FROM leases WHERE node = ?"),
    put: connection.prepare(
      "INSERT OR REPLACE INTO leases (node, incarnation, until, ttl, ended) VALUES (?, ?, ?, ?, ?)",
    ),
    purge: connection.prepare("DELETE FROM leases WHERE until < ?"),
  };
}
