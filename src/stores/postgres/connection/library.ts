import type postgres from "postgres";
import { StoreError } from "../../errors.ts";

/** A pool of connections on which 64-bit integers come back as numbers: all of ours are safe integers. */
export type Sql = postgres.Sql<{ bigint: number }>;

/** A statement that starts when it is executed or awaited, or a piece of one. */
export type Query = postgres.PendingQuery<postgres.Row[]>;

export type Library = typeof postgres;

/** Loaded on first use: the package is an optional peer, and to import `heddle/postgres` does not need it. */
export async function loadLibrary(): Promise<Library> {
  try {
    return (await import("postgres")).default;
  } catch (cause) {
    const message = "The Postgres store needs the package postgres. Install it: npm i postgres";
    throw new StoreError({ code: "store_driver_missing", message, cause });
  }
}
