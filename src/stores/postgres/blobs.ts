import type { BlobUse, StoredBlob } from "../stored-records.ts";
import type { Query } from "./connection-pool.ts";
import { type FencedScope, type Scope, storedPayload } from "./tables.ts";
import type { Transaction } from "./writer.ts";

/** How many blobs one call removes. */
const PURGE_LIMIT = 100;

/** A blob, and the thread that uses it. */
export type UsedBlob = readonly [threadId: string, blob: BlobUse];

/**
 * Stores the missing blobs. Locks those that are there, so that they are not removed before the transaction ends. All
 * transactions lock in the order of the hashes, which prevents deadlocks. Run `useBlobs` after it.
 */
export function putBlobs({ sql, tables, tenant, fence }: FencedScope, blobs: readonly StoredBlob[]): Query {
  return sql`
    insert into ${tables.records} (tenant, space, key, json, bytes)
    select ${tenant}, 'blob', b.hash, b.json, decode(b.bytes, 'base64')
    from unnest(
      ${blobs.map(({ hash }) => hash)}::text[],
      ${blobs.map(({ content }) => (typeof content === "string" ? content : null))}::text[],
      ${blobs.map(({ content }) => (typeof content === "string" ? null : base64(content)))}::text[]
    ) as b (hash, json, bytes)
    where ${fence}
    order by b.hash collate "C"
    on conflict (tenant, space, key) do update set key = excluded.key`;
}

/** The library cannot send a list of bytes. */
function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

/** Each blob once, in the order of the hashes. */
export function distinctBlobs(used: readonly UsedBlob[]): readonly StoredBlob[] {
  const blobs = new Map(used.map(([, blob]) => [blob.hash, blob]));
  return [...blobs.values()].sort((a, b) => (a.hash < b.hash ? -1 : 1));
}

/**
 * Blobs that are stored without any use were put to be kept forever. They get a use that never ends. Run it before `putBlobs`.
 */
export function keepBlobs({ sql, tables, tenant, fence }: FencedScope, hashes: readonly string[]): Query {
  return sql`
    insert into ${tables.blobUses} (tenant, hash, thread, purpose)
    select ${tenant}, r.key, '', 'put' from ${tables.records} r
    where r.tenant = ${tenant} and r.space = 'blob' and r.key = any(${hashes}::text[]) and ${fence}
      and not exists (select from ${tables.blobUses} u where u.tenant = ${tenant} and u.hash = r.key)
    order by r.key
    on conflict do nothing`;
}

/** If the blob has uses, it is kept forever from now on. */
export function keepUsedBlob({ sql, tables, tenant, fence }: FencedScope, hash: string): Query {
  return sql`
    insert into ${tables.blobUses} (tenant, hash, thread, purpose)
    select ${tenant}, ${hash}, '', 'put'
    where ${fence} and exists (select from ${tables.blobUses} u where u.tenant = ${tenant} and u.hash = ${hash})
    on conflict do nothing`;
}

/** Runs after the heads: a use by a thread that does not exist has ended already. */
export function useBlobs({ sql, tables, tenant, fence }: FencedScope, used: readonly UsedBlob[]): Query {
  return sql`
    insert into ${tables.blobUses} (tenant, hash, thread, purpose, ended_at)
    select distinct ${tenant}, u.hash, u.thread, u.purpose,
      case when t.key is null then ${nowMs({ sql })} end
    from unnest(
      ${used.map(([threadId]) => threadId)}::text[],
      ${used.map(([, { hash }]) => hash)}::text[],
      ${used.map(([, { purpose }]) => purpose)}::text[]
    ) as u (thread, hash, purpose)
    left join ${tables.threads} t on t.tenant = ${tenant} and t.id = u.thread
    where ${fence}
    on conflict (tenant, hash, thread, purpose) do update set ended_at = excluded.ended_at`;
}

/**
 * Gives a fork the blobs of its parent, but not the files and texts that only rows behind it refer to. The rows up to the fork
 * are read only if those behind it have blobs.
 */
