import type { InboxQuery, ThreadState } from "../driver.ts";
import type {
  ClaimRecord,
  LeaseRecord,
  RunnableRow,
  StoredCommand,
  StoredLane,
  StoredRow,
  StoredWaiting,
  ThreadHead,
} from "../stored-records.ts";
import { readCommands, readLastPositions } from "./commands.ts";
import { readSharedRows } from "./fork-rows.ts";
import { type PendingCommand, readLeases, readPendingIds, readRunnable, serverClock } from "./runnable.ts";
import {
  type EntryColumns,
  entryColumns,
  type HeadColumns,
  hasId,
  headColumns,
  type LaneColumns,
  laneColumns,
  type Scope,
  toHead,
  toLane,
  toRow,
} from "./tables.ts";
import { readWaiting } from "./waiting.ts";

/** The entries and commands of one thread that a batch needs. */
export interface ThreadQuery {
  readonly entryIds: Set<string>;
  readonly lanes: Set<string>;
  readonly commandIds: Set<string>;
  /** The nodes whose leases are read beside that of the claim; undefined when no lease is. */
  nodes: Set<string> | undefined;
  /** As in an InboxQuery. */
  runnable: InboxQuery["runnable"];
  waiting: boolean;
}

/** One thread as it is inside the transaction of a batch. */
export interface ReadThread extends Pick<ThreadState, "head" | "claim" | "now"> {
  readonly rows: readonly StoredRow[];
  readonly lanes: readonly StoredLane[];
  readonly commands: readonly StoredCommand[];
  readonly lastPosition: number;
  /** All leases that the batch needs. */
  readonly leases: readonly LeaseRecord[];
  /** Undefined when it was not read. */
  readonly runnable: RunnableRow | null | undefined;
  readonly pending: readonly PendingCommand[];
  readonly waiting: readonly StoredWaiting[];
}

interface ThreadPart {
  readonly threadId: string;
  readonly id: string;
}

/** Reads the threads of a batch, while it holds their locks. */
export async function readThreads(
  scope: Scope,
  wanted: ReadonlyMap<string, ThreadQuery>,
): Promise<ReadonlyMap<string, ReadThread>> {
  const names = (part: "entryIds" | "lanes" | "commandIds"): readonly ThreadPart[] =>
    [...wanted].flatMap(([threadId, thread]) => [...thread[part]].map((id) => ({ threadId, id })));
  const keys = names("commandIds");
  const withLeases = [...wanted].flatMap(([threadId, { nodes }]) => (nodes === undefined ? [] : [{ threadId, nodes }]));
  const withRunnable = [...wanted].flatMap(([threadId, { runnable }]) => (runnable === undefined ? [] : [threadId]));
  const withPending = withRunnable.filter((threadId) => wanted.get(threadId)?.runnable === "pending");
  const [states, known, lanes, commands, positions, leases, runnable, pending, waiting] = await Promise.all([
    selectStates(scope, [...wanted.keys()]),
    selectKnown(scope, names("entryIds")),
    selectLanes(scope, names("lanes")),
    readCommands(scope, keys),
    readLastPositions(scope, [...new Set(keys.map(({ threadId }) => threadId))]),
    withLeases.length === 0
      ? []
      : readLeases(
          scope,
          withLeases.map(({ threadId }) => threadId),
          withLeases.flatMap(({ nodes }) => [...nodes]),
        ),
    readRunnable(scope, withRunnable),
    readPendingIds(scope, withPending),
    readWaiting(
      scope,
      [...wanted].flatMap(([threadId, thread]) => (thread.waiting ? [threadId] : [])),
    ),
  ]);
  const shared = await readSharedRows(scope, unknownOfForks(states, known, names("entryIds")));
  const rowsById = Map.groupBy([...known, ...shared], ({ thread_id }) => thread_id);
  const lanesById = Map.groupBy(lanes, ({ thread_id }) => thread_id);
  const pendingById = Map.groupBy(pending, ({ thread }) => thread);
  const commandsById = Map.groupBy(commands, ({ threadId }) => threadId);
  return new Map(
    states.map((columns) => {
      const { thread_id: id, now } = columns;
      const rows = (rowsById.get(id) ?? []).map((row) => toRow(id, row));
      const lanesOfThread = (lanesById.get(id) ?? []).map((lane) => toLane(id, lane));
      const ofThread = (commandsById.get(id) ?? []).map(({ command }) => command);
      const lastPosition = positions.get(id) ?? 0;
      const [head, claim] = [headOf(columns), claimOf(columns)];
      const scheduling = {
        leases,
        runnable: withRunnable.includes(id) ? (runnable.get(id) ?? null) : undefined,
        pending: pendingById.get(id) ?? [],
        waiting: waiting.flatMap(({ threadId, call }) => (threadId === id ? [call] : [])),
      };
      return [id, { head, claim, rows, lanes: lanesOfThread, commands: ofThread, lastPosition, ...scheduling, now }];
    }),
  );
}

