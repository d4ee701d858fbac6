import { defineDatabase, type ThreadDatabase } from "../database.ts";
import { defineStore } from "../define-store.ts";
import type { DatabaseDriver, RecordSpace, StoreDriver } from "../driver.ts";
import type { ThreadStore } from "../port.ts";
import { keepUsedBlob, purgeBlobs, readBlobs } from "./blobs.ts";
import { readCommands, readPending } from "./commands.ts";
import { waitAtMost } from "./connection-pool.ts";
import { readChangedThreads, readChanges, readFeedEpoch } from "./feed.ts";
import { readFields } from "./fields.ts";
import { readForks } from "./fork-rows.ts";
import { forkThread, removeThread } from "./forks.ts";
import { newJob } from "./group-commit.ts";
import {
  checkDatabaseOptions,
  checkPostgresOptions,
  type PostgresDatabaseOptions,
  type PostgresStoreOptions,
} from "./options.ts";
import { listThreads, readHead, readHeads, readLanes, readRows } from "./reads.ts";
import { changeCounter, changeLease, takeThreads } from "./runnable.ts";
import { CLOSE_TIMEOUT_MS, SharedDatabase } from "./shared-database.ts";
import type { Scope } from "./tables.ts";
import { readUsage } from "./usage.ts";
import { listWaiting } from "./waiting.ts";
import type { Transaction } from "./writer.ts";

/**
 * A Postgres database for many tenants, with at most `maxConnections` connections in this process. The first call of a
 * store connects and creates or migrates the tables. When that fails, the call rejects with the reason and the next call
 * retries.
 *
 * @example
 * const database = postgresDatabase("postgres://heddle:secret@localhost/heddle");
 * await database.tenant("acme").append("thread_1", { kind: "note", payload: { text: "kept" } });
 * await database.close();
 */
export function postgresDatabase(url: string, options: PostgresDatabaseOptions = {}): ThreadDatabase {
  const { settings, ports } = checkDatabaseOptions(url, options);
  const shared = new SharedDatabase(settings, { isShared: true });
  const driver: DatabaseDriver = {
    tenant: (name) => tenantDriver(shared, name),
    lease: (node, decide, signal) => shared.write(NO_TENANT, changeLease(node, decide), signal),
    counter: (name, decide, signal) => shared.write(NO_TENANT, changeCounter(name, decide), signal),
    take: (query, signal) => shared.write(NO_TENANT, takeThreads(settings.schema, query), signal),
    close: () => shared.close(),
  };
  return defineDatabase(driver, ports);
}

/** No tenant has this name. */
const NO_TENANT = "";

/**
 * A store in a Postgres database, for any number of processes: a database with one tenant. The first call connects and
 * creates or migrates the tables. When that fails, the call rejects with the reason and the next call retries.
 *
 * @example
 * const store = postgresStore("postgres://heddle:secret@localhost/heddle");
 * await store.append("thread_1", { kind: "note", payload: { text: "kept" } });
 * await store.close();
 */
export function postgresStore(url: string, options: PostgresStoreOptions = {}): ThreadStore {
  return onlyTenant(url, options).store;
}

/** Like `postgresStore`, but resolves after it has connected and migrated. */
export async function openPostgresStore(url: string, options: PostgresStoreOptions = {}): Promise<ThreadStore> {
  const { store, database } = onlyTenant(url, options);
  await database.open();
  return store;
}

/** The store of one tenant, with a database of its own: closing the store closes the database. */
function onlyTenant(
  url: string,
  options: PostgresStoreOptions,
): { readonly store: ThreadStore; readonly database: SharedDatabase } {
  const { settings, ports, tenant } = checkPostgresOptions(url, options);
  const database = new SharedDatabase(settings, { isShared: false });
  const driver = { ...tenantDriver(database, tenant), close: () => database.close() };
  return { store: defineStore(driver, ports), database };
}

type PostgresDriver = Required<Omit<StoreDriver, "inspect" | "maxRowBytes">>;

