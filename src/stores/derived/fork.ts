import { endIn } from "../../agent/react/end.ts";
import { isAsk } from "../../agent/react/restore.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import { checkName } from "../../thread/names.ts";
import type { StoredRow, ThreadHead } from "../driver.ts";
import { CorruptionError, StoreError, threadNotFound } from "../errors.ts";
import { checkHead, infoOf, newHead, sealed } from "../format/head.ts";
import { readRow, tipAfter } from "../format/row.ts";
import { invalidOption } from "../options.ts";
import type { ForkOptions, ThreadInfo } from "../port.ts";
import type { StoreContext } from "./context.ts";
import { markOf, rowAt } from "./load.ts";
import { rowsOf } from "./read.ts";
import { steadily } from "./steadily.ts";

/** Copies the rows unchanged, so that equal hashes prove that both threads share this history. */
export async function fork(context: StoreContext, threadId: string, options: ForkOptions): Promise<ThreadInfo> {
  const { ports } = context;
  const { newId = ports.ids("thread") } = options;
  checkName("threadId", threadId);
  checkName("newId", newId);
  checkForkSeq(options.atSeq);
  return steadily(context, threadId, async (parent) => {
    if (parent === undefined) throw threadNotFound(threadId);
    const head = await headOfFork(context, threadId, newId, parent, options);
    if (!(await write(context, threadId, newId, options.atSeq, head))) throw exists(newId);
    context.wakeups.wake();
    return infoOf(newId, head);
  });
}

async function headOfFork(
  context: StoreContext,
  threadId: string,
  newId: string,
  parent: ThreadHead,
  { atSeq, metadata = {} }: ForkOptions,
): Promise<ThreadHead> {
  const { clock, sha256 } = context.ports;
  const { rev, metadata: inherited } = checkHead(threadId, parent, sha256);
  if (atSeq >= rev) throw beyond(threadId, atSeq, rev);
  const own = await statusAt(context, threadId, { atSeq, rev, status: inherited["status"] });
  // The keys keep their order: metadata is stored as text.
  const kept = Object.entries(inherited).flatMap(([key, value]): [string, JsonValue | undefined][] =>
    key !== "status" ? [[key, value]] : own === undefined ? [] : [[key, own]],
  );
  const merged = Object.freeze({
    ...Object.fromEntries(kept),
    ...metadata,
    parentThreadId: threadId,
    forkSeq: atSeq,
  });
  if (atSeq < 0) return newHead(newId, clock(), merged, sha256);
  const row = await rowAt(context, threadId, atSeq);
  const tip = tipAfter(threadId, row, await markOf(context, threadId, row), sha256);
  return sealed(newId, { ...tip, createdAt: clock(), updatedAt: row.at, metadata: merged }, sha256);
}

/** The statuses that agents write. Any other status is the caller's own; the fork inherits it. */
const OF_AGENTS: ReadonlySet<JsonValue | undefined> = new Set([
  "running",
  "waiting",
  "completed",
  "failed",
  "cancelled",
]);

interface Place {
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
  { atSeq, rev, status }: Place,
): Promise<JsonValue | undefined> {
  const isWhole = atSeq === rev - 1;
  if (!OF_AGENTS.has(status) || (isWhole && status !== "running")) return status;
  const kinds = ["ai_message", "note", "error"]; // what begins and ends requests
  const range = { from: 0, to: atSeq, kinds, reverse: true, limit: atSeq + 1 };
  for await (const row of rowsOf(context, threadId, range)) {
    const entry = readRow(threadId, row, context.ports.sha256);
    const end = endIn(entry.payload as JsonObject); // payloads are JSON
    if (end !== undefined) return end.status;
    if (isAsk(entry)) return undefined;
  }
  return undefined;
}

/** Returns false and writes nothing when the target exists. A fork at -1 has no rows, so it does not use `driver.copy`. */
function write(context: StoreContext, from: string, to: string, atSeq: number, head: ThreadHead): Promise<boolean> {
  const { driver } = context;
  if (atSeq < 0 || driver.copy === undefined) return copyRows(context, from, to, atSeq, head);
  return driver.copy(from, to, atSeq, head);
}

/** For drivers without `copy`. */
async function copyRows(
  context: StoreContext,
  from: string,
  to: string,
  atSeq: number,
  head: ThreadHead,
): Promise<boolean> {
  const rows: StoredRow[] = [];
  for await (const row of rowsOf(context, from, { from: 0, to: atSeq, limit: atSeq + 1 })) rows.push(row);
  if (rows.length !== atSeq + 1 || (rows.at(-1)?.hash ?? "") !== head.hash)
    throw new CorruptionError({ threadId: from, seq: rows.length, trouble: "it is missing" });
  return context.driver.transact(to, [], (state) =>
    state.head === undefined ? { result: true, head, rows } : { result: false },
  );
}

function checkForkSeq(atSeq: unknown): void {
  if (Number.isSafeInteger(atSeq) && Number(atSeq) >= -1) return;
  throw invalidOption("atSeq", "a whole number from 0, or -1 for a fork without entries");
}

function exists(threadId: string): StoreError {
  return new StoreError({
    code: "thread_exists",
    threadId,
    message: `There is already a thread ${threadId}. Choose another newId.`,
  });
}

function beyond(threadId: string, atSeq: number, rev: number): StoreError {
  const message = `Thread ${threadId} ends at seq ${rev - 1}; it cannot be forked at ${atSeq}. Use a smaller atSeq.`;
  return new StoreError({ code: "seq_out_of_range", threadId, message });
}
