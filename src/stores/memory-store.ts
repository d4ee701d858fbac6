import { checkName } from "../thread/options.ts";
import { type Clock, systemRandom } from "../thread/ports.ts";
import { LocalBuses } from "./bus.ts";
import { defineStore } from "./define-store.ts";
import type {
  Change,
  DatabaseDriver,
  Decision,
  InboxQuery,
  InboxState,
  RecordSpace,
  StateQuery,
  StoreDriver,
  ThreadState,
} from "./driver.ts";
import { CorruptionError, threadNotFound } from "./errors.ts";
import { MemoryBlobUses } from "./memory-blobs.ts";
import { takeThreads } from "./memory-runnable.ts";
import { MemoryThread } from "./memory-threads.ts";
import { checkOptions, completePorts, feedPosition, STORE_OPTIONS, type StoreOptions } from "./options.ts";
import type { ThreadStore } from "./port.ts";
import type {
  BlobUse,
  ClaimRecord,
  InboxCommand,
  LeaseRecord,
  RunnableRow,
  StoredCommand,
  StoredLane,
  StoredWaiting,
  ThreadHead,
} from "./stored-records.ts";
import { addSums, type CountedUsage, type UsageSum } from "./sums.ts";

/** The tenant and the database of a store in memory. */
export interface MemoryStoreOptions extends StoreOptions {
  /** Part of every key, so that a store has no access to other tenants. Default "default". */
  readonly tenant?: string | undefined;
  /** A database to share between several stores, for example of several tenants. Default: a new one. */
  readonly database?: MemoryDatabase | undefined;
}

/**
 * A store in memory, empty when the process starts. Otherwise it behaves as the other stores do, so use it in tests.
 *
 * @example
 * const store = memoryStore();
 * await store.append("thread_1", { kind: "note" });
 */
export function memoryStore(options: MemoryStoreOptions = {}): ThreadStore {
  const {
    tenant = "default",
    database = new MemoryDatabase(),
    ...others
  } = checkOptions(options, ["tenant", "database", ...STORE_OPTIONS]);
  checkName("tenant", tenant);
  const ports = completePorts(others);
  return defineStore(memoryDriver(database.tenant(tenant), ports.clock), ports);
}

interface ThreadUsage extends CountedUsage {
  /** Empty after the thread was deleted. */
  readonly threadId: string;
}

interface MemoryInbox {
  readonly commands: Map<string, StoredCommand>;
  /** In the order of their positions. */
  readonly pending: Map<string, StoredCommand>;
  lastPosition: number;
}

type MemoryChange = LogItem<Change> & { readonly thread: MemoryThread };
type LogItem<One> = One extends Change ? Omit<One, "cursor"> : never;

/** The data of one tenant in memory. */
export class MemoryTenant {
  readonly threads = new Map<string, MemoryThread>();
  readonly claims = new Map<string, ClaimRecord>();
  readonly records = new Map<string, string | Uint8Array>();
  readonly blobUses = new MemoryBlobUses();
  readonly inboxes = new Map<string, MemoryInbox>();
  /** The commands with an outcome, in the order of the outcomes. */
  readonly settled: InboxCommand[] = [];
  /** All changes in commit order, including those of removed threads, so that feed cursors stay valid. */
  readonly log: MemoryChange[] = [];
  readonly feedEpoch = Array.from(systemRandom(8), (byte) => byte.toString(16).padStart(2, "0")).join("");
  readonly runnable: Map<string, RunnableRow> = new Map();
  readonly bus = new LocalBuses().of("");
  readonly waiting: Map<string, readonly StoredWaiting[]> = new Map();
  /** By owner, thread, day and model. */
  readonly usage = new Map<string, ThreadUsage>();
  /** By node. All tenants of a database share them. */
  readonly leases: Map<string, LeaseRecord>;
  /** By name and node. All tenants of a database share them. */
  readonly counters: MemoryDatabase["counters"];
  readonly name: string;

  constructor(
    { leases, counters }: Pick<MemoryDatabase, "leases" | "counters"> = new MemoryDatabase(),
    name = "default",
  ) {
    this.leases = leases;
    this.counters = counters;
    this.name = name;
  }
}

/** Keeps threads in the memory of this process. Pass one database to several stores to share it. */
export class MemoryDatabase {
  readonly tenants: Map<string, MemoryTenant> = new Map();
  readonly leases: Map<string, LeaseRecord> = new Map();
  readonly counters: Map<string, Map<string, number>> = new Map();

