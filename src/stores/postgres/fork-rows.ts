import { portableSha256 } from "../../thread/encoding.ts";
import { partsOfFork, type RowPart, type StoredOrigin } from "../row-parts.ts";
import { type EntryColumns, entryColumns, hasId, type Scope } from "./tables.ts";

interface LinkColumns {
  readonly thread_id: string;
  readonly key: number;
  readonly origin: number | null;
  readonly fork_seq: number | null;
  readonly origin_sum: string | null;
}

/** The parts of these threads by thread id, the newest first. A thread that does not exist has none. */
export async function readParts(
  { sql, tables, tenant }: Scope,
  threadIds: readonly string[],
): Promise<ReadonlyMap<string, readonly RowPart<number>[]>> {
  const found = await sql<LinkColumns[]>`
    with recursive link as (
      select t.id as thread_id, t.key, t.origin, t.fork_seq, t.origin_sum, 0 as depth from ${tables.threads} t
      where t.tenant = ${tenant} and t.id = any(${threadIds}::text[])
      union all
      select l.thread_id, o.key, o.origin, o.fork_seq, o.origin_sum, l.depth + 1
      from link l join ${tables.threads} o on o.key = l.origin
    )
    select * from link order by depth`.execute();
  const links = Map.groupBy(found, ({ thread_id }) => thread_id);
  return new Map([...links].map(([id, columns]) => [id, partsOfFork(id, columns.map(toLink), portableSha256)]));
}

function toLink({ key, origin, fork_seq: forkSeq, origin_sum: sum }: LinkColumns): StoredOrigin & { key: number } {
  return { key, origin, forkSeq, sum };
}

/** The rows that these threads share and that have one of the ids, with the id of the thread that shows them. */
export async function readSharedRows(
  scope: Scope,
  pairs: readonly { readonly threadId: string; readonly id: string }[],
): Promise<readonly (EntryColumns & { readonly thread_id: string })[]> {
  const { sql, tables } = scope;
  if (pairs.length === 0) return [];
  const threadIds = [...new Set(pairs.map(({ threadId }) => threadId))];
  const parts = await readParts(scope, threadIds);
  const wanted = pairs.flatMap(({ threadId, id }) =>
    (parts.get(threadId) ?? []).slice(1).map(({ owner, to }) => ({ threadId, id, owner, to })),
  );
  return sql<(EntryColumns & { readonly thread_id: string })[]>`
    select w.thread_id, ${entryColumns(scope)}
    from unnest(
      ${wanted.map(({ threadId }) => threadId)}::text[], ${wanted.map(({ id }) => id)}::text[],
      ${wanted.map(({ owner }) => owner)}::bigint[], ${wanted.map(({ to }) => to)}::bigint[]
    ) as w (thread_id, id, owner, last)
    join ${tables.entries} e on e.thread = w.owner and ${hasId(scope, sql`w.id`)} and e.seq <= w.last
    order by e.seq`;
}

/** The ids of the forks of a thread and of the forks of these. */
export async function readForks({ sql, tables, tenant }: Scope, threadId: string): Promise<readonly string[]> {
  const found = await sql<{ readonly id: string }[]>`
    with recursive found (key) as (
      select t.key from ${tables.threads} t where t.tenant = ${tenant} and t.id = ${threadId}
      union
      select f.key from found p cross join lateral (
        select t.key from ${tables.threads} t where t.fork_of = p.key
        union all select t.key from ${tables.threads} t where t.origin = p.key
      ) f
    )
    select t.id from found f join ${tables.threads} t on t.key = f.key
    where t.state is null and t.id <> ${threadId} order by t.id`;
  return found.map(({ id }) => id);
}
