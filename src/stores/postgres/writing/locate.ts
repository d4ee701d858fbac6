import type { Scope } from "../scope.ts";

/** The keys of the threads that exist, by thread id. */
export type Located = ReadonlyMap<string, number>;

export async function locate({ sql, tables, tenant }: Scope, threadIds: readonly string[]): Promise<Located> {
  const found = await sql<{ readonly id: string; readonly key: number }[]>`
    select id, key from ${tables.threads} where tenant = ${tenant} and id = any(${threadIds}::text[])`;
  return new Map(found.map(({ id, key }) => [id, key]));
}
