import type { Query } from "../connection/library.ts";
import type { Scope } from "../scope.ts";

/** With the collation C, `lower` changes only A to Z. */
export function small({ sql }: Scope, text: Query): Query {
  return sql`lower(${text} collate "C")`;
}

/** The payload of an entry, from its row or from the table of big payloads. */
export function payloadOf({ sql, tables }: Scope): Query {
  return sql`(case when e.big is null then e.payload
    else (select b.payload from ${tables.bigPayloads} b where b.tenant = e.tenant and b.hash = e.big) end)`;
}
