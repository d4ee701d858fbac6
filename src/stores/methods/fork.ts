import { isAsk } from "../../agent/react/restore.ts";
import { readRequestEnd } from "../../agent/react/state.ts";
import { copyJsonObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import { checkOwner } from "../decide/append.ts";
import type { RemovalCheck, ThreadStart } from "../driver.ts";
import { ConflictError, CorruptionError, StoreError, threadNotFound, unsupported } from "../errors.ts";
import { checkOptions, checkSeq, invalidOption } from "../options.ts";
import type { Deletion, ForkOptions, ThreadInfo, ThreadStore } from "../port.ts";
import {
  ANY_TEXTS,
  checkHead,
  checkRow,
  firstChecked,
  newHead,
  readRow,
  sealHead,
  storeLane,
  threadInfo,
} from "../row-format.ts";
import type { HeadSums, StoredRow, ThreadHead } from "../stored-records.ts";
import { sumsBefore, sumsOf } from "../sums.ts";
import { changedFields } from "../thread-fields.ts";
import { purgeBlobs } from "./blobs.ts";
import { entriesOf, NOTHING, rowAt, rowsOf, type StoreContext, withConsistentHead } from "./context.ts";
import { lanesAfter } from "./lane-tips.ts";
import { namedForks } from "./list.ts";

/** `fork` and `delete`: new threads with the history of another, and the removal of whole threads. */
export function forkMethods(context: StoreContext): Pick<ThreadStore, "fork" | "delete"> {
  const { ports } = context;
  return {
    /** The fork has the same rows, so that equal hashes prove that both threads share this history. */
    async fork(threadId, options) {
      const copy = checkOptions(options, ["atSeq", "newId", "metadata", "owner", "signal"]);
      const metadata = copy.metadata && copyJsonObject(copy.metadata, "metadata");
      context.checkOpen();
      const { atSeq, newId = ports.ids("thread") } = copy;
      checkName("threadId", threadId);
      checkName("newId", newId);
      if (copy.owner !== undefined) checkName("owner", copy.owner);
      checkForkSeq(atSeq);
      const call = context.withSignal(copy.signal);
      return withConsistentHead(call, threadId, async (parent) => {
        if (parent === undefined) throw threadNotFound(threadId);
        const start = await startOfFork(call, threadId, newId, parent, { ...copy, metadata });
        if (!(await call.driver.fork(threadId, newId, atSeq, start))) return forkedBefore(call, threadId, newId, atSeq);
        context.wakeWatchers(newId);
        return threadInfo(newId, start.head);
      });
    },

    async delete(threadId, options = {}) {
      checkName("threadId", threadId);
      const { forks = "keep", expectedRev, signal } = checkOptions(options, ["forks", "expectedRev", "signal"]);
      if (forks !== "keep" && forks !== "delete") throw invalidOption("forks", '"keep" or "delete"');
      checkSeq("expectedRev", expectedRev);
      if (forks === "delete" && expectedRev !== undefined) throw invalidOption("expectedRev", "left out with forks");
      context.checkOpen();
      const call = context.withSignal(signal);
      const deletion = await (forks === "keep"
        ? deleteThread(call, threadId, expectedRev)
        : deleteTree(call, threadId));
      await purgeBlobs(call.driver, ports.keepBlobsMs);
      return deletion;
    },
  };
}

/** The fork that has the id, if it was made from the same entry: the call is repeated. */
async function forkedBefore(
  { driver, ports }: StoreContext,
  threadId: string,
  newId: string,
  atSeq: number,
): Promise<ThreadInfo> {
  const head = await driver.head(newId);
  if (head === undefined) throw threadExists(newId); // deleted meanwhile
  const { parentThreadId, forkSeq } = checkHead(newId, head, ports.sha256).metadata;
  if (parentThreadId !== threadId || forkSeq !== atSeq) throw threadExists(newId);
  return threadInfo(newId, head);
}

async function deleteThread(context: StoreContext, threadId: string, expectedRev?: number): Promise<Deletion | false> {
  const { driver, ports } = context;
  if (expectedRev !== undefined && driver.removeIf === undefined)
    throw unsupported("expectedRev of delete", "removeIf");
  const check: RemovalCheck = (head, hasCommands) => {
    if (head === undefined && !hasCommands) return; // there is nothing that could be lost
    const rev = head === undefined ? 0 : checkHead(threadId, head, ports.sha256).rev;
    if (rev !== expectedRev) throw new ConflictError(threadId, Number(expectedRev), rev);
    if (hasCommands) throw new ConflictError(threadId, rev, rev, "has commands that wait");
  };
  const keptFor = await (expectedRev === undefined ? driver.remove(threadId) : driver.removeIf?.(threadId, check));
  context.wakeWatchers(threadId, [threadId]); // its commands are gone too
  return keptFor !== undefined && { deleted: [threadId], keptFor };
}

/** Deletes the forks first, so that after a failure another call still finds the rest. */
async function deleteTree(context: StoreContext, threadId: string): Promise<Deletion | false> {
  const deleted: string[] = [];
  for (;;) {
    const before = deleted.length;
    for (const id of await forksOf(context, threadId))
      if ((await deleteThread(context, id)) !== false) deleted.push(id);
    if (deleted.length > before) continue; // there may be a fork that was made meanwhile
    const root = await deleteThread(context, threadId);
    return root !== false && { deleted: [threadId, ...deleted], keptFor: root.keptFor };
  }
}

/** All forks of a thread and of these, each before its parent. A fork that was restored is one by its metadata. */
async function forksOf(context: StoreContext, threadId: string): Promise<readonly string[]> {
  const { driver } = context;
  if ((await driver.head(threadId)) === undefined) return [];
  const found = new Set([threadId]);
  for (const id of found)
    for (const fork of [...(await driver.forks(id)), ...(await restoredForks(context, id))]) found.add(fork); // a Set iterates over what is added meanwhile
  return [...found].slice(1).reverse();
}

/** Metadata can name any thread, also one that has the id of a deleted one. So both must have the entry at the fork. */
async function restoredForks(context: StoreContext, threadId: string): Promise<readonly string[]> {
  const { driver, ports } = context;
  const forks: string[] = [];
  for (const id of await namedForks(context, threadId)) {
    const head = await driver.head(id);
    const { forkSeq: at } = head === undefined ? {} : checkHead(id, head, ports.sha256).metadata;
    if (typeof at !== "number" || !(at >= 0)) continue;
    const find = async (of: string) => (await driver.rows(of, { from: at, to: at, limit: 1 }))[0]?.id;
    const shared = await find(threadId);
    if (shared !== undefined && shared === (await find(id))) forks.push(id);
  }
  return forks;
}

async function startOfFork(
  context: StoreContext,
  threadId: string,
  newId: string,
  parent: ThreadHead,
  { atSeq, metadata = {}, owner }: ForkOptions,
): Promise<ThreadStart> {
  const { sha256 } = context.ports;
  const { rev, metadata: inherited } = checkHead(threadId, parent, sha256);
  checkOwner(threadId, parent, owner);
  if (atSeq >= rev) throw beyondEnd(threadId, atSeq, rev);
  const status = await statusAt(context, threadId, { atSeq, rev, status: inherited["status"] });
  // The keys keep their order: metadata is stored as text.
  const base = Object.entries(inherited).flatMap(([key, value]): [string, JsonValue | undefined][] =>
    key !== "status" ? [[key, value]] : status === undefined ? [] : [[key, status]],
  );
  const merged = Object.freeze({
    ...Object.fromEntries(base),
    ...metadata,
    parentThreadId: threadId,
    forkSeq: atSeq,
  });
  const now = await storeTime(context, newId);
  const facts = { createdAt: now, updatedAt: now, metadata: merged, owner: parent.owner ?? owner ?? null };
  const fields = changedFields({}, merged);
  if (atSeq < 0) return { head: newHead(newId, facts, sha256), lanes: [], fields };
  const row = await rowAt(context, threadId, atSeq);
  checkRow(threadId, row, sha256);
  const { active, tips } = await lanesAfter(context, { threadId, head: parent, row, next: [] }, () => "all");
  const tip = tips.get(active.active) ?? null;
  const since = Math.min(firstChecked(parent), atSeq + 1);
  const content = { rev: atSeq + 1, hash: row.hash, ...facts };
  const sums = await sumsAt(context, threadId, parent, atSeq);
  const head = sealHead(newId, { ...content, lanes: { ...active, since, tip, ...(sums && { sums }) } }, sha256);
  const lanes = [...tips].filter(([lane]) => lane !== active.active);
  return { head, lanes: lanes.map(([lane, tip]) => storeLane(newId, lane, tip, sha256)), fields };
}

/** A fork that leaves out more entries than this does not count them. */
const MAX_COUNTED = 32;

/** The sums of a fork: those of its parent, less the entries that it leaves out. */
async function sumsAt(
  context: StoreContext,
  threadId: string,
  parent: ThreadHead,
  atSeq: number,
): Promise<HeadSums | undefined> {
  const sums = sumsOf(parent);
  const [from, to] = [atSeq + 1, parent.rev - 1];
  if (sums === undefined || from > to) return sums;
  if (to - from >= MAX_COUNTED) return sumsBefore(sums, from, undefined);
  const later: StoredRow[] = [];
  try {
    for await (const row of rowsOf(context, threadId, { from, to, limit: MAX_COUNTED })) later.push(row);
    const isWhole = later.length > to - from && later.at(-1)?.hash === parent.hash; // another thread may have the id by now
    const entries = later.map((row) => readRow(threadId, row, context.ports.sha256, ANY_TEXTS));
    return sumsBefore(sums, from, isWhole ? entries : undefined);
  } catch (error) {
    if (!CorruptionError.isInstance(error)) throw error;
    return sumsBefore(sums, from, undefined); // a damaged entry must not keep the good ones from being forked
  }
}

/** The store's clock. It can be read only in a transaction. */
function storeTime({ driver }: StoreContext, threadId: string): Promise<number> {
  return driver.transact(threadId, NOTHING, ({ now }) => ({ result: now }));
}

/** The statuses that agents write. Any other status is the caller's own; the fork inherits it. */
const AGENT_STATUSES: ReadonlySet<JsonValue | undefined> = new Set([
  "running",
  "waiting",
  "completed",
  "failed",
  "cancelled",
]);

interface ForkPoint {
  readonly atSeq: number;
  readonly rev: number;
  readonly status: JsonValue | undefined;
}

/**
 * The status of a fork: how the last request in its entries ended. An open request gives no status, since no process runs
 * it in the fork. A copy of the whole thread keeps the status, unless it is `running`.
 */
async function statusAt(
  context: StoreContext,
  threadId: string,
  { atSeq, rev, status }: ForkPoint,
): Promise<JsonValue | undefined> {
  const isWhole = atSeq === rev - 1;
  if (!AGENT_STATUSES.has(status) || (isWhole && status !== "running")) return status;
  const kinds = ["ai_message", "note", "error"]; // the kinds that begin or end a request
  const range = { from: 0, to: atSeq, kinds, reverse: true, limit: atSeq + 1 };
  for await (const entry of entriesOf(context, threadId, range)) {
    const end = readRequestEnd(entry.payload as JsonObject); // every payload is a JSON object
    if (end !== undefined) return end.status;
    if (isAsk(entry)) return undefined;
  }
  return undefined;
}

function checkForkSeq(atSeq: unknown): void {
  if (Number.isSafeInteger(atSeq) && Number(atSeq) >= -1) return;
  throw invalidOption("atSeq", "a whole number from 0, or -1 for a fork without entries");
}

function threadExists(threadId: string): StoreError {
  return new StoreError({
    code: "thread_exists",
    threadId,
    message: `There is already another thread ${threadId}. Choose another newId.`,
  });
}

function beyondEnd(threadId: string, atSeq: number, rev: number): StoreError {
  const message = `Thread ${threadId} ends at seq ${rev - 1}; it cannot be forked at ${atSeq}. Use a smaller atSeq.`;
  return new StoreError({ code: "seq_out_of_range", threadId, message });
}
