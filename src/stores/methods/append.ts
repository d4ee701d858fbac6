import { draftEntries, isSameEntry } from "../../thread/entry.ts";
import { copyJsonObject } from "../../thread/json.ts";
import { checkName } from "../../thread/names.ts";
import { systemPorts } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import { decideAppend, lanesNamedBy } from "../decide/append.ts";
import { NO_COMMANDS } from "../decide/inbox.ts";
import type { ThreadHead } from "../driver.ts";
import { EntryIdReuseError, repeatedByOption, StoreError } from "../errors.ts";
import { checkOptions, checkSeq } from "../options.ts";
import type { ThreadStore } from "../port.ts";
import { checkHead, type EncodedDraft, encodeDraft, newHead, readRow } from "../row-format.ts";
import { withBranches } from "./branch-origins.ts";
import { rowsOf, type StoreContext } from "./context.ts";
import { inboxRequest, wantedInboxes } from "./inbox.ts";

/** `append` and `save`: writing entries. */
export function appendMethods(context: StoreContext): Pick<ThreadStore, "append" | "save"> {
  const { ports } = context;
  return {
    async append(threadId, entries, options = {}) {
      const copy = checkOptions(options, ["expectedRev", "epoch", "metadata", "create", "consumes", "posts", "signal"]);
      checkName("threadId", threadId);
      checkSeq("expectedRev", copy.expectedRev);
      checkSeq("epoch", copy.epoch);
      const metadata = copy.metadata && copyJsonObject(copy.metadata, "metadata");
      const drafts = draftEntries(entries, ports);
      const inbox = inboxRequest(threadId, copy, ports.maxEntryChars);
      context.checkOpen();
      const call = context.withSignal(copy.signal);
      if (drafts.length === 0 && Object.keys(metadata ?? {}).length > 0) throw metadataWithoutEntries(threadId);
      const batch = drafts.map((draft) => encodeDraft(draft, context.salt(), ports.sha256));
      checkBatch(threadId, batch, ports.maxEntryChars);
      const request = { threadId, batch, options: { ...copy, metadata }, inbox, metadata: {} };
      // Ids of the default generator are never equal, so they need no lookup.
      const canRepeat = ports.ids !== systemPorts.ids;
      const ids = batch.flatMap(({ draft }) => (draft.hasCallerId || canRepeat ? draft.id : []));
      const inboxes = wantedInboxes(
        inbox.posts,
        inbox.consumes.map(({ id }) => ({ threadId, id })),
      );
      const wanted = { ids, lanes: lanesNamedBy(batch) };
      const result = await withBranches(call, request, (branches) =>
        call.driver.transact(
          threadId,
          wanted,
          (state) => decideAppend({ ...request, branches }, state, ports),
          inboxes,
        ),
      );
      context.wakeWatchers(threadId);
      return result;
    },

    async save(thread, options = {}) {
      const call = context.forCall(options);
      if (!Thread.isThread(thread)) throw notAThread();
      const head = await call.driver.head(thread.id);
      const stored = head === undefined ? 0 : checkHead(thread.id, head, ports.sha256).rev;
      if (thread.firstSeq > 0 && thread.firstSeq >= stored) throw entriesNotLoaded(thread, stored);
      await checkHistory(call, thread, stored);
      if (head !== undefined && stored >= thread.rev) return;
      await writeMissing(call, thread, head);
      context.wakeWatchers(thread.id);
    },
  };
}

function checkBatch(threadId: string, batch: readonly EncodedDraft[], maxEntryChars: number): void {
  const ids = new Set<string>();
  for (const { draft, payload } of batch) {
    if (ids.has(draft.id)) {
      if (!draft.hasCallerId) throw repeatedByOption(threadId, [draft.id]);
      throw new EntryIdReuseError(threadId, [draft.id], "twice in one batch");
    }
    ids.add(draft.id);
    if (payload.length > maxEntryChars) throw tooLarge(threadId, draft.id, payload.length, maxEntryChars);
  }
}

/** The entries that both histories have must be equal. */
async function checkHistory(context: StoreContext, thread: Thread, stored: number): Promise<void> {
  const to = Math.min(stored, thread.rev) - 1;
  for await (const row of rowsOf(context, thread.id, { from: thread.firstSeq, to, limit: to + 1 })) {
    const entry = thread.at(row.seq);
    const known = readRow(thread.id, row, context.ports.sha256);
    if (entry === undefined || !isSameEntry(known, { ...entry, v: entry.v, hasCallerAt: true }))
      throw diverged(thread.id, row.seq);
  }
}

async function writeMissing(context: StoreContext, thread: Thread, head: ThreadHead | undefined): Promise<void> {
  const { driver, ports } = context;
  const { id, createdAt, metadata } = thread;
  const missing = thread.slice(head?.rev ?? 0, thread.lastSeq);
  const batch = draftEntries(missing, ports).map((draft) => encodeDraft(draft, context.salt(), ports.sha256));
  checkBatch(id, batch, ports.maxEntryChars);
  const options = { expectedRev: head?.rev ?? 0 };
  const request = { threadId: id, batch, options, inbox: NO_COMMANDS, createdAt, metadata };
  const wanted = { ids: batch.map(({ draft }) => draft.id), lanes: lanesNamedBy(batch) };
  if (batch.length > 0) {
    await withBranches(context, request, (branches) =>
      driver.transact(id, wanted, (state) => decideAppend({ ...request, branches }, state, ports)),
    );
    return;
  }
  await driver.transact(id, wanted, ({ head, now }) => ({
    result: undefined,
    ...(head === undefined && { head: newHead(id, { createdAt, updatedAt: now, metadata }, ports.sha256) }),
  }));
}

/** The head is written only together with entries, so metadata alone would be lost. */
function metadataWithoutEntries(threadId: string): StoreError {
  const message =
    "Metadata is written only together with entries, and this append has none. Pass the metadata with the next entry.";
  return new StoreError({ code: "metadata_without_entries", threadId, message });
}

function tooLarge(threadId: string, entryId: string, size: number, limit: number): StoreError {
  const message = `Entry ${entryId} has a payload of ${size} characters; at most ${limit} are allowed. Store large content elsewhere and append a reference to it.`;
  return new StoreError({ code: "too_large", threadId, message });
}

function notAThread(): StoreError {
  return new StoreError({
    code: "not_a_thread",
    message: "save() takes a Thread, for example one that load() returned.",
  });
}

function diverged(threadId: string, seq: number): StoreError {
  const message = `The stored thread ${threadId} has another entry at seq ${seq}. Save this history under another id, for example as a fork.`;
  return new StoreError({ code: "thread_diverged", threadId, message });
}

function entriesNotLoaded({ id, firstSeq }: Thread, stored: number): StoreError {
  const message = `The store has ${stored} entries of thread ${id}, but this one is loaded only from seq ${firstSeq}. Load the whole thread first.`;
  return new StoreError({ code: "thread_diverged", threadId: id, message });
}
