import { portableSha256 } from "../../thread/encoding.ts";
import { freezeJson, type JsonObject } from "../../thread/json.ts";
import type { Clock } from "../../thread/ports.ts";
import type { Decision, InboxQuery, InboxState, StateQuery, ThreadStart, ThreadState } from "../driver.ts";
import { CorruptionError } from "../errors.ts";
import type { LeaseKey } from "../port.ts";
import { headTexts, lanesFromTexts } from "../row-format.ts";
import type { ClaimRecord, LeaseRecord, StoredLane, StoredRow, ThreadField, ThreadHead } from "../stored-records.ts";
import { blobWriter } from "./blob-table.ts";
import type { Commands } from "./command-table.ts";
import { dataVersion, type SqliteConnection, type SqlValue } from "./connection.ts";
import type { Forks } from "./forks.ts";
import { LeaseTable } from "./lease-table.ts";
import { ENTRY_COLUMNS, ROW_COLUMNS, rowValues, toRow } from "./row-columns.ts";
import { RunnableRows } from "./runnable-table.ts";
import { ADD_USAGE, usageValues } from "./usage-table.ts";
import { WaitingCalls } from "./waiting-table.ts";
import type { NestedQuery, WriteScript } from "./worker-connection.ts";

type Columns = readonly SqlValue[];

const CHANGED_COLUMNS = "rev, hash, updated_at, metadata, seal, lanes, earlier_mark";
/** The columns that seldom change are written apart, because SQLite would also rewrite their indexes. */
const MOVED_COLUMNS = `${CHANGED_COLUMNS}, owner, update_slot`;
const NEW_COLUMNS = `${MOVED_COLUMNS}, created_at`;
export const HEAD_COLUMNS = `${CHANGED_COLUMNS}, owner, created_at`;

/** The column `update_slot` for a time. */
export function slotOf(updatedAt: number): number {
  return Math.floor(updatedAt / 1024);
}

function changedValues(head: ThreadHead): Columns {
  const { metadata, lanes, mark } = headTexts(head);
  return [head.rev, head.hash, head.updatedAt, metadata, head.seal, lanes, mark ?? "null"];
}

function movedValues(head: ThreadHead): Columns {
  return [...changedValues(head), head.owner, slotOf(head.updatedAt)];
}

function newValues(head: ThreadHead): Columns {
  return [...movedValues(head), head.createdAt];
}

export function toHead(threadId: string, columns: Columns): ThreadHead {
  const [rev, hash, updatedAt, metadata, seal, lanes, mark, owner, createdAt] = columns;
  try {
    return {
      ...({ rev, hash, createdAt, updatedAt, seal, owner } as Pick<
        ThreadHead,
        "rev" | "hash" | "createdAt" | "updatedAt" | "seal" | "owner"
      >),
      // The cast is safe: callers check the seal, which covers all these fields.
      metadata: freezeJson(JSON.parse(String(metadata)) as JsonObject),
      lanes: lanesFromTexts(String(lanes), String(mark)),
    };
  } catch (cause) {
    throw new CorruptionError({ threadId, seq: -1, trouble: "its record is not JSON", cause });
  }
}

/** STRICT tables keep the type of each column, so the cast is safe. */
function toLane([lane, firstSeq, seq, recordSeq, record, checkSum]: Columns): StoredLane {
  return { lane, firstSeq, seq, recordSeq, record, checkSum } as StoredLane;
}

/** Longer payloads are stored in their own table, once per text. */
const BIG_PAYLOAD_CHARS = 32 * 1024;

function isBig(payload: string | null): payload is string {
  return payload !== null && payload.length > BIG_PAYLOAD_CHARS;
}

/** Where a thread is stored. */
interface Place {
  readonly key: number;
  /** The last seq that it shares, also -1; null when it is no fork. */
  readonly forkSeq: SqlValue;
  /** Whether it shares rows of another thread. */
  readonly isFork: boolean;
}

function toPlace([key, origin, forkSeq = null]: Columns): Place {
  return { key: Number(key), isFork: origin !== null, forkSeq };
}

interface FoundThread extends Place {
  readonly head: ThreadHead;
}

