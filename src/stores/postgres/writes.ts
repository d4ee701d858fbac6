import { portableSha256, utf8Length } from "../../thread/encoding.ts";
import type { Decision } from "../driver.ts";
import { leaveOutIds } from "../stored-payload.ts";
import type {
  ClaimRecord,
  InboxCommand,
  LeaseRecord,
  StoredLane,
  StoredRow,
  ThreadField,
  ThreadHead,
} from "../stored-records.ts";
import { distinctBlobs, keepBlobs, putBlobs, type UsedBlob, useBlobs } from "./blobs.ts";
import { purgeCommands, upsertCommands } from "./commands.ts";
import type { Query } from "./connection-pool.ts";
import { fieldStatements } from "./fields.ts";
import { endLeases, upsertRunnable } from "./runnable.ts";
import { type FencedScope, headValues } from "./tables.ts";
import { addUsage, type BatchUsage } from "./usage.ts";
import { type NewWaiting, replaceWaiting } from "./waiting.ts";

/** The new heads, rows, lanes, claims and commands of a batch, each with its thread id. */
export interface BatchWrites {
  readonly heads: readonly (readonly [threadId: string, head: ThreadHead])[];
  readonly rows: readonly (readonly [threadId: string, row: StoredRow])[];
  readonly lanes: readonly (readonly [threadId: string, lane: StoredLane])[];
  readonly fields: readonly (readonly [threadId: string, field: ThreadField])[];
  readonly claims: readonly (readonly [threadId: string, claim: ClaimRecord])[];
  readonly usage: BatchUsage["rows"];
  /** To mark as ended. */
  readonly leases: readonly LeaseRecord[];
  readonly runnable: NonNullable<Decision<unknown>["runnable"]>;
  readonly waiting: NewWaiting;
  readonly commands: readonly InboxCommand[];
  readonly blobs: readonly UsedBlob[];
  readonly purgeBefore: number | undefined;
}

/** The statements that write a batch. */
export function batchStatements(scope: FencedScope, batch: BatchWrites): Query[] {
  const { heads, rows, lanes, fields, usage, claims, leases, runnable, waiting, commands, blobs, purgeBefore } = batch;
  return [
    ...(purgeBefore === undefined ? [] : [purgeCommands(scope, purgeBefore)]),
    ...splitIntoChunks(commands, ({ command }) => command.body).map((chunk) => upsertCommands(scope, chunk)),
    ...(claims.length === 0 ? [] : [upsertClaims(scope, claims)]),
    ...(leases.length === 0 ? [] : [endLeases(scope, leases)]),
    ...(runnable.length === 0 ? [] : [upsertRunnable(scope, runnable)]),
    ...(waiting.length === 0 ? [] : replaceWaiting(scope, waiting)),
    ...(heads.length === 0 ? [] : [upsertHeads(scope, heads)]),
    ...insertBigPayloads(scope, rows),
    ...splitIntoChunks(rows, ([, { payload }]) => payload).map((chunk) => insertRows(scope, chunk)),
    ...(lanes.length === 0 ? [] : [upsertLanes(scope, lanes)]),
    ...fieldStatements(scope, fields),
    ...(blobs.length === 0 ? [] : blobStatements(scope, blobs)),
    ...(usage.length === 0 ? [] : [addUsage(scope, usage)]),
  ];
}

function blobStatements(scope: FencedScope, used: readonly UsedBlob[]): readonly Query[] {
  const blobs = distinctBlobs(used);
  const hashes = blobs.map(({ hash }) => hash);
  const chunks = splitIntoChunks(blobs, ({ content }) => content);
  return [keepBlobs(scope, hashes), ...chunks.map((chunk) => putBlobs(scope, chunk)), useBlobs(scope, used)];
}

export function upsertHeads(
  { sql, tables, tenant, fence }: FencedScope,
  heads: readonly (readonly [threadId: string, head: ThreadHead])[],
): Query {
  const ids = heads.map(([id]) => id);
  const columns = heads.map(([, head]) => headValues(head));
  return sql`
    insert into ${tables.threads}
      (tenant, id, rev, hash, created_at, updated_at, metadata, status, seal, lanes, earlier_mark, owner)
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
      ${columns.map(({ lanes }) => lanes)}::text[],
      ${columns.map(({ earlier_mark }) => earlier_mark)}::text[],
      ${columns.map(({ owner }) => owner)}::text[]
    ) as h
    where ${fence}
    on conflict (tenant, id) do update set
      rev = excluded.rev, hash = excluded.hash, updated_at = excluded.updated_at, metadata = excluded.metadata,
      status = excluded.status, seal = excluded.seal, lanes = excluded.lanes, earlier_mark = excluded.earlier_mark,
      owner = excluded.owner`;
}

