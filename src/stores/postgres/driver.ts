import type { StoreDriver } from "../driver.ts";
import { atMost } from "./connection/at-most.ts";
import { withDeadline } from "./connection/call-deadline.ts";
import { type Database, openDatabase } from "./connection/database.ts";
import { Opening } from "./connection/opening.ts";
import { isConnectionLoss, storeError } from "./errors.ts";
import type { Settings } from "./options.ts";
import { listThreads } from "./reading/listing.ts";
import { readChanges, readHead, readHeads, readRows } from "./reading/reads.ts";
import { deleteRecord, getRecord, putRecord } from "./records.ts";
import { turnsOfTheLoop } from "./turns.ts";
import { type Job, newJob } from "./writing/batch.ts";
import { copyThread } from "./writing/copy.ts";
import { GroupCommit } from "./writing/group-commit.ts";
import { removeThread } from "./writing/remove.ts";
import { transactAll } from "./writing/transact.ts";
import type { Work } from "./writing/writer.ts";

/** How long `close` waits for pending work. */
const PATIENCE_MS = 5000;

export interface PostgresDriver extends Required<Omit<StoreDriver, "inspect">> {
  /** Connects and migrates. The first call of any other method does this too. */
  readonly open: () => Promise<void>;
}

export function postgresDriver(settings: Settings): PostgresDriver {
  const wakes = new Set<() => void>();
  const wakeAll = (): void => {
    for (const wake of wakes) wake();
  };
  const opening = new Opening({
    open: (signal) => openDatabase(settings, wakeAll, signal),
    end: ({ end }) => end(),
    deadlineMs: settings.callTimeoutMs,
  });
  const commits = new GroupCommit<Job>(async (queued) => {
    const jobs = queued.filter(({ isOver }) => !isOver()); // these callers already got `store_timeout`
    if (jobs.length === 0) return;
    await withDatabase(({ writer }) => transactAll(writer, jobs)).catch((error: unknown) => {
      for (const { reject } of jobs) reject(error);
    });
  });

  async function withDatabase<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    try {
      return await opening.use(work);
    } catch (error) {
      // Between the error and the close of a socket the library still sends on it, and would wait forever.
      if (isConnectionLoss(error)) await turnsOfTheLoop(2);
      throw storeError(error);
    }
  }

  function write<Seen, Result>(work: Work<Seen, Result>): Promise<Result> {
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
      await atMost(PATIENCE_MS, commits.idle());
      await opening.close(PATIENCE_MS);
    },
  };
}
