import { utf8Length } from "../../../tokens/utf8.ts";
import type { StoredRow } from "../../driver.ts";
import { nativeSha256 } from "../../native/sha256.ts";
import type { Query } from "../connection/library.ts";
import type { FencedScope } from "../scope.ts";
import { chunksOf } from "./chunks.ts";

const BIG = 32 * 1024;

/**
 * The hash of a big payload, which is stored once per tenant; null when the payload stays in its row. Each big payload has
 * a count of its rows. A transaction locks the count before it changes it, so that a payload in use is never deleted. All
 * transactions lock in the order of the hashes, which prevents deadlocks.
 */
export function bigHashOf(payload: string | null): string | null {
  if (payload === null || payload.length * 3 <= BIG || utf8Length(payload) <= BIG) return null;
  return nativeSha256(payload);
}

interface Use {
  readonly hash: string;
  readonly payload: string;
  readonly count: number;
}

export function insertBigPayloads(
  { sql, tables, tenant, fence }: FencedScope,
  rows: readonly (readonly [threadId: string, row: StoredRow])[],
): Query[] {
  return chunksOf(usesIn(rows), ({ payload }) => payload).map(
    (uses) => sql`
      insert into ${tables.bigPayloads} as kept (tenant, hash, payload, uses)
      select ${tenant}, u.*
      from unnest(
        ${uses.map(({ hash }) => hash)}::text[],
        ${uses.map(({ payload }) => payload)}::text[],
        ${uses.map(({ count }) => count)}::bigint[]
      ) as u (hash, payload, uses)
      where ${fence}
      order by u.hash collate "C"
      on conflict (tenant, hash) do update set uses = kept.uses + excluded.uses`,
  );
}

/** Run this before the counts for rows `e` change. */
export function lockBigPayloads({ sql, tables, tenant, fence }: FencedScope, rows: Query): Query {
  return sql`
    select b.hash from ${tables.bigPayloads} b
    where b.tenant = ${tenant} and b.hash in (select e.big from ${tables.entries} e where ${rows} and e.big is not null)
      and ${fence}
    order by b.hash
    for update`;
}

function usesIn(rows: readonly (readonly [string, StoredRow])[]): readonly Use[] {
  const uses = new Map<string, Use>();
  for (const [, { payload }] of rows) {
    const hash = bigHashOf(payload);
    if (hash === null || payload === null) continue;
    uses.set(hash, { hash, payload, count: (uses.get(hash)?.count ?? 0) + 1 });
  }
  return [...uses.values()].sort((a, b) => (a.hash < b.hash ? -1 : 1));
}
