import { defineStore } from "../define-store.ts";
import type { RecordSpace, StoreDriver } from "../driver.ts";
import { nativeSha256 } from "../native/sha256.ts";
import type { ThreadStore } from "../port.ts";
import { type Database, LazyResource, openDatabase } from "./database.ts";
import { waitAtMost, waitForTurns, withDeadline } from "./deadlines.ts";
import { isConnectionLoss, storeError } from "./errors.ts";
import { commitJobs, GroupCommit, newJob } from "./group-commit.ts";
import { checkPostgresOptions, type PostgresSettings, type PostgresStoreOptions } from "./options.ts";
import { listThreads, readChanges, readHead, readHeads, readRows } from "./reads.ts";
import type { Scope } from "./tables.ts";
import type { Transaction } from "./writer.ts";
import { copyThread, removeThread } from "./writes.ts";

/**
 * A store in a Postgres database, for any number of processes. The first call connects and creates or migrates the
 * tables. When that fails, the call rejects with the reason and the next call retries.
 *
 * @example
 * const store = postgresStore("postgres://heddle:secret@localhost/heddle");
 * await store.append("thread_1", { kind: "note", payload: { text: "kept" } });
 * await store.close();
 */
export function postgresStore(url: string, options: PostgresStoreOptions = {}): ThreadStore {
  const { settings, ports } = checkPostgresOptions(url, options);
  return defineStore(postgresDriver(settings), { sha256: nativeSha256, ...ports });
}

/** Like `postgresStore`, but resolves after it has connected and migrated. */
export async function openPostgresStore(url: string, options: PostgresStoreOptions = {}): Promise<ThreadStore> {
  const { settings, ports } = checkPostgresOptions(url, options);
  const driver = postgresDriver(settings);
  await driver.open();
  return defineStore(driver, { sha256: nativeSha256, ...ports });
}

/** How long `close` waits for pending work. */
const CLOSE_TIMEOUT_MS = 5000;

interface PostgresDriver extends Required<Omit<StoreDriver, "inspect">> {
  /** Connects and migrates. The first call of any other method does this too. */
  readonly open: () => Promise<void>;
}

function postgresDriver(settings: PostgresSettings): PostgresDriver {
  const wakes = new Set<() => void>();
  const wakeAll = (): void => {
    for (const wake of wakes) wake();
  };
  const database = new LazyResource({
    open: (signal) => openDatabase(settings, wakeAll, signal),
    end: ({ end }) => end(),
    deadlineMs: settings.callTimeoutMs,
  });
  const commits = new GroupCommit(async (queued) => {
    const jobs = queued.filter(({ isOver }) => !isOver()); // these callers already got `store_timeout`
    if (jobs.length === 0) return;
    await withDatabase(({ writer }) => commitJobs(writer, jobs)).catch((error: unknown) => {
      for (const { reject } of jobs) reject(error);
    });
  });

  async function withDatabase<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    try {
      return await database.use(work);
    } catch (error) {
      // Between the error and the close of a socket the library still sends on it, and would wait forever.
      if (isConnectionLoss(error)) await waitForTurns(2);
      throw storeError(error);
    }
  }

  function write<Seen, Result>(work: Transaction<Seen, Result>): Promise<Result> {
    return withDatabase(({ writer }) => writer.transaction(work));
  }

  return {
    async open() {
      await withDatabase(async () => {});
    },

    transact(threadId, wantedIds, decide) {
      const { job, answer, giveUp } = newJob(threadId, wantedIds, decide);
      commits.add(job);
      return withDeadline(settings.callTimeoutMs, answer).finally(giveUp);
    },

    head: (threadId) => withDatabase(({ scope }) => readHead(scope, threadId)),
    rows: (threadId, range) => withDatabase(({ scope }) => readRows(scope, threadId, range)),
    changes: (after, limit) => withDatabase(({ scope }) => readChanges(scope, after, limit)),
    heads: (afterId, limit) => withDatabase(({ scope }) => readHeads(scope, afterId, limit)),
    list: (query) => withDatabase(({ scope }) => listThreads(scope, query)),
    getRecord: (space, key) => withDatabase(({ scope }) => getRecord(scope, space, key)),

    remove: (threadId) => write(removeThread(threadId)),
    copy: (from, to, atSeq, head) => write(copyThread(from, to, atSeq, head)),
    putRecord: (space, key, value) => write(putRecord(space, key, value)),
    deleteRecord: (space, key) => write(deleteRecord(space, key)),

    onChange(wake) {
      wakes.add(wake);
      return () => wakes.delete(wake);
    },

    async close() {
      await waitAtMost(CLOSE_TIMEOUT_MS, commits.idle());
      await database.close(CLOSE_TIMEOUT_MS);
    },
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
    write({ sql, tables, tenant, fence }) {
      const stored = sql`
        insert into ${tables.records} (tenant, space, key, json, bytes)
        select ${tenant}, ${space}, ${key}, ${json}::text, ${bytes}::bytea where ${fence}
        on conflict (tenant, space, key) do update set json = excluded.json, bytes = excluded.bytes`;
      return { statements: [stored], finish: () => {} };
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
