import { checkName } from "../../thread/options.ts";
import { systemPorts } from "../../thread/ports.ts";
import { defineStore } from "../define-store.ts";
import { checkOptions, STORE_OPTIONS, type StoreOptions } from "../options.ts";
import type { ThreadStore } from "../port.ts";
import type { EmbeddedDatabase, SqliteConnection, SqlValue } from "./connection.ts";
import { sqliteDriver } from "./driver.ts";
import { translateErrors } from "./errors.ts";
import { migrateEmbedded } from "./schema/migrate.ts";

/** The part of `ctx.storage` that a store uses. The Durable Object needs SQLite: `new_sqlite_classes` in its migration. */
export interface DurableStorage {
  readonly sql: {
    exec(query: string, ...values: readonly SqlValue[]): { raw(): Iterable<readonly unknown[]> };
  };
  transactionSync<Result>(work: () => Result): Result;
}

/** Cloudflare's limit of a row. */
const MAX_ROW_BYTES = 2_000_000;

/** The tenant of the store, and its ports. */
export interface DurableObjectStoreOptions extends StoreOptions {
  /** Part of every key. An object mostly has one. Default "default". */
  readonly tenant?: string | undefined;
}

/**
 * A store in the SQLite database of a Durable Object. Its threads, and what `list` and `feed` return, are those of this object.
 *
 * @example
 * class Thread {
 *   readonly store;
 *   constructor(ctx: { readonly storage: DurableStorage }) {
 *     this.store = durableObjectStore(ctx.storage);
 *   }
 * }
 */
export function durableObjectStore(storage: DurableStorage, options: DurableObjectStoreOptions = {}): ThreadStore {
  const { tenant = "default", ...ports } = checkOptions(options, ["tenant", ...STORE_OPTIONS]);
  checkName("tenant", tenant);
  const database = embeddedIn(storage);
  const connection = connectionOf(storage, database);
  translateErrors(() => migrateEmbedded(connection, database));
  const { inspect: _ofFiles, ...driver } = sqliteDriver(connection, tenant, ports.clock ?? systemPorts.clock);
  return defineStore({ ...driver, maxRowBytes: MAX_ROW_BYTES }, ports);
}

/** All stores of an object share one connection of SQLite, so each counts the changes that are not its own. */
function embeddedIn(storage: DurableStorage): EmbeddedDatabase {
  const total = (): number => {
    for (const [changes] of storage.sql.exec("SELECT total_changes()").raw()) return Number(changes);
    return 0;
  };
  let own = 0;
  let start: number | undefined; // of the transaction that runs, whose changes are not counted as others'
  return {
    transaction: (work) => {
      const before = total();
      start = before;
      try {
        return storage.transactionSync(work);
      } finally {
        start = undefined;
        own += total() - before;
      }
    },
    version: () => (start ?? total()) - own,
  };
}

function connectionOf(storage: DurableStorage, embedded: EmbeddedDatabase): SqliteConnection {
  const rows = (sql: string, values: readonly SqlValue[]): readonly (readonly SqlValue[])[] => {
    try {
      return Array.from(storage.sql.exec(sql, ...values).raw(), (row) => row.map(toSqlValue));
    } catch (error) {
      throw withCode(error);
    }
  };
  return {
    library: "a Durable Object",
    embedded,
    exec: (sql) => void rows(sql, []),
    prepare: (sql) => ({
      run: (...values) => void rows(sql, values),
      all: (...values) => rows(sql, values),
      get: (...values) => rows(sql, values)[0],
    }),
    close: () => undefined, // the object owns its storage
  };
}

function toSqlValue(value: unknown): SqlValue {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : (value as SqlValue); // SQLite has no other types
}

/** The code of SQLite is the end of the message: "string or blob too big: SQLITE_TOOBIG". */
function withCode(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = /: (SQLITE_[A-Z]+)$/.exec(error.message)?.[1];
  return code === undefined ? error : Object.assign(error, { code });
}
