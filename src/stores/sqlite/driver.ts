import type { Clock } from "../../thread/ports.ts";
import { LocalBuses } from "../bus.ts";
import { liveLease } from "../decide/claim.ts";
import { isWithdrawn } from "../decide/inbox.ts";
import type {
  CounterDecision,
  CounterState,
  DatabaseDriver,
  Decision,
  InboxQuery,
  LeaseDecision,
  LeaseState,
  RemovalCheck,
  RowRange,
  StateQuery,
  StoreDriver,
  TakeQuery,
  ThreadState,
} from "../driver.ts";
import { StoreError } from "../errors.ts";
import { refTexts, requestKey } from "../row-filter.ts";
import { readParts } from "../row-parts.ts";
import type { TakenThread } from "../runnable.ts";
import type { LeaseRecord, NamedHead, StoredRow } from "../stored-records.ts";
import { purgeBlobs, Records, readBlobs } from "./blob-table.ts";
import { Commands } from "./command-table.ts";
import {
  missingFile,
  pathOf,
  rollback,
  type SqliteConnection,
  type SqliteStatement,
  type SqlValue,
} from "./connection.ts";
import { CounterTable } from "./counter-table.ts";
import { retryBusy, translateErrors } from "./errors.ts";
import { Feed } from "./feed.ts";
import { forkThread } from "./fork-thread.ts";
import { Forks } from "./forks.ts";
import { attempt, GroupCommit, type Outcome, type Transaction } from "./group-commit.ts";
import { LeaseTable } from "./lease-table.ts";
import { listThreads } from "./list.ts";
import { hideThread, removeHidden } from "./removal.ts";
import { LINK_COLUMNS, PAYLOAD_TEXT, ROW_COLUMNS, STORED_COLUMNS, toPage, toRow } from "./row-columns.ts";
import { DueThreads } from "./runnable-table.ts";
import { REQUEST_KEY_OF_ENTRY } from "./schema/v2.ts";
import { HEAD_COLUMNS, KnownThreads, Threads, toHead } from "./thread-tables.ts";
import { Turns } from "./turns.ts";
import { readUsage } from "./usage-table.ts";
import { WaitingCalls } from "./waiting-table.ts";
import { runLongQuery, type WorkerConnection, type WriteScript } from "./worker-connection.ts";

/**
 * More connections to the file, each in a worker. Long queries do not use that of writes, so that a write need not wait for
 * one.
 */
export interface Workers {
  readonly queries?: WorkerConnection | undefined;
  readonly writer?: WorkerConnection | undefined;
}

/** Decisions with more rows are written by the worker. */
const LARGE_DECISION = 1000;

/**
 * The threads of one tenant in one SQLite file. Writes are grouped; reads run immediately. SQLite has no clock of its own,
 * so `clock` must be the machine's clock if several processes use claims. Long reads and large writes run in the workers.
 */