export function copyBlobUses(scope: FencedScope, from: string, to: string, atSeq: number): Query {
  const { sql, tables, tenant, fence } = scope;
  const payload = storedPayload(scope);
  // Each quoted text that may be a hash: more than the references, and no damaged row can make it fail.
  const referencesAt = (seqs: Query) => sql`
    select r.found[1] from part p
    join ${tables.entries} e on e.thread = p.owner and e.seq <= p.last and e.seq ${seqs}
    cross join lateral regexp_matches(${payload}, '"([A-Za-z0-9_-]{43})"', 'g') as r (found)
    where starts_with(${payload}, '[')`;
  return sql`
    with recursive part (owner, last) as (
      select t.key, ${Number.MAX_SAFE_INTEGER}::bigint from ${tables.threads} t
      where t.tenant = ${tenant} and t.id = ${from}
      union all
      select o.origin, o.fork_seq from part p join ${tables.threads} o on o.key = p.owner where o.origin is not null
    )
    insert into ${tables.blobUses} (tenant, hash, thread, purpose)
    select u.tenant, u.hash, ${to}, u.purpose from ${tables.blobUses} u
    where u.tenant = ${tenant} and u.thread = ${from} and ${fence} and (
      u.purpose = 'put' or u.hash not in (${referencesAt(sql`> ${atSeq}`)}) or u.hash in (${referencesAt(sql`<= ${atSeq}`)})
    )
    on conflict (tenant, hash, thread, purpose) do update set ended_at = null`;
}

/** Ends the uses of a thread whose rows are removed. */
export function releaseBlobs({ sql, tables, tenant, fence }: FencedScope, threadId: string): Query {
  return sql`
    update ${tables.blobUses} set ended_at = ${nowMs({ sql })}
    where tenant = ${tenant} and thread = ${threadId} and ended_at is null and ${fence}`;
}

/** The time of the statement's transaction, by the server's clock. */
function nowMs({ sql }: Pick<Scope, "sql">): Query {
  return sql`floor(extract(epoch from transaction_timestamp()) * 1000)::bigint`;
}

/**
 * Removes blobs whose uses have ended. Two statements: the first locks the blobs that no transaction uses now, and the second
 * sees all uses that were committed by then.
 */
export function purgeBlobs(graceMs: number): Transaction<readonly string[], boolean> {
  return {
    threadIds: [],
    read: (scope) => lockUnused(scope, graceMs),
    write(scope, hashes) {
      const { sql, tables, tenant, fence } = scope;
      const isOver = sql`u.tenant = ${tenant} and u.hash = any(${hashes}::text[])
        and u.ended_at < ${nowMs(scope)} - ${graceMs}::bigint and ${fence}`;
      const statements = [
        sql`
          update ${tables.blobUses} u set ended_at = ${nowMs(scope)}
          where ${isOver} and u.thread in (select t.id from ${tables.threads} t where t.tenant = ${tenant})`,
        sql`delete from ${tables.blobUses} u where ${isOver}`,
        sql`
          delete from ${tables.records} r
          where r.tenant = ${tenant} and r.space = 'blob' and r.key = any(${hashes}::text[]) and ${fence}
            and not exists (select from ${tables.blobUses} u where u.tenant = ${tenant} and u.hash = r.key)`,
      ];
      return { statements: hashes.length === 0 ? [] : statements, finish: () => hashes.length === PURGE_LIMIT };
    },
  };
}

async function lockUnused(scope: Scope, graceMs: number): Promise<readonly string[]> {
  const { sql, tables, tenant } = scope;
  const found = await sql<{ readonly key: string }[]>`
    select r.key from ${tables.records} r
    where r.tenant = ${tenant} and r.space = 'blob' and r.key in (
      select u.hash from ${tables.blobUses} u
      where u.tenant = ${tenant} and u.ended_at < ${nowMs(scope)} - ${graceMs}::bigint
      order by u.ended_at limit ${PURGE_LIMIT}
    )
    for update skip locked`;
  return found.map(({ key }) => key);
}

export async function readBlobs(scope: Scope, hashes: readonly string[]): Promise<readonly StoredBlob[]> {
  const { sql, tables, tenant } = scope;
  const found = await sql<{ readonly key: string; readonly json: string | null; readonly bytes: Uint8Array | null }[]>`
    select key, json, bytes from ${tables.records}
    where tenant = ${tenant} and space = 'blob' and key = any(${hashes}::text[])`;
  return found.map(({ key, json, bytes }) => ({ hash: key, content: json ?? Uint8Array.from(bytes ?? []) }));
}