/** Runs after the heads, because a new thread gets its key with its head. */
export function upsertLanes(
  { sql, tables, tenant, fence }: FencedScope,
  lanes: readonly (readonly [threadId: string, lane: StoredLane])[],
): Query {
  return sql`
    insert into ${tables.lanes} (thread, lane, first_seq, seq, record_seq, record, check_sum)
    select t.key, l.lane, l.first_seq, l.seq, l.record_seq, l.record, l.check_sum
    from unnest(
      ${lanes.map(([threadId]) => threadId)}::text[],
      ${lanes.map(([, { lane }]) => JSON.stringify(lane))}::text[],
      ${lanes.map(([, { firstSeq }]) => firstSeq)}::bigint[],
      ${lanes.map(([, { seq }]) => seq)}::bigint[],
      ${lanes.map(([, { recordSeq }]) => recordSeq)}::bigint[],
      ${lanes.map(([, { record }]) => record)}::text[],
      ${lanes.map(([, { checkSum }]) => checkSum)}::text[]
    ) as l (thread_id, lane, first_seq, seq, record_seq, record, check_sum)
    join ${tables.threads} t on t.tenant = ${tenant} and t.id = l.thread_id
    where ${fence}
    on conflict (thread, lane) do update set
      first_seq = excluded.first_seq, seq = excluded.seq, record_seq = excluded.record_seq,
      record = excluded.record, check_sum = excluded.check_sum`;
}

function upsertClaims(
  { sql, tables, tenant, fence }: FencedScope,
  claims: readonly (readonly [threadId: string, claim: ClaimRecord])[],
): Query {
  return sql`
    insert into ${tables.claims} (tenant, thread, holder, epoch, until, ttl, node, incarnation)
    select ${tenant}, c.*
    from unnest(
      ${claims.map(([id]) => id)}::text[],
      ${claims.map(([, { holder }]) => holder)}::text[],
      ${claims.map(([, { epoch }]) => epoch)}::bigint[],
      ${claims.map(([, { until }]) => until)}::bigint[],
      ${claims.map(([, { ttlMs }]) => ttlMs)}::bigint[],
      ${claims.map(([, { lease }]) => lease?.node ?? null)}::text[],
      ${claims.map(([, { lease }]) => lease?.incarnation ?? null)}::bigint[]
    ) as c
    where ${fence}
    on conflict (tenant, thread) do update set
      holder = excluded.holder, epoch = excluded.epoch, until = excluded.until, ttl = excluded.ttl,
      node = excluded.node, incarnation = excluded.incarnation`;
}

function insertRows(
  { sql, tables, tenant, fence }: FencedScope,
  placed: readonly (readonly [threadId: string, row: StoredRow])[],
): Query {
  const rows = placed.map(([, row]) => {
    const big = bigHashOf(row.payload);
    const texts = big === null ? leaveOutIds(row) : { refs: row.refs, payload: null };
    return { ...row, ...texts, lane: JSON.stringify(row.lane), big };
  });
  return sql`
    insert into ${tables.entries}
      (thread, tenant, seq, id, at, v, kind, refs, payload, big, salt, digest, prev, hash,
        lane, measure, state, record, record_seq, check_sum, mark, track)
    select t.key, t.tenant,
      r.seq, r.id, r.at, r.v, r.kind, r.refs, r.payload, r.big, r.salt, r.digest,
      case when r.seq - 1 = t.fork_seq then r.prev else '' end, r.hash, r.lane, r.measure,
      r.state, r.record, r.record_seq, r.check_sum, r.mark, r.track
    from unnest(
      ${placed.map(([threadId]) => threadId)}::text[],
      ${rows.map(({ seq }) => seq)}::bigint[],
      ${rows.map(({ id }) => id)}::text[],
      ${rows.map(({ at }) => at)}::bigint[],
      ${rows.map(({ v }) => v)}::bigint[],
      ${rows.map(({ kind }) => kind)}::text[],
      ${rows.map(({ refs }) => refs)}::text[],
      ${rows.map(({ payload }) => payload)}::text[],
      ${rows.map(({ big }) => big)}::text[],
      ${rows.map(({ salt }) => salt)}::text[],
      ${rows.map(({ digest }) => digest)}::text[],
      ${rows.map(({ prev }) => prev)}::text[],
      ${rows.map(({ hash }) => hash)}::text[],
      ${rows.map(({ lane }) => lane)}::text[],
      ${rows.map(({ measure }) => measure)}::bigint[],
      ${rows.map(({ state }) => state)}::text[],
      ${rows.map(({ record }) => record)}::text[],
      ${rows.map(({ recordSeq }) => recordSeq)}::bigint[],
      ${rows.map(({ checkSum }) => checkSum)}::text[],
      ${rows.map(({ mark }) => mark)}::bigint[],
      ${rows.map(({ track }) => track)}::text[]
    ) with ordinality as r (
      thread_id, seq, id, at, v, kind, refs, payload, big, salt, digest, prev, hash,
      lane, measure, state, record, record_seq, check_sum, mark, track, place
    )
    join ${tables.threads} t on t.tenant = ${tenant} and t.id = r.thread_id
    where ${fence}
    order by r.place`;
}