  tenant(name: string): MemoryTenant {
    const tenant = this.tenants.get(name) ?? new MemoryTenant(this, name);
    this.tenants.set(name, tenant);
    return tenant;
  }
}

/** Changes one counter of all: amounts by node, by name. */
export function changeCounters(
  { leases, counters }: Pick<MemoryDatabase, "leases" | "counters">,
  clock: Clock,
): Required<DatabaseDriver>["counter"] {
  return async (name, decide) => {
    const living = [...leases.values()].filter(({ ended, until }) => !ended && until > clock());
    const nodes = living.map(({ node, incarnation }) => {
      return { node, incarnation, amount: counters.get(name)?.get(node) ?? 0 };
    });
    const { result, written } = decide({ nodes });
    const kept = new Map(nodes.map(({ node, amount }) => [node, amount]));
    if (written !== undefined) counters.set(name, kept.set(written.node, written.amount));
    return result;
  };
}

/** Changes one lease of all. */
export function changeLeases(leases: Map<string, LeaseRecord>, clock: Clock): DatabaseDriver["lease"] {
  return async (node, decide) => {
    const { result, lease, purgeBefore } = decide({ lease: leases.get(node), now: clock() });
    if (lease !== undefined) {
      leases.delete(node);
      leases.set(node, lease); // behind those that were renewed before
    }
    if (purgeBefore === undefined) return result;
    for (const [name, { until }] of leases) {
      if (until >= purgeBefore) break;
      leases.delete(name);
    }
    return result;
  };
}

