import { postgresDatabase as openDatabase } from "heddle/postgres";
import postgres from "postgres";
import type { Table } from "../support/table.ts";
import { showSize } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { messageOf } from "./message.ts";
import { postgresDatabase } from "./postgres-database.ts";

const WRITING = 40;
const ALL = 10_000;

/** The connections of one process to Postgres, while tenants write at once, and after many have been read. */
export async function tenants({ budgets }: Bench): Promise<Table> {
  const server = await postgresDatabase();
  const database = openDatabase(server.url);
  const sql = postgres(server.url, { max: 1, onnotice: () => {} });
  try {
    const names = Array.from({ length: ALL }, (_, n) => `tenant_${n}`);
    const writing = names.slice(0, WRITING).map((name) => database.tenant(name));
    await Promise.all(writing.map((store, n) => store.append("thread", messageOf(n))));
    const ofWriting = await connectionsOf(sql);
    await Promise.all(names.map((name) => database.tenant(name).load("thread", { last: 1 })));
    const ofAll = await connectionsOf(sql);
    return {
      id: "tenants",
      title: "Connections of one process to Postgres",
      columns: [{ key: "connections", label: "connections", unit: "count" }],
      rows: [
        { name: `${WRITING} tenants, which write at once`, values: { connections: ofWriting } },
        { name: `${showSize(ALL)} tenants, which read at once`, values: { connections: ofAll } },
      ],
      checks: [
        budgets.atMost("postgresConnections", Math.max(ofWriting, ofAll), {
          what: `connections of ${showSize(ALL)} tenants`,
          unit: "count",
        }),
      ],
    };
  } finally {
    await sql.end({ timeout: 5 });
    await database.close();
    await server.drop();
  }
}

/** The store names its connections; it does not close those that it no longer needs, so none is missed. */
async function connectionsOf(sql: postgres.Sql): Promise<number> {
  const [found] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name = 'heddle'`;
  return found?.count ?? Number.NaN;
}
