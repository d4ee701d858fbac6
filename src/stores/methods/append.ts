import { draftEntries, draftEntry, draftNewEntry, isSameEntry } from "../../thread/entry.ts";
import { copyJsonObject, readSafely } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import { systemPorts } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import { type AppendRequest, BatchRows, type BranchOrigins, decideAppend, lanesNamedBy } from "../decide/append.ts";
import { NO_COMMANDS } from "../decide/inbox.ts";
import type { Decision, InboxQuery, StateQuery, StoreDriver, ThreadState } from "../driver.ts";
import { EntryIdReuseError, repeatedByOption, StoreError, unsupported } from "../errors.ts";
import { checkOptions, checkRowSize, checkSeq, type StorePorts } from "../options.ts";
import type { AppendResult, ThreadStore } from "../port.ts";
import { checkHead, encodeDraft, type NewDraft, newHead } from "../row-format.ts";
import type { ThreadHead } from "../stored-records.ts";
import { changedFields } from "../thread-fields.ts";
import { checkKeepsBlobs } from "./blobs.ts";
import { withBranches } from "./branch-origins.ts";
import { entriesOf, NOTHING, nextTurn, type StoreContext } from "./context.ts";
import { checkNext, inboxRequest, wantedInboxes } from "./inbox.ts";
import { draftWaiting, scheduleOfSaved } from "./waiting.ts";

