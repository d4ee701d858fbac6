import type { ThreadField } from "../stored-records.ts";
import type { Query } from "./connection-pool.ts";
import type { FencedScope, Scope } from "./tables.ts";

export async function readFields({ sql, tables, tenant }: Scope, threadId: string): Promise<readonly ThreadField[]> {
  return sql<ThreadField[]>`
    select f.name, f.value from ${tables.threadFields} f
    join ${tables.threads} t on t.key = f.thread where t.tenant = ${tenant} and t.id = ${threadId}`;
}

/** The statements that change fields. They run after the heads, because a new thread gets its key with its head. */
export function fieldStatements(
  { sql, tables, tenant, fence }: FencedScope,
  fields: readonly (readonly [threadId: string, field: ThreadField])[],
): Query[] {
  const set = fields.filter(([, { value }]) => value !== null);
  const gone = fields.filter(([, { value }]) => value === null);
  const idsOf = (some: typeof fields) => some.map(([threadId]) => threadId);
  const namesOf = (some: typeof fields) => some.map(([, { name }]) => name);
  const upsert = () => sql`
    insert into ${tables.threadFields} (tenant, name, value, thread)
    select ${tenant}, f.name, f.value, t.key
    from unnest(${idsOf(set)}::text[], ${namesOf(set)}::text[], ${set.map(([, { value }]) => value)}::text[])
      as f (thread_id, name, value)
    join ${tables.threads} t on t.tenant = ${tenant} and t.id = f.thread_id
    where ${fence}
    on conflict (thread, name) do update set value = excluded.value`;
  const remove = () => sql`
    delete from ${tables.threadFields} f
    using unnest(${idsOf(gone)}::text[], ${namesOf(gone)}::text[]) as g (thread_id, name), ${tables.threads} t
    where t.tenant = ${tenant} and t.id = g.thread_id and f.thread = t.key and f.name = g.name and ${fence}`;
  return [...(set.length === 0 ? [] : [upsert()]), ...(gone.length === 0 ? [] : [remove()])];
}
