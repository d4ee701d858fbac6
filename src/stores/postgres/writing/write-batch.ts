import type { ClaimRecord, StoredRow, ThreadHead } from "../../driver.ts";
import { fromHead } from "../columns.ts";
import type { Query } from "../connection/library.ts";
import type { FencedScope } from "../scope.ts";
import type { Outcome } from "./batch.ts";
import { bigHashOf, insertBigPayloads } from "./big-payloads.ts";
import { chunksOf } from "./chunks.ts";

/** The statements that write the outcome of a batch. */
export function writeBatch(scope: FencedScope, { heads, rows, claims }: Outcome): Query[] {
  return [
    ...(claims.length === 0 ? [] : [upsertClaims(scope, claims)]),
    ...(heads.length === 0 ? [] : [upsertHeads(scope, heads)]),
    ...insertBigPayloads(scope, rows),
    ...chunksOf(rows, ([, { payload }]) => payload).map((chunk) => insertRows(scope, chunk)),
  ];
}

export function upsertHeads(
  { sql, tables, tenant, fence }: FencedScope,
  heads: readonly (readonly [threadId: string, head: ThreadHead])[],
): Query {
  const ids = heads.map(([id]) => id);
  const columns = heads.map(([, head]) => fromHead(head));
  return sql`
    insert into ${tables.threads}
      (tenant, id, rev, hash, created_at, updated_at, metadata, status, seal, track, mark)
    select ${tenant}, h.*
    from unnest(
      ${ids}::text[],
      ${columns.map(({ rev }) => rev)}::bigint[],
      ${columns.map(({ hash }) => hash)}::text[],
      ${columns.map(({ created_at }) => created_at)}::bigint[],
      ${columns.map(({ updated_at }) => updated_at)}::bigint[],
      ${columns.map(({ metadata }) => metadata)}::text[],
      ${columns.map(({ status }) => status)}::text[],
      ${columns.map(({ seal }) => seal)}::text[],
      ${columns.map(({ track }) => track)}::text[],
      ${columns.map(({ mark }) => mark)}::text[]
    ) as h
    where ${fence}
    on conflict (tenant, id) do update set
      rev = excluded.rev, hash = excluded.hash, updated_at = excluded.updated_at, metadata = excluded.metadata,
      status = excluded.status, seal = excluded.seal, track = excluded.track, mark = excluded.mark`;
}

function upsertClaims(
  { sql, tables, tenant, fence }: FencedScope,
  claims: readonly (readonly [threadId: string, claim: ClaimRecord])[],
): Query {
  return sql`
    insert into ${tables.claims} (tenant, thread, holder, epoch, until, ttl)
    select ${tenant}, c.*
    from unnest(
      ${claims.map(([id]) => id)}::text[],
      ${claims.map(([, { holder }]) => holder)}::text[],
      ${claims.map(([, { epoch }]) => epoch)}::bigint[],
      ${claims.map(([, { until }]) => until)}::bigint[],
      ${claims.map(([, { ttlMs }]) => ttlMs)}::bigint[]
    ) as c
    where ${fence}
    on conflict (tenant, thread) do update set
      holder = excluded.holder, epoch = excluded.epoch, until = excluded.until, ttl = excluded.ttl`;
}

function insertRows(
  { sql, tables, tenant, fence }: FencedScope,
  placed: readonly (readonly [threadId: string, row: StoredRow])[],
): Query {
  const rows = placed.map(([, row]) => ({ ...row, lane: JSON.stringify(row.lane), big: bigHashOf(row.payload) }));
  return sql`
    insert into ${tables.entries}
      (thread, tenant, seq, id, at, v, kind, refs, payload, big, salt, digest, prev, hash, lane, measure, mark, track)
    select t.key, t.tenant,
      r.seq, r.id, r.at, r.v, r.kind, r.refs, r.payload, r.big, r.salt, r.digest, r.prev, r.hash, r.lane, r.measure,
      r.mark, r.track
    from unnest(
      ${placed.map(([threadId]) => threadId)}::text[],
      ${rows.map(({ seq }) => seq)}::bigint[],
      ${rows.map(({ id }) => id)}::text[],
      ${rows.map(({ at }) => at)}::bigint[],
      ${rows.map(({ v }) => v)}::bigint[],
      ${rows.map(({ kind }) => kind)}::text[],
      ${rows.map(({ refs }) => refs)}::text[],
      ${rows.map(({ payload, big }) => (big === null ? payload : null))}::text[],
      ${rows.map(({ big }) => big)}::text[],
      ${rows.map(({ salt }) => salt)}::text[],
      ${rows.map(({ digest }) => digest)}::text[],
      ${rows.map(({ prev }) => prev)}::text[],
      ${rows.map(({ hash }) => hash)}::text[],
      ${rows.map(({ lane }) => lane)}::text[],
      ${rows.map(({ measure }) => measure)}::bigint[],
      ${rows.map(({ mark }) => mark)}::bigint[],
      ${rows.map(({ track }) => track)}::text[]
    ) with ordinality as r (
      thread_id, seq, id, at, v, kind, refs, payload, big, salt, digest, prev, hash, lane, measure, mark, track, place
    )
    join ${tables.threads} t on t.tenant = ${tenant} and t.id = r.thread_id
    where ${fence}
    order by r.place`;
}
