import type { CommandKey } from "../driver.ts";
import type { InboxCommand, StoredCommand } from "../stored-records.ts";
import type { Query } from "./connection-pool.ts";
import type { FencedScope, Scope } from "./tables.ts";

interface CommandColumns {
  readonly thread: string;
  readonly id: string;
  readonly type: string;
  readonly body: string;
  readonly posted: string | null;
  readonly revision: number;
  readonly position: number;
  readonly posted_at: number;
  readonly outcome: string | null;
  readonly done_at: number | null;
  readonly check_sum: string;
}

function columns({ sql }: Scope): Query {
  return sql`c.thread, c.id, c.type, c.body, c.posted, c.revision, c.position, c.posted_at, c.outcome, c.done_at,
    c.check_sum`;
}

function toInboxCommand(found: CommandColumns): InboxCommand {
  const { thread: threadId, id, type, body, posted, revision, position, outcome } = found;
  const { posted_at: postedAt, done_at: doneAt, check_sum: checkSum } = found;
  const command = { id, type, body, posted, revision, position, postedAt, outcome, doneAt, checkSum };
  return { threadId, command };
}

export async function readCommands(scope: Scope, keys: readonly CommandKey[]): Promise<readonly InboxCommand[]> {
  if (keys.length === 0) return [];
  const { sql, tables, tenant } = scope;
  const found = await sql<CommandColumns[]>`
    select ${columns(scope)}
    from unnest(${keys.map(({ threadId }) => threadId)}::text[], ${keys.map(({ id }) => id)}::text[]) as w (thread, id)
    join ${tables.commands} c on c.tenant = ${tenant} and c.thread = w.thread and c.id = w.id`;
  return found.map(toInboxCommand);
}

export async function readPending(
  scope: Scope,
  threadId: string,
  after: number,
  limit: number,
): Promise<readonly StoredCommand[]> {
  const { sql, tables, tenant } = scope;
  const found = await sql<CommandColumns[]>`
    select ${columns(scope)} from ${tables.commands} c
    where c.tenant = ${tenant} and c.thread = ${threadId} and c.done_at is null and c.position > ${after}
    order by c.position limit ${limit}`;
  return found.map((one) => toInboxCommand(one).command);
}

/** The greatest position of a pending command, by thread id. A thread without one is left out. */
export async function readLastPositions(
  { sql, tables, tenant }: Scope,
  threadIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (threadIds.length === 0) return new Map();
  const found = await sql<{ readonly thread: string; readonly position: number }[]>`
    select c.thread, max(c.position) as position from ${tables.commands} c
    where c.tenant = ${tenant} and c.thread = any(${threadIds}::text[]) and c.done_at is null group by c.thread`;
  return new Map(found.map(({ thread, position }) => [thread, position]));
}

export function upsertCommands({ sql, tables, tenant, fence }: FencedScope, written: readonly InboxCommand[]): Query {
  const commands = written.map(({ command }) => command);
  return sql`
    insert into ${tables.commands}
      (tenant, thread, id, type, body, posted, revision, position, posted_at, outcome, done_at, check_sum)
    select ${tenant}, c.*
    from unnest(
      ${written.map(({ threadId }) => threadId)}::text[],
      ${commands.map(({ id }) => id)}::text[],
      ${commands.map(({ type }) => type)}::text[],
      ${commands.map(({ body }) => body)}::text[],
      ${commands.map(({ posted }) => posted)}::text[],
      ${commands.map(({ revision }) => revision)}::bigint[],
      ${commands.map(({ position }) => position)}::bigint[],
      ${commands.map(({ postedAt }) => postedAt)}::bigint[],
      ${commands.map(({ outcome }) => outcome)}::text[],
      ${commands.map(({ doneAt }) => doneAt)}::bigint[],
      ${commands.map(({ checkSum }) => checkSum)}::text[]
    ) as c
    where ${fence}
    on conflict (tenant, thread, id) do update set
      body = excluded.body, posted = excluded.posted, revision = excluded.revision, outcome = excluded.outcome,
      done_at = excluded.done_at, check_sum = excluded.check_sum`;
}

/** How many old outcomes one transaction removes. */
const PURGE_LIMIT = 100;

/** Other threads are not locked: a command with an outcome never changes, and one that is being removed is skipped. */
export function purgeCommands({ sql, tables, tenant, fence }: FencedScope, before: number): Query {
  return sql`
    delete from ${tables.commands} c using (
      select o.thread, o.id from ${tables.commands} o where o.tenant = ${tenant} and o.done_at < ${before} and ${fence}
      order by o.done_at limit ${PURGE_LIMIT} for update skip locked
    ) as old
    where c.tenant = ${tenant} and c.thread = old.thread and c.id = old.id`;
}

export function removeCommands({ sql, tables, tenant, fence }: FencedScope, threadId: string): Query {
  return sql`delete from ${tables.commands} where tenant = ${tenant} and thread = ${threadId} and ${fence}`;
}