/** More threads than most processes write to at the same time. */
const MAX_KNOWN_THREADS = 1000;

/**
 * Threads that a connection has written to, so that their next append need not read the head. Each write of a head over this
 * connection must be noted here. After a write of another connection or process, which SQLite reports, nothing is known.
 */
export class KnownThreads {
  readonly #threads = new Map<string, FoundThread>();
  readonly #dataVersion: () => SqlValue | undefined;
  #version: SqlValue | undefined;

  constructor(connection: SqliteConnection) {
    this.#dataVersion = dataVersion(connection);
  }

  find(tenant: string, threadId: string): FoundThread | undefined {
    const version = this.#dataVersion();
    if (version !== this.#version || version === undefined) this.#threads.clear();
    this.#version = version;
    return this.#threads.get(`${tenant}/${threadId}`);
  }

  /** Call it in a transaction that has called `find`. */
  set(tenant: string, threadId: string, thread: FoundThread): void {
    this.#threads.set(`${tenant}/${threadId}`, thread);
    if (this.#threads.size <= MAX_KNOWN_THREADS) return;
    for (const oldest of this.#threads.keys()) return void this.#threads.delete(oldest);
  }

  delete(tenant: string, threadId: string): void {
    this.#threads.delete(`${tenant}/${threadId}`);
  }

  /** After a transaction that was rolled back. */
  clear(): void {
    this.#threads.clear();
  }
}

/** Reads the claim when it is asked for, because most decisions do not. A getter in an object literal would be slow. */
class StateWithClaim implements ThreadState {
  readonly head: ThreadState["head"];
  readonly waiting: ThreadState["waiting"];
  readonly leases: ThreadState["leases"];
  readonly known: ThreadState["known"];
  readonly lanes: ThreadState["lanes"];
  readonly inboxes: ThreadState["inboxes"];
  readonly now: number;
  readonly #readClaim: () => ClaimRecord | undefined;

  constructor(state: Omit<ThreadState, "claim">, readClaim: () => ClaimRecord | undefined) {
    this.head = state.head;
    this.waiting = state.waiting;
    this.leases = state.leases;
    this.known = state.known;
    this.lanes = state.lanes;
    this.inboxes = state.inboxes;
    this.now = state.now;
    this.#readClaim = readClaim;
  }

  get claim(): ClaimRecord | undefined {
    return this.#readClaim();
  }
}

const NO_INBOXES: ReadonlyMap<string, InboxState> = new Map();

interface OpenThread {
  readonly state: ThreadState;
  apply(decision: Decision<unknown>): void;
  /**
   * The writes of `apply` as data, so that another connection can apply them. Undefined when the decision has other writes than
   * entries.
   */
  script(decision: Decision<unknown>): WriteScript | undefined;
}

interface ThreadTools {
  readonly clock: Clock;
  readonly commands: Commands;
  readonly forks: Forks;
  readonly knownThreads: KnownThreads;
}

/** Reads and writes the state of one thread. The caller must have begun a transaction, except for `head`. */
export class Threads {
  readonly #tenant: string;
  readonly #clock: Clock;
  readonly #commands: Commands;
  readonly #forks: Forks;
  readonly #knownThreads: KnownThreads;
  readonly #leases: LeaseTable;
  readonly #runnable: RunnableRows;
  readonly #waiting: WaitingCalls;
  readonly #useBlobs: ReturnType<typeof blobWriter>;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: SqliteConnection, tenant: string, { clock, commands, forks, knownThreads }: ThreadTools) {
    this.#useBlobs = blobWriter(connection, tenant);
    this.#tenant = tenant;
    this.#clock = clock;
    this.#commands = commands;
    this.#forks = forks;
    this.#knownThreads = knownThreads;
    this.#leases = new LeaseTable(connection);
    this.#runnable = new RunnableRows(connection, tenant);
    this.#waiting = new WaitingCalls(connection, tenant);
    this.#sql = statements(connection);
  }

  head(threadId: string): ThreadHead | undefined {
    return this.#find(threadId)?.head;
  }

  /** Reads the state of a thread. `apply` writes the decision. */
  open(threadId: string, wanted: StateQuery, wantedInboxes: readonly InboxQuery[]): OpenThread {
    const found = this.#find(threadId);
    const known = found === undefined ? [] : this.#known(threadId, found, wanted.ids);
    const lanes = found === undefined ? [] : this.#lanes(found.key, wanted.lanes);
    const inboxes = wantedInboxes.length === 0 ? NO_INBOXES : this.#inboxes(wantedInboxes);
    const readClaim = (): ClaimRecord | undefined => this.#claim(threadId);
    const state = {
      head: found?.head,
      waiting: wanted.waiting ? this.#waiting.of(threadId) : undefined,
      leases: wanted.leases && this.#wantedLeases(wanted.leases, readClaim()),
      known,
      lanes,
      inboxes,
      now: this.#clock(),
    };
    return {
      state: new StateWithClaim(state, readClaim),
      apply: (decision) => this.#apply(threadId, found, decision),
      script: (decision) => this.#script(threadId, found, decision),
    };
  }

  #inboxes(wanted: readonly InboxQuery[]): ReadonlyMap<string, InboxState> {
    const inboxes = new Map<string, InboxState>();
    for (const inbox of wanted) {
      const columns = this.#sql.key.get(this.#tenant, inbox.threadId);
      const rows = columns === undefined ? [] : this.#known(inbox.threadId, toPlace(columns), inbox.entryIds);
      inboxes.set(inbox.threadId, { ...this.#commands.state(inbox), ...this.#runnable.state(inbox), known: rows });
    }
    return inboxes;
  }

  #script(threadId: string, found: FoundThread | undefined, decision: Decision<unknown>): WriteScript | undefined {
    const { result: _, head, fields = [], rows = [], lanes = [], usage = [], ...others } = decision;
    if (head === undefined || Object.keys(others).length > 0) return undefined;
    const place = [this.#tenant, threadId];
    const { key, forkSeq = null } = found ?? {};
    const bigOf = (payload: string | null): NestedQuery | null =>
      isBig(payload) ? { sql: PUT_BIG, values: [this.#tenant, portableSha256(payload), payload] } : null;
    return {
      unchanged: [
        { sql: FIND_HEAD, values: place, rows: this.#sql.head.all(...place) },
        { sql: FIND_CLAIM, values: place, rows: this.#sql.claim.all(...place) },
      ],
      head:
        key === undefined
          ? { sql: ADD_HEAD, values: [...place, ...newValues(head)] }
          : { sql: `${MOVE_HEAD} RETURNING key`, values: [...movedValues(head), key] },
      putRow: PUT_ROW,
      rows: (from, to) => rows.slice(from, to).map((row) => rowValues(row, bigOf(row.payload), forkSeq)),
      rowCount: rows.length,
      parts: [
        { sql: PUT_LANE, rows: lanes.map(laneValues) },
        { sql: ADD_USAGE, rows: usage.map(usageValues) },
        { sql: PUT_FIELD, rows: fields.flatMap((field) => (field.value === null ? [] : [this.#fieldValues(field)])) },
        { sql: REMOVE_FIELD, rows: fields.flatMap(({ name, value }) => (value === null ? [[name]] : [])) },
      ],
    };
  }

  #wantedLeases(nodes: readonly string[], claim: ClaimRecord | undefined): readonly LeaseRecord[] {
    return [...nodes, ...(claim?.lease ? [claim.lease.node] : [])].flatMap((node) => this.#leases.find(node) ?? []);
  }

  #apply(threadId: string, found: FoundThread | undefined, decision: Decision<unknown>): void {
    const { head, claim, leases = [], blobs } = decision;
    this.#commands.apply(decision);
    this.#runnable.apply(decision);
    if (decision.waiting !== undefined) this.#waiting.replace(threadId, decision.waiting);
    for (const lease of leases) this.#leases.put(lease);
    if (claim !== undefined) this.#sql.putClaim.run(this.#tenant, threadId, ...claimValues(claim));
    if (head !== undefined) this.#write(this.#putHead(threadId, found, head), found?.forkSeq ?? null, decision);
    if (blobs !== undefined) this.#useBlobs(threadId, blobs, this.#clock());
  }

  #write(thread: number, forkSeq: SqlValue, decision: Decision<unknown>): void {
    const { rows = [], lanes = [], fields = [], usage = [] } = decision;
    for (const row of rows) {
      this.#sql.putRow.run(thread, ...rowValues(row, this.#putBigPayload(row.payload), forkSeq));
    }
    for (const counted of usage) this.#sql.addUsage.run(thread, ...usageValues(counted));
    for (const lane of lanes) this.#sql.putLane.run(thread, ...laneValues(lane));
    for (const field of fields) {
      if (field.value === null) this.#sql.removeField.run(thread, field.name);
      else this.#sql.putField.run(thread, ...this.#fieldValues(field));
    }
  }

  #fieldValues({ name, value }: ThreadField): SqlValue[] {
    return [this.#tenant, name, value];
  }

  fields(threadId: string): readonly ThreadField[] {
    return this.#sql.fields
      .all(this.#tenant, threadId)
      .map(([name, value]) => ({ name: String(name), value: String(value) }));
  }

  /** Without names, all lanes of the thread. */
  lanes(threadId: string, names: readonly string[] | undefined): readonly StoredLane[] {
    const key = this.#find(threadId)?.key;
    return key === undefined ? [] : this.#lanes(key, names);
  }

  #lanes(key: number, names: readonly string[] | undefined): readonly StoredLane[] {
    if (names === undefined) return this.#sql.lanes.all(key).map(toLane);
    return names.flatMap((name) => this.#sql.lane.all(key, name).map(toLane));
  }

  #find(threadId: string): FoundThread | undefined {
    const known = this.#knownThreads.find(this.#tenant, threadId);
    if (known !== undefined) return known;
    const columns = this.#sql.head.get(this.#tenant, threadId);
    return columns && { ...toPlace(columns), head: toHead(threadId, columns.slice(3)) };
  }

  #putHead(threadId: string, found: FoundThread | undefined, head: ThreadHead): number {
    const place = found ?? this.#addHead(threadId, head);
    const { key, forkSeq, isFork } = place;
    this.#knownThreads.set(this.#tenant, threadId, { key, forkSeq, isFork, head });
    if (found === undefined) return key;
    const isMoved = slotOf(head.updatedAt) !== slotOf(found.head.updatedAt) || head.owner !== found.head.owner;
    if (isMoved) this.#sql.moveHead.run(...movedValues(head), key);
    else this.#sql.putHead.run(...changedValues(head), key);
    return key;
  }

  #addHead(threadId: string, head: ThreadHead): Place {
    const [key] = this.#sql.addHead.get(this.#tenant, threadId, ...newValues(head)) ?? [];
    return { key: Number(key), forkSeq: null, isFork: false };
  }

  #known(threadId: string, { key, isFork }: Place, wantedIds: readonly string[]): readonly StoredRow[] {
    const found = wantedIds.flatMap((id) => this.#sql.byId.all(id, key).map(toRow));
    if (isFork && found.length < wantedIds.length) {
      for (const { owner, to } of this.#forks.partsOf(threadId, key).slice(1)) {
        const rows = wantedIds.flatMap((id) => this.#sql.byId.all(id, owner).map(toRow));
        found.push(...rows.filter(({ seq }) => seq <= to));
      }
    }
    return found.length < 2 ? found : found.sort((a, b) => a.seq - b.seq);
  }

  #claim(threadId: string): ClaimRecord | undefined {
    const columns = this.#sql.claim.get(this.#tenant, threadId);
    if (columns === undefined) return undefined;
    const [holder, epoch, until, ttlMs, node, incarnation] = columns;
    // The casts are safe: a STRICT table, and a claim has both columns or none.
    const lease = node === null ? undefined : ({ node, incarnation } as LeaseKey);
    return { holder, epoch, until, ttlMs, lease } as ClaimRecord;
  }

  #putBigPayload(payload: string | null): number | null {
    if (!isBig(payload)) return null;
    return Number(this.#sql.putBig.get(this.#tenant, portableSha256(payload), payload)?.[0]);
  }
}

const CLAIM_COLUMNS = "holder, epoch, until, ttl, node, incarnation";

function claimValues({ holder, epoch, until, ttlMs, lease }: ClaimRecord): SqlValue[] {
  return [holder, epoch, until, ttlMs, lease?.node ?? null, lease?.incarnation ?? null];
}

const LANE_COLUMNS = "lane, first_seq, seq, record_seq, record, check_sum";

const PUT_LANE = `INSERT OR REPLACE INTO lanes (thread, ${LANE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`;

const PUT_FIELD = "INSERT OR REPLACE INTO thread_fields (thread, tenant, name, value) VALUES (?, ?, ?, ?)";
const REMOVE_FIELD = "DELETE FROM thread_fields WHERE thread = ? AND name = ?";

function laneValues({ lane, firstSeq, seq, recordSeq, record, checkSum }: StoredLane): SqlValue[] {
  return [lane, firstSeq, seq, recordSeq, record, checkSum];
}

const FIND_HEAD = `SELECT key, origin, fork_seq, ${HEAD_COLUMNS} FROM threads WHERE tenant = ? AND id = ?`;
const FIND_CLAIM = `SELECT ${CLAIM_COLUMNS} FROM claims WHERE tenant = ? AND thread = ?`;
const ADD_HEAD = `INSERT INTO threads (tenant, id, ${NEW_COLUMNS}) VALUES (?, ?, ${NEW_COLUMNS.replace(/\w+/g, "?")}) RETURNING key`;
const MOVE_HEAD = `UPDATE threads SET (${MOVED_COLUMNS}) = (${MOVED_COLUMNS.replace(/\w+/g, "?")}) WHERE key = ?`;
const PUT_HEAD = `UPDATE threads SET (${CHANGED_COLUMNS}) = (${CHANGED_COLUMNS.replace(/\w+/g, "?")}) WHERE key = ?`;
const PUT_ROW = `INSERT INTO entries (thread, ${ENTRY_COLUMNS}) VALUES (?, ${ENTRY_COLUMNS.replace(/\w+/g, "?")})`;
const PUT_BIG = `
  INSERT INTO big_payloads (tenant, hash, payload) VALUES (?, ?, ?)
  ON CONFLICT (tenant, hash) DO UPDATE SET hash = excluded.hash RETURNING key`;

function statements(connection: SqliteConnection) {
  return {
    head: connection.prepare(FIND_HEAD),
    key: connection.prepare("SELECT key, origin FROM threads WHERE tenant = ? AND id = ?"),
    claim: connection.prepare(FIND_CLAIM),
    byId: connection.prepare(`SELECT ${ROW_COLUMNS} FROM entries e WHERE e.id = ? AND e.thread = ?`),
    addHead: connection.prepare(ADD_HEAD),
    moveHead: connection.prepare(MOVE_HEAD),
    putHead: connection.prepare(PUT_HEAD),
    putField: connection.prepare(PUT_FIELD),
    removeField: connection.prepare(REMOVE_FIELD),
    fields: connection.prepare(`
      SELECT name, value FROM thread_fields WHERE thread = (SELECT key FROM threads WHERE tenant = ? AND id = ?)`),
    putRow: connection.prepare(PUT_ROW),
    addUsage: connection.prepare(ADD_USAGE),
    lane: connection.prepare(`SELECT ${LANE_COLUMNS} FROM lanes WHERE thread = ? AND lane = ?`),
    lanes: connection.prepare(`SELECT ${LANE_COLUMNS} FROM lanes WHERE thread = ?`),
    putLane: connection.prepare(PUT_LANE),
    putBig: connection.prepare(PUT_BIG),
    putClaim: connection.prepare(
      `INSERT OR REPLACE INTO claims (tenant, thread, ${CLAIM_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
  };
}

/** Inserts a new thread without its rows, and returns its key. */
export function insertThread(
  connection: SqliteConnection,
  tenant: string,
  id: string,
  { head, lanes, fields }: ThreadStart,
): number {
  const key = Number(connection.prepare(ADD_HEAD).get(tenant, id, ...newValues(head))?.[0]);
  const putLane = connection.prepare(PUT_LANE);
  for (const lane of lanes) putLane.run(key, ...laneValues(lane));
  const putField = connection.prepare(PUT_FIELD);
  for (const { name, value } of fields) putField.run(key, tenant, name, value);
  return key;
}