/** The reference implementation of a driver: synchronous, in plain maps. */
export function memoryDriver(tenant: MemoryTenant, clock: Clock): StoreDriver {
  const { threads, claims, records, blobUses, inboxes, settled, log, usage } = tenant;

  function stateOf(
    threadId: string,
    { ids, lanes, leases, waiting }: StateQuery,
    wanted: readonly InboxQuery[],
  ): ThreadState {
    return {
      head: threads.get(threadId)?.head,
      claim: claims.get(threadId),
      leases: leases && leasesOf(threadId, leases),
      waiting: waiting ? (tenant.waiting.get(threadId) ?? []) : undefined,
      known: threads.get(threadId)?.rowsById(ids) ?? [],
      lanes: lanesOf(threadId, lanes),
      inboxes: new Map(wanted.map((inbox) => [inbox.threadId, inboxState(inbox)])),
      now: clock(),
    };
  }

  function leasesOf(threadId: string, nodes: readonly string[]): readonly LeaseRecord[] {
    const claimed = claims.get(threadId)?.lease?.node;
    const wanted = new Set(claimed === undefined ? nodes : [...nodes, claimed]);
    return [...wanted].flatMap((node) => tenant.leases.get(node) ?? []);
  }

  function lanesOf(threadId: string, names: readonly string[]): readonly StoredLane[] {
    return names.flatMap((name) => threads.get(threadId)?.lanes.get(name) ?? []);
  }

  function inboxState({ threadId, commandIds, entryIds, runnable }: InboxQuery): InboxState {
    const inbox = inboxes.get(threadId);
    return {
      ...(runnable !== undefined && { runnable: tenant.runnable.get(threadId) ?? null }),
      ...(runnable === "pending" && { pending: [...(inbox?.pending.values() ?? [])] }),
      commands: commandIds.flatMap((id) => inbox?.commands.get(id) ?? []),
      known: threads.get(threadId)?.rowsById(entryIds) ?? [],
      lastPosition: inbox?.lastPosition ?? 0,
    };
  }

  function putCommand({ threadId, command }: InboxCommand): void {
    const inbox = inboxes.get(threadId) ?? { commands: new Map(), pending: new Map(), lastPosition: 0 };
    inboxes.set(threadId, inbox);
    inbox.commands.set(command.id, command);
    inbox.lastPosition = Math.max(inbox.lastPosition, command.position);
    if (command.outcome === null) {
      inbox.pending.set(command.id, command);
    } else {
      inbox.pending.delete(command.id);
      settled.push({ threadId, command });
    }
  }

  /** Outcomes of deleted threads are in the list too. */
  function purge(before: number): void {
    const end = settled.findIndex(({ command }) => command.doneAt === null || command.doneAt >= before);
    for (const { threadId, command } of settled.splice(0, end < 0 ? settled.length : end)) {
      const inbox = inboxes.get(threadId);
      if (inbox?.commands.get(command.id) !== command) continue;
      inbox.commands.delete(command.id);
      if (inbox.commands.size === 0) inboxes.delete(threadId);
    }
  }

  function putBlob(threadId: string, { hash, content, purpose }: BlobUse, isThread: boolean): void {
    const key = recordKey("blob", hash);
    const isStored = records.has(key);
    blobUses.add(threadId, hash, { isStored, endedAt: isThread ? null : clock(), isPut: purpose === "put" });
    if (!isStored) records.set(key, copyOf(content));
  }

  function count({ owner, threadId, sum }: ThreadUsage): void {
    const key = JSON.stringify([owner, threadId, sum.day, sum.model]);
    usage.set(key, { owner, threadId, sum: addSums(usage.get(key)?.sum, sum) });
  }

  function apply(threadId: string, decision: Decision<unknown>): void {
    const { head, rows = [], lanes = [], claim, leases = [], runnable = [], commands = [], purgeBefore } = decision;
    const { blobs = [] } = decision;
    if (claim !== undefined) claims.set(threadId, claim);
    for (const lease of leases) tenant.leases.set(lease.node, lease);
    for (const { threadId: of, row } of runnable) tenant.runnable.set(of, row);
    if (decision.waiting !== undefined) tenant.waiting.set(threadId, decision.waiting);
    if (purgeBefore !== undefined) purge(purgeBefore);
    for (const command of commands) putCommand(command);
    for (const blob of blobs) putBlob(threadId, blob, head !== undefined || threads.has(threadId));
    for (const counted of decision.usage ?? []) count({ ...counted, threadId });
    if (head === undefined) return;
    const thread = threads.get(threadId) ?? new MemoryThread(threadId, head);
    threads.set(threadId, thread);
    thread.head = head;
    for (const row of rows) {
      thread.push(row);
      log.push({ type: "entry", threadId, row, thread });
    }
    for (const lane of lanes) thread.lanes.set(lane.lane, lane);
  }

  async function remove(threadId: string): Promise<readonly string[] | undefined> {
    inboxes.delete(threadId);
    tenant.runnable.delete(threadId);
    for (const [key, counted] of usage) {
      if (counted.threadId !== threadId) continue;
      usage.delete(key);
      count({ ...counted, threadId: "" });
    }
    tenant.waiting.delete(threadId);
    blobUses.release(threadId, clock());
    const thread = threads.get(threadId);
    if (thread === undefined) return undefined;
    threads.delete(threadId);
    log.push({ type: "deleted", threadId, thread });
    return thread.remove().map(({ id }) => id);
  }

  return {
    scheduling: true,
    bus: tenant.bus,

    async transact(threadId, wanted, decide, wantedInboxes = []) {
      const decision = decide(stateOf(threadId, wanted, wantedInboxes));
      apply(threadId, decision);
      return decision.result;
    },

    lease: changeLeases(tenant.leases, clock),
    counter: changeCounters(tenant, clock),
    take: takeThreads({ tenants: new Map([[tenant.name, tenant]]), leases: tenant.leases }, clock),

    async pending(threadId, after, limit) {
      const pending = [...(inboxes.get(threadId)?.pending.values() ?? [])];
      return pending.filter(({ position }) => position > after).slice(0, limit);
    },

    async commands(keys) {
      return keys.flatMap(({ threadId, id }) => {
        const command = inboxes.get(threadId)?.commands.get(id);
        return command === undefined ? [] : [{ threadId, command }];
      });
    },

    async head(threadId) {
      return threads.get(threadId)?.head;
    },

    async lanes(threadId, names) {
      return names === undefined ? [...(threads.get(threadId)?.lanes.values() ?? [])] : lanesOf(threadId, names);
    },

    async rows(threadId, range) {
      return threads.get(threadId)?.read(range) ?? [];
    },

    async changes(after, limit): Promise<readonly Change[]> {
      const start = after === undefined ? 0 : feedPosition(after) + 1;
      const found: Change[] = [];
      for (let index = start; index < log.length && found.length < limit; index++) {
        const logged = log[index];
        if (logged === undefined || !isStored(logged)) continue;
        const { thread: _thread, ...change } = logged;
        found.push({ ...change, cursor: String(index) });
      }
      return found;
    },

    async feedEpoch() {
      return { epoch: tenant.feedEpoch };
    },

    async changedThreads(after, followed) {
      const start = after === undefined ? log.length : Number(after);
      const threadIds = log.slice(start).map(({ threadId }) => threadId);
      const postedIds = followed?.filter((threadId) => (inboxes.get(threadId)?.pending.size ?? 0) > 0);
      // The commands of a deleted thread are gone.
      return { threadIds, postedIds: postedIds?.concat(threadIds), position: String(log.length) };
    },

    async heads(afterId, limit) {
      const ids = [...threads.keys()].filter((id) => afterId === undefined || id > afterId).sort();
      return ids.slice(0, limit).flatMap((id) => withHead(id, threads.get(id)?.head));
    },

    async fork(from, to, atSeq, { head, lanes }) {
      if (threads.has(to)) return false;
      const parent = threads.get(from);
      if (parent === undefined) throw threadNotFound(from);
      if (atSeq >= 0 && parent.rowAt(atSeq)?.hash !== head.hash)
        throw new CorruptionError({ threadId: from, seq: atSeq, trouble: "it is missing" });
      const thread = parent.fork(to, atSeq, head);
      for (const lane of lanes) thread.lanes.set(lane.lane, lane);
      threads.set(to, thread);
      blobUses.copy(from, to, parent.referencesAfter(atSeq));
      log.push({ type: "forked", threadId: to, from, forkSeq: atSeq, thread });
      return true;
    },

    async forks(threadId) {
      return (threads.get(threadId)?.allForks() ?? []).map(({ id }) => id);
    },

    remove,

    async removeIf(threadId, check) {
      check(threads.get(threadId)?.head, (inboxes.get(threadId)?.pending.size ?? 0) > 0);
      return remove(threadId);
    },

    async waiting({ kind, after, limit }) {
      return [...tenant.waiting]
        .flatMap(([threadId, calls]) => calls.map((call) => ({ threadId, call })))
        .filter(({ call }) => kind === undefined || call.kind === kind)
        .sort(compareWaiting)
        .filter((found) => after === undefined || compareWaiting(found, { threadId: after.threadId, call: after }) > 0)
        .slice(0, limit);
    },

    async blobs(hashes) {
      return hashes.flatMap((hash) => {
        const content = records.get(recordKey("blob", hash));
        return content === undefined ? [] : { hash, content: copyOf(content) };
      });
    },

    async purgeBlobs(graceMs) {
      const now = clock();
      const unused = blobUses.purge(now - graceMs, now, (threadId) => threads.has(threadId));
      for (const hash of unused) records.delete(recordKey("blob", hash));
      return unused.length > 0;
    },

    async usage({ owner, threadId, from, to }) {
      const sums = new Map<string, UsageSum>();
      for (const { sum, ...counted } of usage.values()) {
        if (sum.day < from || sum.day > to || (owner ?? counted.owner) !== counted.owner) continue;
        if ((threadId ?? counted.threadId) !== counted.threadId) continue;
        const key = JSON.stringify([sum.day, sum.model]);
        sums.set(key, addSums(sums.get(key), sum));
      }
      return [...sums.values()];
    },

    async getRecord(space, key) {
      return records.get(recordKey(space, key));
    },

    async putRecord(space, key, value) {
      records.set(recordKey(space, key), copyOf(value));
      if (space === "blob") blobUses.keep(key);
    },

    async deleteRecord(space, key) {
      return records.delete(recordKey(space, key));
    },

    async close() {},
  };

  function isStored({ type, threadId, thread }: MemoryChange): boolean {
    return type === "deleted" || threads.get(threadId) === thread;
  }
}

function withHead(id: string, head: ThreadHead | undefined): { id: string; head: ThreadHead }[] {
  return head === undefined ? [] : [{ id, head }];
}

function copyOf(content: string | Uint8Array): string | Uint8Array {
  return typeof content === "string" ? content : content.slice();
}

function recordKey(space: RecordSpace, key: string): string {
  return `${space}/${key}`;
}

interface WaitingPlace {
  readonly threadId: string;
  readonly call: Pick<StoredWaiting, "since" | "callId">;
}

function compareWaiting(a: WaitingPlace, b: WaitingPlace): number {
  if (a.call.since !== b.call.since) return a.call.since - b.call.since;
  if (a.threadId !== b.threadId) return a.threadId < b.threadId ? -1 : 1;
  return a.call.callId < b.call.callId ? -1 : a.call.callId === b.call.callId ? 0 : 1;
}