export function sqliteDriver(
  connection: SqliteConnection,
  tenant: string,
  clock: Clock,
  { queries, writer }: Workers = {},
  { group, knownThreads, missing, take, buses, wakes }: SharedWrites = sharedWrites(connection, clock),
): StoreDriver {
  const commands = new Commands(connection, tenant);
  const forks = new Forks(connection, tenant);
  const threads = new Threads(connection, tenant, { clock, commands, forks, knownThreads });
  const history = new History(connection, tenant, forks);
  const feed = new Feed(connection, tenant, () => group.isClosed);
  const waiting = new WaitingCalls(connection, tenant);
  const records = new Records(connection, tenant);
  const inspection = new FileInspection(connection, queries);

  /** Wakes those who follow the tenant over this connection. Others see a commit by the version of the file. */
  function announce(threadIds: readonly string[], postedIds: readonly string[]): void {
    for (const wake of wakes.get(tenant) ?? []) wake(threadIds, postedIds);
  }

  function write<Result>(writer: string, work: () => Result): Promise<Result> {
    return group.add(writer, () => ({ ok: true, result: translateErrors(work) }));
  }

  async function transact<Result>(
    threadId: string,
    wanted: StateQuery,
    decide: (state: ThreadState) => Decision<Result>,
    inboxes: readonly InboxQuery[] = [],
  ): Promise<Result> {
    const { decision, large } = await group.add(threadId, (): Outcome<Decided<Result>> => {
      const thread = translateErrors(() => threads.open(threadId, wanted, inboxes));
      const decided = attempt(() => decide(thread.state));
      if (!decided.ok) return decided;
      const { head, rows } = decided.result;
      const script = isLarge(rows) && writer?.isUsable ? thread.script(decided.result) : undefined;
      const large = head && script && { seal: head.seal, script };
      if (large === undefined) translateErrors(() => thread.apply(decided.result));
      return { ok: true, result: { decision: decided.result, large } };
    });
    const isWritten = large === undefined || (await group.track(writeLarge(threadId, large)));
    if (!isWritten) return transact(threadId, wanted, decide, inboxes);
    const [changedIds, postedIds] = changedBy(threadId, decision);
    if (changedIds.length > 0) announce(changedIds, postedIds);
    return decision.result;
  }

  /** False when nothing was written, because the thread has changed or the worker was lost. */
  async function writeLarge(threadId: string, { script, seal }: LargeWrite): Promise<boolean> {
    const isApplied = await writer?.write(script, (work) => group.hold(work));
    return isApplied ?? (await retryBusy(() => threads.head(threadId)?.seal === seal));
  }

  async function remove(threadId: string, check?: RemovalCheck): Promise<readonly string[] | undefined> {
    const keptFor = await group.add(threadId, (): Outcome<readonly string[] | undefined> => {
      const state = () => [threads.head(threadId), commands.pending(threadId, 0, 1).length > 0] as const;
      const known = check && translateErrors(state);
      const checked = attempt(() => known && check?.(...known));
      if (!checked.ok) return checked;
      knownThreads.delete(tenant, threadId);
      return { ok: true, result: translateErrors(() => hideThread(connection, tenant, threadId, clock())) };
    });
    announce([threadId], [threadId]); // its commands are gone too
    await group.track(removeHiddenRows());
    return keptFor;
  }

  /** Works in slices, so that the event loop turns between them. Also removes what a process left when it died. */
  async function removeHiddenRows(): Promise<void> {
    while (await write("", () => removeHidden(connection))) await new Promise((resolve) => setImmediate(resolve));
  }

  return {
    scheduling: true,
    bus: buses.of(tenant),

    transact,
    lease: leaseChanges(new LeaseTable(connection), group, clock),
    counter: counterChanges(new CounterTable(connection), group, clock),
    take: (query) => take({ ...query, tenant }),

    pending: (threadId, after, limit) => retryBusy(() => commands.pending(threadId, after, limit)),
    waiting: (query) => retryBusy(() => waiting.find(query)),
    commands: (keys) => retryBusy(() => commands.find(keys)),
    head: (threadId) => retryBusy(() => threads.head(threadId)),
    lanes: (threadId, names) => retryBusy(() => threads.lanes(threadId, names)),
    rows: (threadId, range) => retryBusy(() => history.rows(threadId, range)),
    changes: (after, limit) => feed.changes(after, limit),
    feedEpoch: () => retryBusy(() => feed.epoch()),
    changedThreads: (after, inboxes) => feed.changedThreads(after, inboxes),
    onChange(wake) {
      const ofTenant = wakes.get(tenant) ?? new Set();
      wakes.set(tenant, ofTenant.add(wake));
      return () => {
        ofTenant.delete(wake);
        if (ofTenant.size === 0 && wakes.get(tenant) === ofTenant) wakes.delete(tenant);
      };
    },
    heads: (afterId, limit) => retryBusy(() => history.heads(afterId, limit)),
    fields: (threadId) => retryBusy(() => threads.fields(threadId)),
    usage: (query) => retryBusy(() => readUsage(connection, tenant, query)),
    list: (query) => listThreads(connection, tenant, query, queries),
    inspect: async () => missing?.() ?? (await inspection.trouble()),

    remove: (threadId) => remove(threadId),
    removeIf: remove,
    async fork(from, to, atSeq, start) {
      const isMade = await write(to, () => forkThread(connection, tenant, { from, to, atSeq, start }));
      if (isMade) announce([to], []);
      return isMade;
    },
    forks: (threadId) => retryBusy(() => forks.all(threadId)),

    blobs: (hashes) => retryBusy(() => readBlobs(connection, tenant, hashes)),
    purgeBlobs(graceMs) {
      return write("", () => purgeBlobs(connection, tenant, clock() - graceMs, clock()));
    },
    getRecord: (space, key) => retryBusy(() => records.get(space, key)),
    putRecord: (space, key, value) => write(key, () => records.put(space, key, value)),
    deleteRecord: (space, key) => write(key, () => records.delete(space, key)),

    async close() {
      await group.close();
      await closeWorkers({ queries, writer });
      translateErrors(() => connection.close());
    },
  };
}