/** `append` and `save`: writing entries. */
export function appendMethods(context: StoreContext): Pick<ThreadStore, "append" | "save"> {
  const { ports } = context;
  return {
    async append(threadId, entries, options = {}) {
      const copy = checkOptions(options, OPTIONS);
      checkName("threadId", threadId);
      checkSeq("expectedRev", copy.expectedRev);
      checkSeq("epoch", copy.epoch);
      if (copy.owner !== undefined) checkName("owner", copy.owner);
      const metadata = copy.metadata && copyJsonObject(copy.metadata, "metadata");
      const large = copyLargeBatch(entries);
      const drafts = large === undefined ? draftEntries(entries, ports) : [];
      const inbox = inboxRequest(threadId, copy, ports.maxEntryChars);
      const next = copy.next && checkNext(copy.next);
      const waiting = copy.waiting && draftWaiting(copy.waiting, ports.maxEntryChars);
      context.checkOpen();
      const call = context.withSignal(copy.signal);
      const content = { threadId, options: { ...copy, metadata }, inbox, next, waiting, metadata: {} };
      checkScheduling(content, call.driver);
      if (large !== undefined) {
        const result = await context.writeOrder.run(threadId, () => appendLarge(call, content, large));
        context.wakeWatchers(threadId);
        return result;
      }
      const batch = drafts.map((draft) => encodeDraft(draft, context.salt(), ports.sha256));
      checkBatch(context, threadId, batch);
      const before = context.writeOrder.before(threadId);
      if (before !== undefined) {
        await before;
        context.checkOpen();
      }
      const request = { ...content, batch };
      const wanted = { ids: idsThatMayRepeat(batch, ports), lanes: lanesNamedBy(batch), ...waitingOf(content) };
      const inboxes = inboxesOf(content, call.driver);
      const result = await withBranches(call, request, (branches) =>
        call.driver.transact(
          threadId,
          wanted,
          (state) => decideAppend(branches === undefined ? request : { ...request, branches }, state, ports),
          inboxes,
        ),
      );
      const posted = new Set(inbox.posts.map(({ threadId: to }) => to));
      context.wakeWatchers(threadId, [...posted]);
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

const OPTIONS = [
  "expectedRev",
  "epoch",
  "metadata",
  "owner",
  "create",
  "consumes",
  "posts",
  "next",
  "waiting",
  "signal",
] as const;

/** More entries are prepared in several turns of the event loop. */
const LARGE_BATCH = 1000;

/** The list of a large batch, so that the caller may change its own. */
function copyLargeBatch(entries: unknown): readonly unknown[] | undefined {
  return readSafely("entry", "invalid_entry", () =>
    Array.isArray(entries) && entries.length > LARGE_BATCH ? Array.from<unknown>(entries) : undefined,
  );
}

/** How long one turn of the event loop prepares entries. */
const TURN_MS = 8;

/** Lets the event loop turn when this code has used it for some time. */
class Turns {
  #since = performance.now();

  async next(): Promise<void> {
    if (performance.now() - this.#since < TURN_MS) return;
    await nextTurn();
    this.#since = performance.now();
  }
}

/** How often the rows are made again when another process has written to the thread meanwhile. */
const MAX_TRIES = 3;
/** Ids that one transaction looks up. */
const IDS_PER_LOOKUP = 200;
/** How many entries are prepared between two checks of the time. */
const ENTRIES_PER_LOOK = 20;

type AppendContent = Omit<AppendRequest, "batch" | "made">;

/**
 * Appends a large batch in one transaction. Before that, it makes the rows in slices, for the head that the thread has then.
 * The transaction uses them if the head has not changed.
 */
async function appendLarge(
  context: StoreContext,
  content: AppendContent,
  entries: readonly unknown[],
): Promise<AppendResult> {
  const { driver, ports } = context;
  const { threadId } = content;
  const turns = new Turns();
  const batch: NewDraft[] = [];
  const known = new Set<string>();
  for (const [index, input] of entries.entries()) {
    const draft = (content.isImport ? draftEntry : draftNewEntry)(input, `entries[${index}]`, ports);
    const prepared = encodeDraft(draft, context.salt(), ports.sha256);
    checkDraft(context, threadId, prepared, known);
    batch.push(prepared);
    if (index % ENTRIES_PER_LOOK === 0) await turns.next();
  }
  await nextTurn();
  if (batch.some(({ blobs }) => blobs.length > 0)) checkKeepsBlobs(driver);
  context.checkOpen();
  const request = { ...content, batch };
  const ids = idsThatMayRepeat(batch, ports);
  const lanes = lanesNamedBy(batch);
  const inboxes = inboxesOf(content, driver);
  return withBranches(context, request, async (branches) => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const head = await driver.head(threadId);
      if (head !== undefined && (await hasAny(context, threadId, ids))) break;
      const made = await makeRows(context, request, head, lanes, branches);
      const decide = (state: ThreadState): Decision<AppendResult | undefined> =>
        made.fits(state.head) ? decideAppend({ ...request, branches, made }, state, ports) : { result: undefined };
      const result = await driver.transact(threadId, { ...NOTHING, ...waitingOf(content) }, decide, inboxes);
      if (result !== undefined || branches !== undefined) return result; // undefined: origins are looked up again
    }
    const decide = (state: ThreadState) => decideAppend({ ...request, branches }, state, ports);
    return driver.transact(threadId, { ids, lanes, ...waitingOf(content) }, decide, inboxes);
  });
}

async function hasAny({ driver }: StoreContext, threadId: string, ids: readonly string[]): Promise<boolean> {
  const turns = new Turns();
  for (let from = 0; from < ids.length; from += IDS_PER_LOOKUP) {
    const wanted = { ids: ids.slice(from, from + IDS_PER_LOOKUP), lanes: [] };
    if (await driver.transact(threadId, wanted, ({ known }) => ({ result: known.length > 0 }))) return true;
    await turns.next();
  }
  return false;
}

async function makeRows(
  { driver, ports: { sha256 } }: StoreContext,
  { threadId, batch }: AppendRequest,
  head: ThreadHead | undefined,
  lanes: readonly string[],
  branches: BranchOrigins | undefined,
): Promise<BatchRows> {
  const stored = head === undefined || lanes.length === 0 ? [] : await driver.lanes(threadId, lanes);
  const turns = new Turns();
  const made = new BatchRows(threadId, head && checkHead(threadId, head, sha256), stored, sha256, branches);
  for (const [index, prepared] of batch.entries()) {
    made.push(prepared);
    if (index % ENTRIES_PER_LOOK === 0) await turns.next();
  }
  return made;
}

/** Ids of the default generator are never equal, so they need no lookup. */
function idsThatMayRepeat(batch: readonly NewDraft[], { ids }: StorePorts): readonly string[] {
  const canRepeat = ids !== systemPorts.ids;
  return batch.flatMap(({ draft }) => (draft.hasCallerId || canRepeat ? draft.id : []));
}

function inboxesOf({ threadId, inbox, next }: AppendContent, driver: StoreDriver): readonly InboxQuery[] {
  if (inbox === NO_COMMANDS && next === undefined) return [];
  const keys = inbox.consumes.map(({ id }) => ({ threadId, id }));
  return wantedInboxes(inbox.posts, keys, { driver, nextOf: next === undefined ? undefined : threadId });
}

function waitingOf({ waiting }: AppendContent): Pick<StateQuery, "waiting"> {
  return waiting === undefined ? {} : { waiting: true };
}

function checkScheduling({ inbox, next, waiting }: AppendContent, { scheduling }: StoreDriver): void {
  if (scheduling) return;
  if (next !== undefined) throw unsupported("next");
  if (waiting !== undefined) throw unsupported("waiting calls");
  if (inbox.posts.some(({ agent }) => agent !== undefined)) throw unsupported("agents of commands");
}

function checkBatch(context: StoreContext, threadId: string, batch: readonly NewDraft[]): void {
  if (batch.some(({ blobs }) => blobs.length > 0)) checkKeepsBlobs(context.driver);
  const ids = new Set<string>();
  for (const prepared of batch) checkDraft(context, threadId, prepared, ids);
}

/** `ids` are those of the drafts before it in the batch. */
function checkDraft(
  { driver, ports: { maxEntryChars } }: StoreContext,
  threadId: string,
  { draft, chars, payload, refs, blobs }: NewDraft,
  ids: Set<string>,
): void {
  if (ids.has(draft.id)) {
    if (!draft.hasCallerId) throw repeatedByOption(threadId, [draft.id]);
    throw new EntryIdReuseError(threadId, [draft.id], "twice in one batch");
  }
  ids.add(draft.id);
  if (chars > maxEntryChars) throw tooLarge(threadId, draft.id, chars, maxEntryChars);
  checkRowSize(driver, `Entry ${draft.id}`, payload, refs);
  for (const { content } of blobs) checkRowSize(driver, `A part of entry ${draft.id}`, content);
}

/** The entries that both histories have must be equal. */
async function checkHistory(context: StoreContext, thread: Thread, stored: number): Promise<void> {
  const to = Math.min(stored, thread.rev) - 1;
  for await (const known of entriesOf(context, thread.id, { from: thread.firstSeq, to, limit: to + 1 })) {
    const entry = thread.at(known.seq);
    if (entry === undefined || !isSameEntry(known, { ...entry, v: entry.v, hasCallerAt: true }))
      throw diverged(thread.id, known.seq);
  }
}

async function writeMissing(context: StoreContext, thread: Thread, head: ThreadHead | undefined): Promise<void> {
  const { driver, ports } = context;
  const { id, createdAt, metadata } = thread;
  const missing = thread.slice(head?.rev ?? 0, thread.lastSeq);
  const options = { expectedRev: head?.rev ?? 0 };
  const saved = driver.scheduling ? scheduleOfSaved(thread, ports.clock) : {};
  const { next } = saved;
  const wasWaiting = driver.scheduling && head !== undefined && missing.length > 0; // as an earlier copy, maybe
  const calls = saved.waiting ?? (wasWaiting ? [] : undefined);
  const waiting = calls && draftWaiting(calls, ports.maxEntryChars);
  const content = {
    threadId: id,
    options,
    inbox: NO_COMMANDS,
    isImport: true,
    createdAt,
    metadata,
    next,
    waiting,
  } as const;
  if (missing.length > LARGE_BATCH) {
    await context.writeOrder.run(id, () => appendLarge(context, content, missing));
    return;
  }
  const drafts = missing.map((entry, index) => draftEntry(entry, `entries[${index}]`, ports));
  const batch = drafts.map((draft) => encodeDraft(draft, context.salt(), ports.sha256));
  checkBatch(context, id, batch);
  const request = { ...content, batch };
  const wanted = { ids: batch.map(({ draft }) => draft.id), lanes: lanesNamedBy(batch), ...waitingOf(content) };
  const inboxes = inboxesOf(content, driver);
  if (batch.length > 0) {
    await withBranches(context, request, (branches) =>
      driver.transact(id, wanted, (state) => decideAppend({ ...request, branches }, state, ports), inboxes),
    );
    return;
  }
  await driver.transact(id, wanted, (state) => {
    if (state.head !== undefined) return { result: undefined };
    const head = newHead(id, { createdAt, updatedAt: state.now, metadata, owner: null }, ports.sha256);
    return { result: undefined, head, fields: changedFields({}, metadata) };
  });
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
