import type { PendingQuery } from "postgres";
import type { CounterDecision, CounterState, Decision, LeaseDecision, LeaseState, TakeQuery } from "../driver.ts";
import type { TakenThread } from "../runnable.ts";
import type { LeaseRecord, RunnableRow, StoredCommand } from "../stored-records.ts";
import type { Query } from "./connection-pool.ts";
import type { FencedScope, Scope } from "./tables.ts";
import type { Transaction } from "./writer.ts";

interface LeaseColumns {
  readonly node: string;
  readonly incarnation: number;
  readonly until: number;
  readonly ttl: number;
  readonly ended: boolean;
}

function toLease({ ttl: ttlMs, ...columns }: LeaseColumns): LeaseRecord {
  return { ...columns, ttlMs };
}

function columns({ sql }: Scope): Query {
  return sql`l.node, l.incarnation, l.until, l.ttl, l.ended`;
}

/** The server's clock in milliseconds. It also runs within a transaction. */
export function serverClock({ sql }: Scope): Query {
  return sql`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`;
}

/**
 * The leases of these nodes and of the claims of these threads. Locks those that have expired, so that none of them is renewed
 * while a claim of it is taken over.
 */
export async function readLeases(
  scope: Scope,
  threadIds: readonly string[],
  nodes: readonly string[],
): Promise<readonly LeaseRecord[]> {
  const { sql, tables, tenant } = scope;
  const wanted = sql`(l.node = any(${nodes}::text[]) or l.node in (
    select c.node from ${tables.claims} c where c.tenant = ${tenant} and c.thread = any(${threadIds}::text[])))`;
  const [, found] = await Promise.all([
    sql`
      select l.node from ${tables.leases} l where ${wanted} and not l.ended and l.until <= ${serverClock(scope)}
      order by l.node for update`.execute(),
    sql<LeaseColumns[]>`select ${columns(scope)} from ${tables.leases} l where ${wanted}`.execute(),
  ]);
  return found.map(toLease);
}

export function endLeases({ sql, tables, fence }: FencedScope, ended: readonly LeaseRecord[]): Query {
  return sql`
    update ${tables.leases} l set ended = true
    from unnest(
      ${ended.map(({ node }) => node)}::text[], ${ended.map(({ incarnation }) => incarnation)}::bigint[]
    ) as e (node, incarnation)
    where l.node = e.node and l.incarnation = e.incarnation and ${fence}`;
}

/** Uses no tenant. It takes the lock that a thread with the name of the node would have. */
export function changeLease<Result>(
  node: string,
  decide: (state: LeaseState) => LeaseDecision<Result>,
): Transaction<LeaseState, Result> {
  return {
    threadIds: [node],
    async read(scope) {
      const { sql, tables } = scope;
      const [clock, found] = await Promise.all([
        sql<{ readonly now: number }[]>`select ${serverClock(scope)} as now`.execute(),
        sql<LeaseColumns[]>`
          select ${columns(scope)} from ${tables.leases} l where l.node = ${node} for update`.execute(),
      ]);
      return { lease: found[0] && toLease(found[0]), now: clock[0]?.now ?? Number.NaN };
    },
    write(scope, state) {
      const { sql, tables, fence } = scope;
      const { result, lease, purgeBefore } = decide(state);
      const statements = [
        ...(purgeBefore === undefined
          ? []
          : [
              sql`
                delete from ${tables.leases} l using (
                  select o.node from ${tables.leases} o where o.until < ${purgeBefore} and o.node <> ${node} and ${fence}
                  for update skip locked
                ) as old
                where l.node = old.node`,
            ]),
        ...(lease === undefined ? [] : [putLease(scope, lease)]),
      ];
      return { statements, finish: () => result };
    },
  };
}

function putLease({ sql, tables, fence }: FencedScope, { node, incarnation, until, ttlMs, ended }: LeaseRecord): Query {
  return sql`
    insert into ${tables.leases} (node, incarnation, until, ttl, ended)
    select ${node}, ${incarnation}::bigint, ${until}::bigint, ${ttlMs}::bigint, ${ended}::boolean where ${fence}
    on conflict (node) do update set
      incarnation = excluded.incarnation, until = excluded.until, ttl = excluded.ttl, ended = excluded.ended`;
}

type NodeAmount = CounterState["nodes"][number];