/** Removes rows `e`, and the payloads that only these use. */
export function deleteRows(scope: FencedScope, rows: Query): Query[] {
  return [lockBigPayloads(scope, rows), deleteRowsStatement(scope, rows)];
}

function deleteRowsStatement({ sql, tables, tenant, fence }: FencedScope, rows: Query): Query {
  return sql`
    with gone as (
      delete from ${tables.entries} e where ${rows} and ${fence} returning e.big
    ), released as (
      select big as hash, count(*) as uses from gone where big is not null group by big
    ), unused as (
      delete from ${tables.bigPayloads} b using released r
      where b.tenant = ${tenant} and b.hash = r.hash and b.uses = r.uses
    )
    update ${tables.bigPayloads} b set uses = b.uses - r.uses from released r
    where b.tenant = ${tenant} and b.hash = r.hash and b.uses > r.uses`;
}

const BIG_PAYLOAD_BYTES = 32 * 1024;

/**
 * The hash of a big payload, which is stored once per tenant; null when the payload stays in its row. Each big payload has
 * a count of its rows. A transaction locks the count before it changes it, so that a payload in use is never deleted. All
 * transactions lock in the order of the hashes, which prevents deadlocks.
 */
function bigHashOf(payload: string | null): string | null {
  if (payload === null || payload.length * 3 <= BIG_PAYLOAD_BYTES || utf8Length(payload) <= BIG_PAYLOAD_BYTES)
    return null;
  return portableSha256(payload);
}

interface PayloadUse {
  readonly hash: string;
  readonly payload: string;
  readonly count: number;
}

function insertBigPayloads(
  { sql, tables, tenant, fence }: FencedScope,
  rows: readonly (readonly [threadId: string, row: StoredRow])[],
): Query[] {
  return splitIntoChunks(usesIn(rows), ({ payload }) => payload).map(
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
function lockBigPayloads({ sql, tables, tenant, fence }: FencedScope, rows: Query): Query {
  return sql`
    select b.hash from ${tables.bigPayloads} b
    where b.tenant = ${tenant} and b.hash in (select e.big from ${tables.entries} e where ${rows} and e.big is not null)
      and ${fence}
    order by b.hash
    for update`;
}

function usesIn(rows: readonly (readonly [string, StoredRow])[]): readonly PayloadUse[] {
  const uses = new Map<string, PayloadUse>();
  for (const [, { payload }] of rows) {
    const hash = bigHashOf(payload);
    if (hash === null || payload === null) continue;
    uses.set(hash, { hash, payload, count: (uses.get(hash)?.count ?? 0) + 1 });
  }
  return [...uses.values()].sort((a, b) => (a.hash < b.hash ? -1 : 1));
}

/** The largest size of one statement, in characters. A Postgres message can hold 1 GB, and quoting can double a text. */
const MAX_STATEMENT_CHARS = 8 * 1024 * 1024;

/** Splits a list into chunks whose texts stay below the limit. A longer text gets its own chunk. */
function splitIntoChunks<Item>(
  items: readonly Item[],
  textOf: (item: Item) => string | Uint8Array | null,
): readonly Item[][] {
  const chunks: Item[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const length = textOf(item)?.length ?? 0;
    if (size + length > MAX_STATEMENT_CHARS) {
      chunks.push([]);
      size = 0;
    }
    chunks.at(-1)?.push(item);
    size += length;
  }
  return chunks;
}