function tenantDriver(database: SharedDatabase, tenant: string): PostgresDriver {
  const pending = new Set<Promise<unknown>>();

  function track<Result>(work: Promise<Result>): Promise<Result> {
    pending.add(work);
    const settle = (): void => void pending.delete(work);
    work.then(settle, settle);
    return work;
  }

  function read<Result>(signal: AbortSignal | undefined, work: (scope: Scope) => Promise<Result>): Promise<Result> {
    return database.read(tenant, work, signal);
  }

  function write<Seen, Result>(signal: AbortSignal | undefined, work: Transaction<Seen, Result>): Promise<Result> {
    return track(database.write(tenant, work, signal));
  }

  return {
    scheduling: true,
    bus: database.bus(tenant),

    transact(threadId, wanted, decide, inboxes = [], caller = undefined) {
      const call = database.withDeadline((deadline) => {
        const { job, answer } = newJob(threadId, wanted, decide, inboxes, [deadline, caller]);
        database.commit(tenant, job);
        return answer;
      });
      return track(call);
    },

    lease: (node, decide, signal) => track(database.write(NO_TENANT, changeLease(node, decide), signal)),
    counter: (name, decide, signal) => track(database.write(NO_TENANT, changeCounter(name, decide), signal)),
    take: (query, signal) =>
      track(database.write(NO_TENANT, takeThreads(database.settings.schema, { ...query, tenant }), signal)),
    pending: (threadId, after, limit, signal) => read(signal, (scope) => readPending(scope, threadId, after, limit)),
    waiting: (query, signal) => read(signal, (scope) => listWaiting(scope, query)),
    commands: (keys, signal) => read(signal, (scope) => readCommands(scope, keys)),
    head: (threadId, signal) => read(signal, (scope) => readHead(scope, threadId)),
    lanes: (threadId, names, signal) => read(signal, (scope) => readLanes(scope, threadId, names)),
    rows: (threadId, range, signal) => read(signal, (scope) => readRows(scope, threadId, range)),
    changes: (after, limit, signal) => read(signal, (scope) => readChanges(scope, after, limit)),
    feedEpoch: (signal) => read(signal, readFeedEpoch),
    changedThreads: (after, inboxes) =>
      database.read(tenant, async (scope, notifications) => {
        const isAnnounced = notifications.isListening; // read first: a commit after the look must be announced
        return { ...(await readChangedThreads(scope, after, inboxes)), isAnnounced };
      }),
    heads: (afterId, limit, signal) => read(signal, (scope) => readHeads(scope, afterId, limit)),
    fields: (threadId, signal) => read(signal, (scope) => readFields(scope, threadId)),
    usage: (query, signal) => read(signal, (scope) => readUsage(scope, query)),
    list: (query, signal) => read(signal, (scope) => listThreads(scope, query)),
    blobs: (hashes, signal) => read(signal, (scope) => readBlobs(scope, hashes)),
    purgeBlobs: (graceMs, signal) => write(signal, purgeBlobs(graceMs)),
    getRecord: (space, key, signal) => read(signal, (scope) => getRecord(scope, space, key)),

    remove: (threadId, signal) => write(signal, removeThread(threadId)),
    removeIf: (threadId, check, signal) => write(signal, removeThread(threadId, check)),
    fork: (from, to, atSeq, fork, signal) => write(signal, forkThread(from, to, atSeq, fork)),
    forks: (threadId, signal) => read(signal, (scope) => readForks(scope, threadId)),
    putRecord: (space, key, value, signal) => write(signal, putRecord(space, key, value)),
    deleteRecord: (space, key, signal) => write(signal, deleteRecord(space, key)),

    onChange: (wake) => database.onChange(tenant, wake),

    /** Leaves the database open for other tenants. */
    close: () => waitAtMost(CLOSE_TIMEOUT_MS, Promise.allSettled(pending)),
  };
}

interface RecordColumns {
  readonly json: string | null;
  readonly bytes: Uint8Array | null;
}

export async function getRecord(
  { sql, tables, tenant }: Scope,
  space: RecordSpace,
  key: string,
): Promise<string | Uint8Array | undefined> {
  const [found] = await sql<RecordColumns[]>`
    select json, bytes from ${tables.records} where tenant = ${tenant} and space = ${space} and key = ${key}`;
  if (found === undefined) return undefined;
  return found.json ?? Uint8Array.from(found.bytes ?? []); // a copy, because a Buffer shows more than its bytes
}

/** Uses the writer, because only its transactions have the configured durability. */
export function putRecord(space: RecordSpace, key: string, value: string | Uint8Array): Transaction<void, void> {
  const json = typeof value === "string" ? value : null;
  const bytes = typeof value === "string" ? null : value;
  return {
    threadIds: [],
    read: async () => {},
    write(scope) {
      const { sql, tables, tenant, fence } = scope;
      const stored = sql`
        insert into ${tables.records} (tenant, space, key, json, bytes)
        select ${tenant}, ${space}, ${key}, ${json}::text, ${bytes}::bytea where ${fence}
        on conflict (tenant, space, key) do update set json = excluded.json, bytes = excluded.bytes`;
      const statements = space === "blob" ? [stored, keepUsedBlob(scope, key)] : [stored];
      return { statements, finish: () => {} };
    },
  };
}

function deleteRecord(space: RecordSpace, key: string): Transaction<void, boolean> {
  return {
    threadIds: [],
    read: async () => {},
    write({ sql, tables, tenant, fence }) {
      const deleted = sql`
        delete from ${tables.records} where tenant = ${tenant} and space = ${space} and key = ${key} and ${fence}`;
      return { statements: [deleted], finish: async () => (await deleted).count > 0 };
    },
  };
}