/** Changes a counter. It is locked as a thread with its name would be. It is one for all tenants. */
export function changeCounter<Result>(
  name: string,
  decide: (state: CounterState) => CounterDecision<Result>,
): Transaction<readonly NodeAmount[], Result> {
  return {
    threadIds: [name],
    read: (scope) => scope.sql<NodeAmount[]>`
      select l.node, l.incarnation, coalesce(c.amount, 0) as amount
      from ${scope.tables.leases} l
      left join ${scope.tables.counters} c on c.tenant = '' and c.name = ${name} and c.node = l.node
      where ${isAlive(scope)}`,
    write(scope, nodes) {
      const { result, written } = decide({ nodes });
      return { statements: written === undefined ? [] : putAmount(scope, name, written), finish: () => result };
    },
  };
}

function isAlive(scope: Scope): Query {
  return scope.sql`not l.ended and l.until > ${serverClock(scope)}`;
}

function putAmount(
  scope: FencedScope,
  name: string,
  { node, amount }: { readonly node: string; readonly amount: number },
) {
  const { sql, tables, fence } = scope;
  return [
    sql`
      delete from ${tables.counters} c where c.tenant = '' and c.name = ${name} and ${fence}
        and not exists (select from ${tables.leases} l where l.node = c.node and ${isAlive(scope)})`,
    sql`
      insert into ${tables.counters} (tenant, name, node, amount, until)
      select '', ${name}, l.node, ${amount}::bigint, l.until from ${tables.leases} l where l.node = ${node} and ${fence}
      on conflict (tenant, name, node) do update set amount = excluded.amount, until = excluded.until`,
  ];
}

interface RunnableColumns {
  readonly thread: string;
  readonly agent: string | null;
  readonly due_at: number | null;
  readonly priority: number;
}

/** The runnable rows by thread id. */
export async function readRunnable(
  { sql, tables, tenant }: Scope,
  threadIds: readonly string[],
): Promise<ReadonlyMap<string, RunnableRow>> {
  if (threadIds.length === 0) return new Map();
  const found = await sql<RunnableColumns[]>`
    select r.thread, r.agent, r.due_at, r.priority from ${tables.runnable} r
    where r.tenant = ${tenant} and r.thread = any(${threadIds}::text[])`;
  return new Map(found.map(({ thread, due_at: dueAt, agent, priority }) => [thread, { agent, dueAt, priority }]));
}

/** A pending command, without its body. */
export type PendingCommand = Pick<StoredCommand, "id" | "revision"> & { readonly thread: string };

export async function readPendingIds(
  { sql, tables, tenant }: Scope,
  threadIds: readonly string[],
): Promise<readonly PendingCommand[]> {
  if (threadIds.length === 0) return [];
  return sql<PendingCommand[]>`
    select c.thread, c.id, c.revision from ${tables.commands} c
    where c.tenant = ${tenant} and c.thread = any(${threadIds}::text[]) and c.done_at is null`;
}

export function upsertRunnable(
  { sql, tables, tenant, fence }: FencedScope,
  written: NonNullable<Decision<unknown>["runnable"]>,
): Query {
  return sql`
    insert into ${tables.runnable} (tenant, thread, agent, due_at, priority)
    select ${tenant}, r.*
    from unnest(
      ${written.map(({ threadId }) => threadId)}::text[],
      ${written.map(({ row }) => row.agent)}::text[],
      ${written.map(({ row }) => row.dueAt)}::bigint[],
      ${written.map(({ row }) => row.priority)}::bigint[]
    ) as r
    where ${fence}
    on conflict (tenant, thread) do update set
      agent = excluded.agent, due_at = excluded.due_at, priority = excluded.priority`;
}

export function removeRunnable({ sql, tables, tenant, fence }: FencedScope, threadId: string): Query {
  return sql`delete from ${tables.runnable} where tenant = ${tenant} and thread = ${threadId} and ${fence}`;
}

interface ThreadName {
  readonly tenant: string;
  readonly thread: string;
}

/**
 * Takes threads of all tenants. Rows and threads that another transaction has locked are skipped, so this waits for no writer.
 * The second statement decides again, because a claim may have changed before its thread was locked.
 */
