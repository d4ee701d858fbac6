import type postgres from "postgres";
import type { Query, Sql } from "./connection/library.ts";

export interface Tables {
  readonly threads: postgres.Helper<string>;
  readonly entries: postgres.Helper<string>;
  readonly bigPayloads: postgres.Helper<string>;
  readonly records: postgres.Helper<string>;
  readonly claims: postgres.Helper<string>;
}

/** The connection, tables and tenant that a statement uses. */
export interface Scope {
  readonly sql: Sql;
  readonly tables: Tables;
  readonly tenant: string;
}

/** For statements that write. */
export interface FencedScope extends Scope {
  /** True only inside the transaction that holds the locks. On a replaced connection it is false, so nothing is written. */
  readonly fence: Query;
}

/** Qualified table names. Behind a pooler, the search_path of a connection may have been set by another client. */
export function tablesIn(schema: string, sql: Sql): Tables {
  return {
    threads: sql(`${schema}.threads`),
    entries: sql(`${schema}.entries`),
    bigPayloads: sql(`${schema}.big_payloads`),
    records: sql(`${schema}.records`),
    claims: sql(`${schema}.claims`),
  };
}

/** Whether Postgres can store a text. Names and JSON text always can be stored; a search text may not. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}