/** The ids that no own row of a fork has. A shared row may have them. */
function unknownOfForks(
  states: readonly StateColumns[],
  known: readonly KnownColumns[],
  wanted: readonly ThreadPart[],
): readonly ThreadPart[] {
  const forks = new Set(states.flatMap(({ thread_id, origin }) => (origin === null ? [] : thread_id)));
  if (forks.size === 0) return [];
  const found = new Set(known.map(({ thread_id, id }) => `${thread_id}/${id}`)); // no name of a thread contains a slash
  return wanted.filter(({ threadId, id }) => forks.has(threadId) && !found.has(`${threadId}/${id}`));
}

interface StateColumns extends Nullable<HeadColumns>, Nullable<ClaimColumns> {
  readonly thread_id: string;
  readonly now: number;
  readonly origin: number | null;
}

interface ClaimColumns {
  readonly holder: string;
  readonly epoch: number;
  readonly until: number;
  readonly ttl: number;
  readonly node: string | null;
  readonly incarnation: number | null;
}

type Nullable<Columns> = { readonly [Name in keyof Columns]: Columns[Name] | null };

function selectStates(scope: Scope, threadIds: readonly string[]): PromiseLike<readonly StateColumns[]> {
  const { sql, tables, tenant } = scope;
  return sql<StateColumns[]>`
    select w.id as thread_id, ${serverClock(scope)} as now,
      ${headColumns(scope)}, t.origin, c.holder, c.epoch, c.until, c.ttl, c.node, c.incarnation
    from unnest(${threadIds}::text[]) as w (id)
    left join ${tables.threads} t on t.tenant = ${tenant} and t.id = w.id
    left join ${tables.claims} c on c.tenant = ${tenant} and c.thread = w.id`.execute();
}

interface KnownColumns extends EntryColumns {
  readonly thread_id: string;
}

function selectLanes(
  scope: Scope,
  pairs: readonly ThreadPart[],
): PromiseLike<readonly (LaneColumns & { readonly thread_id: string })[]> | readonly [] {
  if (pairs.length === 0) return [];
  const { sql, tables, tenant } = scope;
  return sql<(LaneColumns & { readonly thread_id: string })[]>`
    select t.id as thread_id, ${laneColumns(scope)}
    from unnest(
      ${pairs.map(({ threadId }) => threadId)}::text[], ${pairs.map(({ id }) => JSON.stringify(id))}::text[]
    ) as w (thread_id, lane)
    join ${tables.threads} t on t.tenant = ${tenant} and t.id = w.thread_id
    join ${tables.lanes} l on l.thread = t.key and l.lane = w.lane`.execute();
}

function selectKnown(
  scope: Scope,
  pairs: readonly ThreadPart[],
): PromiseLike<readonly KnownColumns[]> | readonly KnownColumns[] {
  if (pairs.length === 0) return [];
  const { sql, tables, tenant } = scope;
  const threadIds = pairs.map(({ threadId }) => threadId);
  const ids = pairs.map(({ id }) => id);
  return sql<KnownColumns[]>`
    select t.id as thread_id, ${entryColumns(scope)}
    from unnest(${threadIds}::text[], ${ids}::text[]) as w (thread_id, id)
    join ${tables.threads} t on t.tenant = ${tenant} and t.id = w.thread_id
    join ${tables.entries} e on e.thread = t.key and ${hasId(scope, sql`w.id`)}
    order by e.seq`.execute();
}

function headOf(columns: StateColumns): ThreadHead | undefined {
  return isComplete(columns) ? toHead(columns.thread_id, columns) : undefined;
}

/** When there is no thread, all columns of its head are null. */
function isComplete(columns: StateColumns): columns is StateColumns & HeadColumns {
  return columns.rev !== null;
}

function claimOf({ holder, epoch, until, ttl, node, incarnation }: StateColumns): ClaimRecord | undefined {
  if (holder === null || epoch === null || until === null || ttl === null) return undefined;
  const lease = node === null || incarnation === null ? undefined : { node, incarnation };
  return { holder, epoch, until, ttlMs: ttl, lease };
}