export function takeThreads(
  schema: string,
  query: TakeQuery,
): Transaction<readonly ThreadName[] | undefined, readonly TakenThread[] | undefined> {
  const { node, incarnation } = query.lease;
  return {
    threadIds: [],
    async read(scope) {
      const { sql, tables } = scope;
      const [, own, found] = await Promise.all([
        sql`
          update ${tables.leases} l set ended = true from (
            select o.node from ${tables.leases} o
            where not o.ended and o.until <= ${serverClock(scope)} and o.node <> ${node} for update skip locked
          ) as expired
          where l.node = expired.node`.execute(),
        sql`
          select from ${tables.leases} l where l.node = ${node} and l.incarnation = ${incarnation} and not l.ended
            and l.until > ${serverClock(scope)}`.execute(),
        lockDue(scope, schema, query).execute(),
      ]);
      return own.length === 0 ? undefined : found;
    },
    write(scope, found) {
      if (found === undefined || found.length === 0) return { statements: [], finish: () => found && [] };
      const { sql, tables, fence } = scope;
      const claimed = sql`
        with taken as (
          insert into ${tables.claims} as kept (tenant, thread, holder, epoch, until, ttl, node, incarnation)
          select r.tenant, r.thread, ${query.holder}, 1, own.until, own.ttl, own.node, own.incarnation
          from unnest(
            ${found.map(({ tenant }) => tenant)}::text[], ${found.map(({ thread }) => thread)}::text[]
          ) as f (tenant, thread)
          join ${tables.runnable} r on r.tenant = f.tenant and r.thread = f.thread
          join ${tables.leases} own on own.node = ${node} and own.incarnation = ${incarnation} and not own.ended
          ${withHolders(scope)}
          where r.due_at <= ${serverClock(scope)} and not ${isHeld(scope)} and ${fence}
          on conflict (tenant, thread) do update set
            holder = excluded.holder, epoch = kept.epoch + 1, until = excluded.until, ttl = excluded.ttl,
            node = excluded.node, incarnation = excluded.incarnation
          returning tenant, thread, epoch
        )
        select t.tenant, t.thread, t.epoch, r.agent
        from taken t join ${tables.runnable} r on r.tenant = t.tenant and r.thread = t.thread`;
      return {
        statements: [claimed],
        finish: async () => (await claimed).map((row) => toTaken(row as TakenColumns)), // the statement returns these columns
      };
    },
  };
}

interface TakenColumns extends ThreadName {
  readonly epoch: number;
  readonly agent: string | null;
}

function toTaken({ tenant, thread: threadId, epoch, agent }: TakenColumns): TakenThread {
  return { tenant, threadId, epoch, ...(agent !== null && { agent }) };
}

/** For `runnable r`: the claim and the lease of its holder. */
function withHolders({ sql, tables }: Scope): Query {
  return sql`
    left join ${tables.claims} c on c.tenant = r.tenant and c.thread = r.thread
    left join ${tables.leases} l on l.node = c.node and l.incarnation = c.incarnation and not l.ended`;
}

/**
 * `take` has marked all expired leases as ended, except those that are being renewed. So a lease without that mark is alive.
 */
function isHeld(scope: Scope): Query {
  return scope.sql`(c.until is not null and c.until <> 0 and
    case when c.node is null then c.until > ${serverClock(scope)} else l.node is not null end)`;
}

function lockDue(scope: Scope, schema: string, query: TakeQuery): PendingQuery<ThreadName[]> {
  const { sql, tables } = scope;
  const { lease, tenant, agents, unnamed, limit, perTenant, afterTenant } = query;
  const ofAgents = agents === undefined ? sql`r.agent is not null` : sql`r.agent = any(${[...agents]}::text[])`;
  return sql<ThreadName[]>`
    with due as (
      select r.tenant, r.thread,
        row_number() over (partition by r.tenant order by r.priority desc, r.due_at, r.thread) as place
      from ${tables.runnable} r ${withHolders(scope)}
      where r.due_at <= ${serverClock(scope)} and not ${isHeld(scope)}
        and (${ofAgents} or (${unnamed}::boolean and r.agent is null))
        ${tenant === undefined ? sql`` : sql`and r.tenant = ${tenant}`}
    ), held as (
      select c.tenant, count(*) as threads from ${tables.claims} c
      where c.node = ${lease.node} and c.incarnation = ${lease.incarnation} and c.until <> 0 group by c.tenant
    ), turns as (
      select d.tenant, d.thread, d.place + coalesce(h.threads, 0) as turn
      from due d left join held h on h.tenant = d.tenant
    ), chosen as (
      select r.tenant, r.thread from ${tables.runnable} r join turns t on t.tenant = r.tenant and t.thread = r.thread
      where t.turn <= ${perTenant}::bigint
      order by t.turn, t.tenant <= ${afterTenant}, t.tenant
      limit ${limit} for update of r skip locked
    )
    select tenant, thread from chosen
    where pg_try_advisory_xact_lock(hashtextextended(${schema}::text || '/' || tenant || '/' || thread, 0))`;
}
