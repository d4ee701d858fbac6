import type { ThreadHead } from "../../driver.ts";
import { threadNotFound } from "../../errors.ts";
import type { Query } from "../connection/library.ts";
import type { FencedScope } from "../scope.ts";
import { lockBigPayloads } from "./big-payloads.ts";
import { type Located, locate } from "./locate.ts";
import { upsertHeads } from "./write-batch.ts";
import type { Work } from "./writer.ts";

/** Copies rows inside the database. Locks both threads, so that the source is not removed meanwhile. */
export function copyThread(from: string, to: string, atSeq: number, head: ThreadHead): Work<Located, boolean> {
  return {
    threadIds: [from, to],
    read: (scope) => locate(scope, [from, to]),
    write(scope, located) {
      if (located.has(to)) return { statements: [], finish: () => false };
      const source = located.get(from);
      if (source === undefined) throw threadNotFound(from);
      const rows = scope.sql`e.thread = ${source} and e.seq <= ${atSeq}`;
      const statements = [lockBigPayloads(scope, rows), upsertHeads(scope, [[to, head]]), copyRows(scope, rows, to)];
      return { statements, announce: true, finish: () => true };
    },
  };
}

function copyRows({ sql, tables, tenant, fence }: FencedScope, rows: Query, to: string): Query {
  return sql`
    with used as (
      select e.big as hash, count(*) as uses from ${tables.entries} e where ${rows} and e.big is not null group by e.big
    ), counted as (
      update ${tables.bigPayloads} b set uses = b.uses + u.uses from used u
      where b.tenant = ${tenant} and b.hash = u.hash and ${fence}
    )
    insert into ${tables.entries}
      (thread, tenant, seq, id, at, v, kind, refs, payload, big, salt, digest, prev, hash, lane, measure, mark, track)
    select t.key, t.tenant, e.seq, e.id, e.at, e.v, e.kind, e.refs, e.payload, e.big, e.salt, e.digest, e.prev, e.hash,
      e.lane, e.measure, e.mark, e.track
    from ${tables.entries} e, ${tables.threads} t
    where ${rows} and t.tenant = ${tenant} and t.id = ${to} and ${fence}
    order by e.seq`;
}
