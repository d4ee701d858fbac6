import type { CommandKey, Decision, InboxQuery, InboxState } from "../driver.ts";
import type { InboxCommand, StoredCommand } from "../stored-records.ts";
import type { SqliteConnection, SqlValue } from "./connection.ts";

const COLUMNS = "id, type, body, posted, revision, position, posted_at, outcome, done_at, check_sum";

/** STRICT tables keep the type of each column, so the cast is safe. */
function toCommand(columns: readonly SqlValue[]): StoredCommand {
  const [id, type, body, posted, revision, position, postedAt, outcome, doneAt, checkSum] = columns;
  return { id, type, body, posted, revision, position, postedAt, outcome, doneAt, checkSum } as StoredCommand;
}

function commandValues(command: StoredCommand): SqlValue[] {
  const { id, type, body, posted, revision, position, postedAt, outcome, doneAt, checkSum } = command;
  return [id, type, body, posted, revision, position, postedAt, outcome, doneAt, checkSum];
}

/** The inboxes of one tenant. `apply` needs a transaction. */
export class Commands {
  readonly #tenant: string;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: SqliteConnection, tenant: string) {
    this.#tenant = tenant;
    this.#sql = statements(connection);
  }

  state({ threadId, commandIds }: InboxQuery): Omit<InboxState, "known"> {
    const commands = commandIds.flatMap((id) => this.#find({ threadId, id }) ?? []);
    const lastPosition = Number(this.#sql.lastPosition.get(this.#tenant, threadId)?.[0] ?? 0);
    return { commands, lastPosition };
  }

  find(keys: readonly CommandKey[]): readonly InboxCommand[] {
    return keys.flatMap((key) => {
      const command = this.#find(key);
      return command === undefined ? [] : [{ threadId: key.threadId, command }];
    });
  }

  pending(threadId: string, after: number, limit: number): readonly StoredCommand[] {
    return this.#sql.pending.all(this.#tenant, threadId, after, limit).map(toCommand);
  }

  apply({ commands = [], purgeBefore }: Decision<unknown>): void {
    if (purgeBefore !== undefined) this.#sql.purge.run(this.#tenant, purgeBefore, PURGE_LIMIT);
    for (const { threadId, command } of commands) this.#sql.put.run(this.#tenant, threadId, ...commandValues(command));
  }

  #find({ threadId, id }: CommandKey): StoredCommand | undefined {
    const columns = this.#sql.find.get(this.#tenant, threadId, id);
    return columns && toCommand(columns);
  }
}

/** How many old outcomes one transaction removes. */
const PURGE_LIMIT = 100;

function statements(connection: SqliteConnection) {
  const pending = "FROM commands WHERE tenant = ? AND thread = ? AND done_at IS NULL";
  return {
    find: connection.prepare(`SELECT ${COLUMNS} FROM commands WHERE tenant = ? AND thread = ? AND id = ?`),
    pending: connection.prepare(`SELECT ${COLUMNS} ${pending} AND position > ? ORDER BY position LIMIT ?`),
    lastPosition: connection.prepare(`SELECT max(position) ${pending}`),
    put: connection.prepare(`
      INSERT INTO commands (tenant, thread, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (tenant, thread, id) DO UPDATE SET
        body = excluded.body, posted = excluded.posted, revision = excluded.revision, outcome = excluded.outcome,
        done_at = excluded.done_at, check_sum = excluded.check_sum`),
    purge: connection.prepare(`
      DELETE FROM commands WHERE rowid IN (
        SELECT rowid FROM commands WHERE tenant = ? AND done_at < ? ORDER BY done_at LIMIT ?
      )`),
  };
}

/** Must run inside a transaction. */
export function removeCommands(connection: SqliteConnection, tenant: string, threadId: string): void {
  connection.prepare("DELETE FROM commands WHERE tenant = ? AND thread = ?").run(tenant, threadId);
}