/** Changes leases, in the transactions of the group. */
function leaseChanges(leases: LeaseTable, group: GroupCommit, clock: Clock): DatabaseDriver["lease"] {
  return <Result>(node: string, decide: (state: LeaseState) => LeaseDecision<Result>) =>
    group.add(`node ${node}`, (): Outcome<Result> => {
      const lease = translateErrors(() => leases.find(node));
      const decided = attempt(() => decide({ lease, now: clock() }));
      if (!decided.ok) return decided;
      const { result, lease: written, purgeBefore } = decided.result;
      translateErrors(() => {
        if (purgeBefore !== undefined) leases.purge(purgeBefore);
        if (written !== undefined) leases.put(written);
      });
      return { ok: true, result };
    });
}

/** Changes counters, in the transactions of the group. */
function counterChanges(counters: CounterTable, group: GroupCommit, clock: Clock): Required<DatabaseDriver>["counter"] {
  return <Result>(name: string, decide: (state: CounterState) => CounterDecision<Result>) =>
    group.add(`counter ${name}`, (): Outcome<Result> => {
      const nodes = translateErrors(() => counters.find(name, clock()));
      const decided = attempt(() => decide({ nodes }));
      if (!decided.ok) return decided;
      const { result, written } = decided.result;
      if (written !== undefined) translateErrors(() => counters.put(name, written, clock()));
      return { ok: true, result };
    });
}

/** Gives out the threads that are due. A look that finds none writes nothing. */
function takeThreads(connection: SqliteConnection, group: GroupCommit, clock: Clock): DatabaseDriver["take"] {
  const leases = new LeaseTable(connection);
  const threads = new DueThreads(connection);
  const ownLease = ({ lease }: TakeQuery): LeaseRecord | undefined => {
    const found = leases.find(lease.node);
    return found && liveLease(lease, [found], clock());
  };
  return async (query) => {
    const isNeeded = await retryBusy(() => threads.isNeeded(query, clock()));
    if (!isNeeded && ownLease(query) !== undefined) return [];
    return group.add(
      "take",
      (): Outcome<readonly TakenThread[] | undefined> =>
        translateErrors(() => {
          const own = ownLease(query);
          return { ok: true, result: own && threads.take(query, own, clock()) };
        }),
    );
  };
}

/** All tenants of one SQLite file. They share its connection and its transactions. */
export function sqliteDatabaseDriver(
  connection: SqliteConnection,
  clock: Clock,
  workers: Workers = {},
): DatabaseDriver {
  const shared = sharedWrites(connection, clock);
  const { group, take } = shared;

  return {
    tenant(name) {
      const driver = sqliteDriver(connection, name, clock, workers, shared);
      return { ...driver, close: () => group.drain() };
    },

    lease: leaseChanges(new LeaseTable(connection), group, clock),
    counter: counterChanges(new CounterTable(connection), group, clock),
    take,

    async close() {
      await group.close();
      await closeWorkers(workers);
      translateErrors(() => connection.close());
    },
  };
}

async function closeWorkers({ queries, writer }: Workers): Promise<void> {
  await queries?.close();
  await writer?.close();
}

