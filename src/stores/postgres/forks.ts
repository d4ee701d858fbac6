import { portableSha256 } from "../../thread/encoding.ts";
import type { RemovalCheck, ThreadStart } from "../driver.ts";
import { CorruptionError, threadNotFound } from "../errors.ts";
import { bodyOfFeedItem, type FeedChange } from "../feed-item.ts";
import { originSum } from "../row-parts.ts";
import type { StoredRow } from "../stored-records.ts";
import { copyBlobUses, releaseBlobs } from "./blobs.ts";
import { readPending, removeCommands } from "./commands.ts";
import type { Query } from "./connection-pool.ts";
import { fieldStatements } from "./fields.ts";
import { readParts } from "./fork-rows.ts";
import { readHead, readThreadKeys } from "./reads.ts";
import { removeRunnable } from "./runnable.ts";
import type { FencedScope, Scope } from "./tables.ts";
import { forgetThreadInUsage } from "./usage.ts";
import { removeWaiting } from "./waiting.ts";
import type { Transaction } from "./writer.ts";
import { deleteRows, upsertHeads, upsertLanes } from "./writes.ts";

interface ForkPoint {
  readonly parent: number;
  /** The owner of the last shared row; undefined for a fork without entries. */
  readonly origin: number | undefined;
}

/** Makes a fork. Locks both threads, so that the parent is not removed meanwhile. */
export function forkThread(
  from: string,
  to: string,
  atSeq: number,
  { head, lanes, fields }: ThreadStart,
): Transaction<ForkPoint | undefined, boolean> {
  return {
    threadIds: [from, to],
    async read(scope) {
      const keys = await readThreadKeys(scope, [from, to]);
      if (keys.has(to)) return undefined;
      const parent = keys.get(from);
      if (parent === undefined) throw threadNotFound(from);
      const parts = atSeq < 0 ? [] : ((await readParts(scope, [from])).get(from) ?? []);
      const origin = parts.find((part) => part.from <= atSeq)?.owner;
      if (origin !== undefined) await checkLastRow(scope, from, origin, { seq: atSeq, hash: head.hash });
      return { parent, origin };
    },
    write(scope, point) {
      if (point === undefined) return { statements: [], finish: () => false };
      const statements = [
        upsertHeads(scope, [[to, head]]),
        pointTo(scope, to, atSeq, point),
        ...(lanes.length === 0
          ? []
          : [
              upsertLanes(
                scope,
                lanes.map((lane) => [to, lane] as const),
              ),
            ]),
        ...fieldStatements(
          scope,
          fields.map((field) => [to, field] as const),
        ),
        copyBlobUses(scope, from, to, atSeq),
        addFeedItem(scope, { type: "forked", threadId: to, from, forkSeq: atSeq }),
      ];
      return { statements, changedIds: [to], finish: () => true };
    },
  };
}

/** The head was computed earlier. The thread may have been deleted and created again since. */
async function checkLastRow(
  { sql, tables }: Scope,
  threadId: string,
  owner: number,
  { seq, hash }: Pick<StoredRow, "seq" | "hash">,
): Promise<void> {
  const [last] = await sql<{ readonly hash: string }[]>`
    select e.hash from ${tables.entries} e where e.thread = ${owner} and e.seq = ${seq}`;
  if (last?.hash !== hash) throw new CorruptionError({ threadId, seq, trouble: "it is missing" });
}

function pointTo({ sql, tables, tenant, fence }: FencedScope, to: string, atSeq: number, point: ForkPoint): Query {
  const { parent, origin = null } = point;
  const sum = origin === null ? null : originSum(origin, atSeq, portableSha256);
  return sql`
    update ${tables.threads} set origin = ${origin}, fork_seq = ${atSeq}, origin_sum = ${sum}, fork_of = ${parent}
    where tenant = ${tenant} and id = ${to} and ${fence}`;
}

function addFeedItem({ sql, tables, tenant, fence }: FencedScope, item: FeedChange): Query {
  return sql`
    insert into ${tables.feedItems} (tenant, thread, kind, body)
    select ${tenant}, ${item.threadId}, ${item.type}, ${bodyOfFeedItem(item)} where ${fence}`;
}

