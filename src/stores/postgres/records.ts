import type { RecordSpace } from "../driver.ts";
import type { Scope } from "./scope.ts";
import type { Work } from "./writing/writer.ts";

interface RecordColumns {
  readonly json: string | null;
  readonly bytes: Uint8Array | null;
}

export async function getRecord(
  { sql, tables, tenant }: Scope,
  space: RecordSpace,
  key: string,
): Promise<string | Uint8Array | undefined> {
  const [found] = await sql<RecordColumns[]>`
    select json, bytes from ${tables.records} where tenant = ${tenant} and space = ${space} and key = ${key}`;
  if (found === undefined) return undefined;
  return found.json ?? Uint8Array.from(found.bytes ?? []); // a copy, because a Buffer shows more than its bytes
}

/** Uses the writer, because only its transactions have the configured durability. */
export function putRecord(space: RecordSpace, key: string, value: string | Uint8Array): Work<void, void> {
  const json = typeof value === "string" ? value : null;
  const bytes = typeof value === "string" ? null : value;
  return {
    threadIds: [],
    read: async () => {},
    write({ sql, tables, tenant, fence }) {
      const stored = sql`
        insert into ${tables.records} (tenant, space, key, json, bytes)
        select ${tenant}, ${space}, ${key}, ${json}::text, ${bytes}::bytea where ${fence}
        on conflict (tenant, space, key) do update set json = excluded.json, bytes = excluded.bytes`;
      return { statements: [stored], finish: () => {} };
    },
  };
}

export function deleteRecord(space: RecordSpace, key: string): Work<void, boolean> {
  return {
    threadIds: [],
    read: async () => {},
    write({ sql, tables, tenant, fence }) {
      const deleted = sql`
        delete from ${tables.records} where tenant = ${tenant} and space = ${space} and key = ${key} and ${fence}`;
      return { statements: [deleted], finish: async () => (await deleted).count > 0 };
    },
  };
}
