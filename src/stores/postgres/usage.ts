import { addSums, type CountedUsage, type UsageQuery, type UsageSum } from "../sums.ts";
import type { Query } from "./connection-pool.ts";
import type { FencedScope, Scope } from "./tables.ts";

interface Counted extends CountedUsage {
  readonly threadId: string;
}

/** All that a batch adds. A statement may name each row only once. */
export class BatchUsage {
  readonly #rows = new Map<string, Counted>();

  add(counted: Counted): void {
    const { threadId, owner, sum } = counted;
    const key = JSON.stringify([threadId, owner, sum.day, sum.model]);
    this.#rows.set(key, { ...counted, sum: addSums(this.#rows.get(key)?.sum, sum) });
  }

  get rows(): readonly Counted[] {
    return [...this.#rows.values()];
  }
}

function columns({ sql }: Scope): Query {
  return sql`owner, day, model, count, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens`;
}

/** For `usage u`. */
function addOnConflict({ sql }: Scope): Query {
  return sql`
    on conflict (tenant, owner, day, model, thread) do update set
      count = u.count + excluded.count, input_tokens = u.input_tokens + excluded.input_tokens,
      output_tokens = u.output_tokens + excluded.output_tokens,
      cache_read_tokens = u.cache_read_tokens + excluded.cache_read_tokens,
      cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
      reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens`;
}

/** The transaction has locked the threads, so no other one changes these rows. */
export function addUsage(scope: FencedScope, counted: readonly Counted[]): Query {
  const { sql, tables, tenant, fence } = scope;
  const sums = counted.map(({ sum }) => sum);
  return sql`
    insert into ${tables.usage} as u (tenant, thread, ${columns(scope)})
    select ${tenant}, c.*
    from unnest(
      ${counted.map(({ threadId }) => threadId)}::text[],
      ${counted.map(({ owner }) => owner)}::text[],
      ${sums.map(({ day }) => day)}::bigint[],
      ${sums.map(({ model }) => model)}::text[],
      ${sums.map(({ count }) => count)}::bigint[],
      ${sums.map(({ inputTokens }) => inputTokens)}::bigint[],
      ${sums.map(({ outputTokens }) => outputTokens)}::bigint[],
      ${sums.map(({ cacheReadTokens }) => cacheReadTokens)}::bigint[],
      ${sums.map(({ cacheWriteTokens }) => cacheWriteTokens)}::bigint[],
      ${sums.map(({ reasoningTokens }) => reasoningTokens)}::bigint[]
    ) as c
    where ${fence}
    ${addOnConflict(scope)}`;
}

/** Keeps the sums without the thread. The order prevents deadlocks: deletions of threads of one owner change the same rows. */
export function forgetThreadInUsage(scope: FencedScope, threadId: string): Query {
  const { sql, tables, tenant, fence } = scope;
  return sql`
    with gone as (
      delete from ${tables.usage} where tenant = ${tenant} and thread = ${threadId} and ${fence} returning *
    )
    insert into ${tables.usage} as u (tenant, thread, ${columns(scope)})
    select tenant, '', ${columns(scope)} from gone order by owner, day, model
    ${addOnConflict(scope)}`;
}

export async function readUsage(
  { sql, tables, tenant }: Scope,
  { owner, threadId, from, to }: UsageQuery,
): Promise<readonly UsageSum[]> {
  return sql<UsageSum[]>`
    select u.day, u.model, sum(u.count)::bigint as count, sum(u.input_tokens)::bigint as "inputTokens",
      sum(u.output_tokens)::bigint as "outputTokens", sum(u.cache_read_tokens)::bigint as "cacheReadTokens",
      sum(u.cache_write_tokens)::bigint as "cacheWriteTokens", sum(u.reasoning_tokens)::bigint as "reasoningTokens"
    from ${tables.usage} u
    where u.tenant = ${tenant} and u.day between ${from} and ${to}
      ${owner === undefined ? sql`` : sql`and u.owner = ${owner}`}
      ${threadId === undefined ? sql`` : sql`and u.thread = ${threadId}`}
    group by u.day, u.model`;
}
