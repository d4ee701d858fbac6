import { draftEntries, isSameEntry } from "../../thread/entry.ts";
import { Thread } from "../../thread/thread.ts";
import { decideAppend } from "../decide/append.ts";
import type { ThreadHead } from "../driver.ts";
import { StoreError } from "../errors.ts";
import { checkHead, newHead } from "../format/head.ts";
import { prepare, readRow } from "../format/row.ts";
import { checkBatch } from "./append.ts";
import type { StoreContext } from "./context.ts";
import { rowsOf } from "./read.ts";

export async function save(context: StoreContext, thread: Thread): Promise<void> {
  if (!Thread.isThread(thread))
    throw new StoreError({
      code: "not_a_thread",
      message: "save() takes a Thread, for example one that load() returned.",
    });
  const { driver } = context;
  const head = await driver.head(thread.id);
  const stored = head === undefined ? 0 : checkHead(thread.id, head, context.ports.sha256).rev;
  if (thread.firstSeq > 0 && thread.firstSeq >= stored) throw gap(thread, stored);
  await checkHistory(context, thread, stored);
  if (head !== undefined && stored >= thread.rev) return;
  await write(context, thread, head);
  context.wakeups.wake();
}

/** The entries that both histories have must be equal. */
async function checkHistory(context: StoreContext, thread: Thread, stored: number): Promise<void> {
  const to = Math.min(stored, thread.rev) - 1;
  for await (const row of rowsOf(context, thread.id, { from: thread.firstSeq, to, limit: to + 1 })) {
    const entry = thread.at(row.seq);
    const known = readRow(thread.id, row, context.ports.sha256);
    if (entry === undefined || !isSameEntry(known, { ...entry, v: entry.v, atGiven: true }))
      throw diverged(thread.id, row.seq);
  }
}

async function write(context: StoreContext, thread: Thread, head: ThreadHead | undefined): Promise<void> {
  const { driver, ports } = context;
  const { id, createdAt, metadata } = thread;
  const missing = thread.slice(head?.rev ?? 0, thread.lastSeq);
  const batch = draftEntries(missing, ports).map((draft) => prepare(draft, context.salt(), ports.sha256));
  checkBatch(id, batch, ports.maxEntryChars);
  const request = { threadId: id, batch, options: { expectedRev: head?.rev ?? 0 }, createdAt, metadata };
  const ids = batch.map(({ draft }) => draft.id);
  await driver.transact(id, ids, (state) => {
    if (batch.length > 0) return decideAppend(request, state, ports.sha256);
    return {
      result: undefined,
      ...(state.head === undefined && { head: newHead(id, createdAt, metadata, ports.sha256) }),
    };
  });
}

function diverged(threadId: string, seq: number): StoreError {
  const message = `The stored thread ${threadId} has another entry at seq ${seq}. Save this history under another id, for example as a fork.`;
  return new StoreError({ code: "thread_diverged", threadId, message });
}

function gap({ id, firstSeq }: Thread, stored: number): StoreError {
  const message = `The store has ${stored} entries of thread ${id}, but this one is loaded only from seq ${firstSeq}. Load the whole thread first.`;
  return new StoreError({ code: "thread_diverged", threadId: id, message });
}