/** The threads that a decision changes, and those of them with new or changed commands. */
function changedBy(
  threadId: string,
  { rows = [], commands = [] }: Decision<unknown>,
): readonly [changedIds: readonly string[], postedIds: readonly string[]] {
  const posted = commands.filter(({ command }) => command.outcome === null || isWithdrawn(command));
  const ids = (of: typeof commands): readonly string[] => of.map((command) => command.threadId);
  return [[...(rows.length > 0 ? [threadId] : []), ...ids(commands)], ids(posted)];
}

interface Decided<Result> {
  readonly decision: Decision<Result>;
  /** The part that a worker has to write; undefined when all is written. */
  readonly large: LargeWrite | undefined;
}

interface LargeWrite {
  /** The seal of the head that it writes. */
  readonly seal: string;
  readonly script: WriteScript;
}

function isLarge(rows: readonly StoredRow[] | undefined): boolean {
  return rows !== undefined && rows.length > LARGE_DECISION;
}

/** The tenants of a connection share its transactions, and what these have written. */
interface SharedWrites {
  readonly group: GroupCommit;
  readonly knownThreads: KnownThreads;
  /** Why the file is not at its path any more. */
  readonly missing: (() => string | undefined) | undefined;
  readonly take: DatabaseDriver["take"];
  readonly buses: LocalBuses;
  /** Woken by commits over this connection, by tenant. */
  readonly wakes: Map<string, Set<Parameters<Required<StoreDriver>["onChange"]>[0]>>;
}

function sharedWrites(connection: SqliteConnection, clock: Clock): SharedWrites {
  const turns = new Turns(() => pathOf(connection)); // asked only where another process writes
  const knownThreads = new KnownThreads(connection);
  const missing = missingFile(connection);
  const group = new GroupCommit(transactionOf(connection, knownThreads, checkOf(missing, clock)), turns);
  const take = takeThreads(connection, group, clock);
  return { group, knownThreads, missing, take, buses: new LocalBuses(), wakes: new Map() };
}

const CHECK_MS = 1000;

/** Throws when the file is missing. Looks once a second at most. */
function checkOf(missing: SharedWrites["missing"], clock: Clock): () => void {
  let last = clock();
  return () => {
    const now = clock();
    if (missing === undefined || Math.abs(now - last) < CHECK_MS) return;
    const trouble = missing();
    if (trouble === undefined) last = now;
    else
      throw new StoreError({
        code: "store_failed",
        message: `Nothing is stored: ${trouble}. Restore it, or start again.`,
      });
  };
}

function transactionOf(connection: SqliteConnection, knownThreads: KnownThreads, check: () => void): Transaction {
  const run = connection.embedded?.transaction ?? fileTransaction(connection);
  return (work) => {
    try {
      check();
      return run(work);
    } catch (error) {
      knownThreads.clear();
      throw error;
    }
  };
}

function fileTransaction(connection: SqliteConnection): Transaction {
  const begin = connection.prepare("BEGIN IMMEDIATE");
  const commit = connection.prepare("COMMIT");
  return (work) => {
    translateErrors(() => begin.run());
    try {
      const result = work();
      translateErrors(() => commit.run());
      return result;
    } catch (error) {
      rollback(connection);
      throw error;
    }
  };
}

const OF_THREAD = "e.thread = (SELECT key FROM threads WHERE tenant = ? AND id = ?)";
const OF_OWNER = "e.thread = ?";
const OF_REQUEST = `AND ${REQUEST_KEY_OF_ENTRY} = ?`;
const WITH_REF = "AND instr(e.refs, ?)";
const OF_KIND = "AND e.kind IN (SELECT value FROM json_each(?))";
/** Long texts are in blobs, so rows with references are returned too. */
const CONTAINING = `AND (instr(lower(${PAYLOAD_TEXT}), ?) OR substr(${PAYLOAD_TEXT}, 1, 1) = '[')`;

/** Reads committed rows and heads. */
class History {
  readonly #connection: SqliteConnection;
  readonly #tenant: string;
  readonly #forks: Forks;
  readonly #prepared = new Map<string, SqliteStatement>();
  readonly #sql: ReturnType<typeof historyStatements>;

  constructor(connection: SqliteConnection, tenant: string, forks: Forks) {
    this.#connection = connection;
    this.#tenant = tenant;
    this.#forks = forks;
    this.#sql = historyStatements(connection);
  }

