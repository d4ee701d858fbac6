import type { CounterDecision, CounterState } from "../driver.ts";
import { serverClock } from "./runnable.ts";
import type { FencedScope, Scope } from "./tables.ts";
import type { Transaction } from "./writer.ts";

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
      return { statements: written === undefined ? [] : put(scope, name, written), finish: () => result };
    },
  };
}

function isAlive(scope: Scope) {
  return scope.sql`not l.ended and l.until > ${serverClock(scope)}`;
}

function put(scope: FencedScope, name: string, { node, amount }: { readonly node: string; readonly amount: number }) {
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