/** The changes of a removal. */
interface Removal {
  readonly key: number;
  /** Rows to remove from a seq on; with `isWhole`, the thread too. Forks come before the owners of their rows. */
  readonly removed: readonly { readonly key: number; readonly from: number; readonly isWhole: boolean }[];
  /** The forks that rows are kept for. */
  readonly keptFor: readonly string[];
}

/**
 * Removes a thread and its commands. Keeps the rows that forks show, and returns the ids of these forks. Undefined when
 * there is no thread.
 */
export function removeThread(
  threadId: string,
  check?: RemovalCheck,
): Transaction<Removal | undefined, readonly string[] | undefined> {
  return {
    threadIds: [threadId],
    async read(scope) {
      check?.(await readHead(scope, threadId), (await readPending(scope, threadId, 0, 1)).length > 0);
      return planRemoval(scope, threadId);
    },
    write(scope, removal) {
      const { sql, tables, tenant, fence } = scope;
      const inbox = [
        removeCommands(scope, threadId),
        removeRunnable(scope, threadId),
        removeWaiting(scope, [threadId]),
        releaseBlobs(scope, threadId),
        forgetThreadInUsage(scope, threadId),
      ];
      if (removal === undefined) return { statements: inbox, finish: () => undefined };
      const { key, removed, keptFor } = removal;
      const statements = [
        ...inbox,
        sql`delete from ${tables.feedItems}
          where tenant = ${tenant} and thread = ${threadId} and kind = 'forked' and ${fence}`,
        addFeedItem(scope, { type: "deleted", threadId }),
        // No name of a thread contains a slash, so the id is free again.
        sql`update ${tables.threads}
          set id = '/' || key::text, state = 'hidden', metadata = '{}', status = null, owner = null, seal = ''
          where key = ${key} and ${fence}`,
        sql`delete from ${tables.lanes} where thread = ${key} and ${fence}`,
        sql`delete from ${tables.threadFields} where thread = ${key} and ${fence}`,
        ...removed.flatMap(({ key: one, from, isWhole }) => [
          ...deleteRows(scope, sql`e.thread = ${one} and e.seq >= ${from}`),
          ...(isWhole ? [sql`delete from ${tables.threads} where key = ${one} and ${fence}`] : []),
        ]),
      ];
      return { statements, changedIds: [threadId], postedIds: [threadId], finish: () => keptFor };
    },
  };
}

async function planRemoval(scope: Scope, threadId: string): Promise<Removal | undefined> {
  const { sql, tables, tenant } = scope;
  const owners = ((await readParts(scope, [threadId])).get(threadId) ?? []).map(({ owner }) => owner);
  const [key] = owners;
  if (key === undefined) return undefined;
  // Two removals that decide about the same rows run one after the other. Appends do not take these locks.
  await sql`
    select pg_advisory_xact_lock(hashtextextended(o.key::text || '/' || ${tenant}, 1))
    from (select key from unnest(${owners}::bigint[]) as k (key) order by key) as o`;
  const hidden = await sql<{ readonly key: number }[]>`
    select key from ${tables.threads} where key = any(${owners}::bigint[]) and state = 'hidden'`;
  const pointers = await sql<{ readonly key: number; readonly origin: number; readonly fork_seq: number }[]>`
    select key, origin, fork_seq from ${tables.threads} where origin = any(${owners}::bigint[])`;
  const sharing = await sql<{ readonly id: string }[]>`
    with recursive found (key) as (
      select t.key from ${tables.threads} t where t.origin = ${key}
      union
      select t.key from found f join ${tables.threads} t on t.origin = f.key
    )
    select t.id from found f join ${tables.threads} t on t.key = f.key where t.state is null order by t.id`;
  const isHidden = new Set([key, ...hidden.map((thread) => thread.key)]);
  const removed: { key: number; from: number; isWhole: boolean }[] = [];
  for (const owner of owners) {
    const gone = removed.at(-1)?.key;
    const forks = pointers.filter(({ origin, key: fork }) => origin === owner && fork !== gone);
    const isWhole = forks.length === 0;
    if (!isHidden.has(owner)) break;
    removed.push({ key: owner, from: Math.max(-1, ...forks.map(({ fork_seq }) => fork_seq)) + 1, isWhole });
    if (!isWhole) break;
  }
  return { key, removed, keptFor: sharing.map(({ id }) => id) };
}
