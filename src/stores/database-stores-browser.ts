import { StoreError } from "./errors.ts";

/** Bundlers for browsers use this file in place of database-stores.ts (`browser` in package.json). */
export function openSqlite(): Promise<never> {
  return Promise.reject(needsNode("SQLite"));
}

export function openPostgres(): Promise<never> {
  return Promise.reject(needsNode("Postgres"));
}

function needsNode(database: string): StoreError {
  const message = `The ${database} store needs Node. In a browser open "memory:", or define a store with defineStore.`;
  return new StoreError({ code: "store_driver_missing", message });
}
