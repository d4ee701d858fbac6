import type postgres from "postgres";
import type { Query, Sql } from "./connection/library.ts";

export interface Tables {
  readonly threads: postgres.Helper<string>;
  readonly entries: postgres.Helper<string>;
  readonly bigPayloads: postgres.Helper<string>;
  readonly records: postgres.Helper<string>;
  readonly claims: postgres.Helper<string>;
}

/** What every statement needs: where it runs, and what of the database it may name. */
export interface Scope {
  readonly sql: Sql;
  readonly tables: Tables;
  readonly tenant: string;
}

/** For statements that write. */
export interface FencedScope extends Scope {
  /** True only inside the transaction that holds the locks: should the connection be lost and replaced, nothing is done. */
  readonly fence: Query;
}

/** Tables by their full names: behind a pooler a search_path set on a connection may be anybody's. */
export function tablesIn(schema: string, sql: Sql): Tables {
  return {
    threads: sql(`${schema}.threads`),
    entries: sql(`${schema}.entries`),
    bigPayloads: sql(`${schema}.big_payloads`),
    records: sql(`${schema}.records`),
    claims: sql(`${schema}.claims`),
  };
}

/** Whether Postgres can hold a text as it is. Names and JSON text always can be; what a caller searches for may not. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}
