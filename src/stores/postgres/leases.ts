import type { LeaseDecision, LeaseState } from "../driver.ts";
import type { LeaseRecord } from "../stored-records.ts";
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