  rows(threadId: string, range: RowRange): readonly StoredRow[] {
    for (;;) {
      const parts = this.#forks.parts(threadId);
      if (parts === undefined) return this.#select(OF_THREAD, [this.#tenant, threadId], range);
      const rows = readParts(parts, range, (owner, part) => this.#select(OF_OWNER, [owner], part));
      if (this.#forks.isCurrent(threadId, parts)) return rows;
    }
  }

  #select(
    ofThread: string,
    thread: readonly SqlValue[],
    { from, to, kinds, search, refs = {}, reverse = false, limit }: RowRange,
  ): readonly StoredRow[] {
    const key = requestKey(refs);
    const conditions = [
      ...(key === undefined ? [] : [{ sql: OF_REQUEST, value: key }]),
      ...refTexts(refs).map((value) => ({ sql: WITH_REF, value })),
      ...(kinds === undefined ? [] : [{ sql: OF_KIND, value: JSON.stringify(kinds) }]),
      ...(search === undefined ? [] : [{ sql: CONTAINING, value: search }]),
    ];
    const where = [`${ofThread} AND e.seq BETWEEN ? AND ?`, ...conditions.map(({ sql }) => sql)].join(" ");
    const values = [...thread, from, to, ...conditions.map(({ value }) => value), limit];
    const ordered = `FROM entries e WHERE ${where} ORDER BY e.seq ${reverse ? "DESC" : "ASC"} LIMIT ?`;
    const select = (columns: string) => this.#prepare(`SELECT ${columns} ${ordered}`).all(...values);
    const linkOf = (seq: number) =>
      this.#prepare(`SELECT ${LINK_COLUMNS} FROM entries e WHERE ${ofThread} AND e.seq = ?`).get(...thread, seq);
    const isPage = conditions.length === 0 && from < to && limit > 1;
    const page = isPage ? toPage(select(STORED_COLUMNS), reverse, linkOf) : undefined;
    return page ?? select(ROW_COLUMNS).map(toRow);
  }

  /** Prepares one statement per combination of conditions. */
  #prepare(sql: string): SqliteStatement {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(sql);
    this.#prepared.set(sql, statement);
    return statement;
  }

  heads(afterId: string | undefined, limit: number): readonly NamedHead[] {
    return this.#sql.heads.all(this.#tenant, afterId ?? "", limit).map(([first, ...columns]) => {
      const id = String(first);
      return { id, head: toHead(id, columns) };
    });
  }
}

function historyStatements(connection: SqliteConnection) {
  return {
    heads: connection.prepare(
      `SELECT id, ${HEAD_COLUMNS} FROM threads WHERE tenant = ? AND id > ? AND state IS NULL ORDER BY id LIMIT ?`,
    ),
  };
}

/**
 * Runs SQLite's check of all pages and indexes. The result is cached until the next write, so that verifying many threads
 * reads the file once.
 */
class FileInspection {
  readonly #connection: SqliteConnection;
  readonly #queries: WorkerConnection | undefined;
  #state: string | undefined;
  #trouble: string | undefined;

  constructor(connection: SqliteConnection, queries: WorkerConnection | undefined) {
    this.#connection = connection;
    this.#queries = queries;
  }

  async trouble(): Promise<string | undefined> {
    const state = await retryBusy(() => this.#writesSoFar());
    if (state === this.#state) return this.#trouble;
    const trouble = await this.#check();
    this.#trouble = trouble;
    this.#state = state;
    return trouble;
  }

  async #check(): Promise<string | undefined> {
    const [row] = await runLongQuery(this.#connection, this.#queries, "PRAGMA integrity_check(1)");
    const found = row?.[0];
    return found === "ok" ? undefined : `SQLite reports "${String(found)}"`;
  }

  /** A text that changes with every write by any connection. */
  #writesSoFar(): string {
    const [own] = this.#connection.prepare("SELECT total_changes()").get() ?? [];
    const [others] = this.#connection.prepare("PRAGMA data_version").get() ?? [];
    return `${own}/${others}`;
  }
}
