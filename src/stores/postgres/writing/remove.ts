import type { Query } from "../connection/library.ts";
import type { FencedScope } from "../scope.ts";
import { lockBigPayloads } from "./big-payloads.ts";
import { type Located, locate } from "./locate.ts";
import type { Work } from "./writer.ts";

/** Removes a thread, its rows and the payloads that only it uses. Returns whether the thread existed. */
export function removeThread(threadId: string): Work<Located, boolean> {
  return {
    threadIds: [threadId],
    read: (scope) => locate(scope, [threadId]),
    write(scope, located) {
      const { sql, tables, fence } = scope;
      const key = located.get(threadId);
      if (key === undefined) return { statements: [], finish: () => false };
      const statements = [
        lockBigPayloads(scope, sql`e.thread = ${key}`),
        deleteRows(scope, key),
        sql`delete from ${tables.threads} where key = ${key} and ${fence}`,
      ];
      return { statements, finish: () => true };
    },
  };
}

function deleteRows({ sql, tables, tenant, fence }: FencedScope, key: number): Query {
  return sql`
    with gone as (
      delete from ${tables.entries} where thread = ${key} and ${fence} returning big
    ), released as (
      select big as hash, count(*) as uses from gone where big is not null group by big
    ), unused as (
      delete from ${tables.bigPayloads} b using released r
      where b.tenant = ${tenant} and b.hash = r.hash and b.uses = r.uses
    )
    update ${tables.bigPayloads} b set uses = b.uses - r.uses from released r
    where b.tenant = ${tenant} and b.hash = r.hash and b.uses > r.uses`;
}
