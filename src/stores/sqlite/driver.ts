import { HeddleError } from "../../thread/errors.ts";
import type { Clock } from "../../thread/ports.ts";
import type { Decision, StoreDriver, ThreadState } from "../driver.ts";
import type { SqliteConnection } from "./connection/connection.ts";
import { FileInspection } from "./connection/inspect.ts";
import { rollBack } from "./connection/roll-back.ts";
import { guarded } from "./errors.ts";
import { History } from "./reading/history.ts";
import { listThreads } from "./reading/listing.ts";
import { Records } from "./records.ts";
import { GroupCommit, type Outcome } from "./writing/group-commit.ts";
import { copyThread, removeThread } from "./writing/moves.ts";
import { Threads } from "./writing/threads.ts";

/**
 * The threads of one tenant in one SQLite file. Writes are grouped; reads run immediately. SQLite has no clock of its own,
 * so `clock` must be the machine's clock if several processes use claims.
 */
export function sqliteDriver(connection: SqliteConnection, tenant: string, clock: Clock): StoreDriver {
  const threads = new Threads(connection, tenant, clock);
  const history = new History(connection, tenant);
  const records = new Records(connection, tenant);
  const inspection = new FileInspection(connection);
  const group = new GroupCommit(transactionsOf(connection));

  function write<Result>(writer: string, work: () => Result): Promise<Result> {
    return group.add(writer, () => ({ ok: true, result: guarded(work) }));
  }

  return {
    transact<Result>(threadId: string, wantedIds: readonly string[], decide: (state: ThreadState) => Decision<Result>) {
      return group.add(threadId, (): Outcome<Result> => {
        const thread = guarded(() => threads.open(threadId, wantedIds));
        const decided = attempt(() => decide(thread.state));
        if (!decided.ok) return decided;
        guarded(() => thread.apply(decided.result));
        return { ok: true, result: decided.result.result };
      });
    },

    head: async (threadId) => guarded(() => threads.head(threadId)),
    rows: async (threadId, range) => guarded(() => history.rows(threadId, range)),
    changes: async (after, limit) => guarded(() => history.changes(after, limit)),
    heads: async (afterId, limit) => guarded(() => history.heads(afterId, limit)),
    list: async (query) => guarded(() => listThreads(connection, tenant, query)),
    inspect: async () => guarded(() => inspection.trouble()),

    remove: (threadId) => write(threadId, () => removeThread(connection, tenant, threadId)),
    copy: (from, to, atSeq, head) => write(to, () => copyThread(connection, tenant, { from, to, atSeq, head })),

    getRecord: async (space, key) => guarded(() => records.get(space, key)),
    putRecord: (space, key, value) => write(key, () => records.put(space, key, value)),
    deleteRecord: (space, key) => write(key, () => records.delete(space, key)),

    async close() {
      group.flush();
      guarded(() => connection.close());
    },
  };
}

/** A HeddleError is a refusal and settles only this job. Any other error is a bug and fails the transaction. */
function attempt<Result>(decide: () => Result): Outcome<Result> {
  try {
    return { ok: true, result: decide() };
  } catch (error) {
    if (HeddleError.isInstance(error)) return { ok: false, error };
    throw error;
  }
}

function transactionsOf(connection: SqliteConnection) {
  const begin = connection.prepare("BEGIN IMMEDIATE");
  const commit = connection.prepare("COMMIT");
  return {
    begin: () => guarded(() => begin.run()),
    commit: () => guarded(() => commit.run()),
    rollback: () => rollBack(connection),
  };
}
