import { DatabaseSync } from "node:sqlite";
import postgres from "postgres";

/** The bytes of all tables of a database, and of their indexes. Free pages do not count. */
export interface TableBytes {
  readonly tables: number;
  readonly indexes: number;
}

/** Of a SQLite file. */
export function bytesOfFile(path: string): TableBytes {
  const database = new DatabaseSync(path, { readOnly: true });
  const found = database
    .prepare(
      `SELECT total(pgsize) FILTER (WHERE s.type IS NOT 'index') AS tables, total(pgsize) FILTER (WHERE s.type = 'index') AS indexes
       FROM dbstat d LEFT JOIN sqlite_schema s ON s.name = d.name WHERE d.aggregate = 1`,
    )
    .get();
  database.close();
  return { tables: Number(found?.["tables"]), indexes: Number(found?.["indexes"]) };
}

/** Of all tables of a Postgres database that are not of the system, with long values that are stored apart. */
export async function bytesOfDatabase(url: string): Promise<TableBytes> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const [found] = await sql<TableBytes[]>`
    select sum(pg_table_size(c.oid))::float8 as tables, sum(pg_indexes_size(c.oid))::float8 as indexes
    from pg_class c where c.relkind = 'r' and c.relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`;
  await sql.end({ timeout: 5 });
  return found ?? { tables: Number.NaN, indexes: Number.NaN };
}
