import type postgres from "postgres";
import { StoreError } from "../../errors.ts";

/** A connection pool that returns 64-bit integers as numbers. All our integers are safe integers. */
export type Sql = postgres.Sql<{ bigint: number }>;

/** A statement, or a fragment of one. It starts when it is executed or awaited. */
export type Query = postgres.PendingQuery<postgres.Row[]>;

export type Library = typeof postgres;

/** Loads the package on first use, because it is an optional peer: `heddle/postgres` can be imported without it. */
export async function loadLibrary(): Promise<Library> {
  try {
    return (await import("postgres")).default;
  } catch (cause) {
    const message = "The Postgres store needs the package postgres. Install it: npm i postgres";
    throw new StoreError({ code: "store_driver_missing", message, cause });
  }
}
