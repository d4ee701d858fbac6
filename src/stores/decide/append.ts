import { LaneBook } from "../../lanes/lane-book.ts";
import type { LaneOrigin } from "../../lanes/track.ts";
import type { Sha256 } from "../../thread/encoding.ts";
import { type Entry, isSameEntry, makeEntry } from "../../thread/entry.ts";
import type { JsonObject } from "../../thread/json.ts";
import { namedLane, readBranch } from "../../thread/lane-operations.ts";
import type { Decision, ThreadState } from "../driver.ts";
import { ConflictError, EntryIdReuseError, repeatedByOption, StoreError, threadNotFound } from "../errors.ts";
import type { AppendOptions, AppendResult, NextRun } from "../port.ts";
import {
  checkHead,
  EMPTY_TIP,
  type EncodedDraft,
  firstChecked,
  isEarlier,
  type NewDraft,
  NO_LANES_YET,
  newHead,
  nextRow,
  readLane,
  readRow,
  sealHead,
  storeLane,
  type Tip,
} from "../row-format.ts";
import { referencesIn } from "../stored-payload.ts";
import type {
  HeadLanes,
  HeadSums,
  StoredLane,
  StoredRow,
  StoredWaiting,
  ThreadField,
  ThreadHead,
} from "../stored-records.ts";
import { sumsAfter, sumsOf, usageIn } from "../sums.ts";
import { changedFields } from "../thread-fields.ts";
import { staleHolder } from "./claim.ts";
import {
  decideInbox,
  InboxDraft,
  type InboxPorts,
  type InboxRequest,
  purge,
  writeCommands,
  writeReplayed,
} from "./inbox.ts";

export interface AppendRequest {
  readonly threadId: string;
  readonly batch: readonly NewDraft[];
  readonly options: Pick<AppendOptions, "expectedRev" | "epoch" | "metadata" | "owner" | "create">;
  readonly inbox: InboxRequest;
  /** The branches that the batch begins. Absent when there is none, or when their origins could not be found. */
  readonly branches?: BranchOrigins | undefined;
  /** The rows of the batch, if they were made for the head that the thread still has. */
  readonly made?: BatchRows;
  readonly next?: NextRun | null | undefined;
  readonly waiting?: readonly Omit<StoredWaiting, "since">[] | undefined;
  /** Whether the entries were made elsewhere. Then their usage is not counted. */
  readonly isImport?: true;
  /** Used only when this append creates the thread. Default: the store's clock. */
  readonly createdAt?: number;
  readonly metadata: JsonObject;
}

/**
 * Decides what an append writes to a thread in the given state. Checks for a retry first, so that a retry succeeds at any
 * revision. All refusals come before the first write. The result is undefined when the origins of the branches are no longer
 * valid. Then nothing is written.
 */
export function decideAppend(
  request: AppendRequest,
  state: ThreadState,
  ports: InboxPorts,
): Decision<AppendResult | undefined> {
  const { threadId, batch, inbox, next, waiting } = request;
  const { sha256 } = ports;
  const head = state.head && checkHead(threadId, state.head, sha256);
  const rev = head?.rev ?? 0;
  const hasCommands = inbox.consumes.length + inbox.posts.length > 0;
  const draft = hasCommands || next !== undefined ? new InboxDraft(state, sha256) : undefined;
  if (batch.length === 0) {
    const result = { rev, entries: [], replayed: false };
    const described = changesHead(request) ? describe(request, head, state.now, sha256) : undefined;
    if (draft === undefined && waiting === undefined && described === undefined) return { result };
    const decision = draft && hasCommands ? decideInbox(threadId, inbox, draft) : undefined;
    if (decision?.isReplay) return { result: { ...result, replayed: true } };
    checkThread(request, head, state);
    const commands = decision?.write();
    if (next !== undefined) draft?.setNext(threadId, next);
    return {
      result,
      ...described,
      ...(commands && { commands, ...purge(state, ports) }),
      ...draft?.runnable,
      ...replaceWaiting(request, state),
    };
  }
  if (state.known.length > 0) {
    const result = replay(request, state, sha256);
    const commands = draft ? writeReplayed(threadId, inbox, draft) : [];
    if (commands.length === 0) return { result };
    checkEpoch(threadId, request.options.epoch, state);
    return { result, commands };
  }
  checkThread(request, head, state);
  const { branches } = request;
  if (branches !== undefined && branches.tipHash !== (head?.hash ?? EMPTY_TIP.hash)) return { result: undefined };
  const commands = draft ? writeCommands(threadId, inbox, draft, { isDoneAllowed: false }) : [];
  if (next !== undefined) draft?.setNext(threadId, next);
  const written = write(request, head, state, sha256);
  if (draft === undefined && waiting === undefined) return written;
  const scheduled = { ...written, ...draft?.runnable, ...replaceWaiting(request, state) };
  return commands.length === 0 ? scheduled : { ...scheduled, commands, ...purge(state, ports) };
}

/** A call that waits already keeps its `since`. When no call has changed, nothing is written. */
function replaceWaiting(
  { waiting }: AppendRequest,
  { waiting: before = [], now }: ThreadState,
): Pick<Decision<unknown>, "waiting"> {
  if (waiting === undefined) return {};
  const since = new Map(before.map((call) => [call.callId, call.since]));
  const calls = waiting.map((call): StoredWaiting => ({ ...call, since: since.get(call.callId) ?? now }));
  const isSame =
    calls.length === before.length && calls.every((call) => before.some((earlier) => isSameCall(call, earlier)));
  return isSame ? {} : { waiting: calls };
}

function isSameCall(a: StoredWaiting, b: StoredWaiting): boolean {
  return a.callId === b.callId && a.kind === b.kind && a.deadline === b.deadline && a.body === b.body;
}

function checkThread({ threadId, options }: AppendRequest, head: ThreadHead | undefined, state: ThreadState): void {
  const rev = head?.rev ?? 0;
  checkEpoch(threadId, options.epoch, state);
  if (options.expectedRev !== undefined && options.expectedRev !== rev)
    throw new ConflictError(threadId, options.expectedRev, rev);
  if (head === undefined && options.create === false) throw threadNotFound(threadId);
  checkOwner(threadId, head, options.owner);
}

/** Any owner fits a thread without one. */
export function checkOwner(threadId: string, head: ThreadHead | undefined, owner: string | undefined): void {
  if (owner === undefined || (head?.owner ?? owner) === owner) return;
  const message = `Thread ${threadId} has another owner than ${owner}. Nothing was written; setOwner() changes the owner.`;
  throw new StoreError({ code: "owner_mismatch", threadId, message });
}

function changesHead({ options: { metadata = {}, owner } }: AppendRequest): boolean {
  return owner !== undefined || Object.keys(metadata).length > 0;
}

/** The head after an append without entries. */
function describe(
  request: AppendRequest,
  head: ThreadHead | undefined,
  now: number,
  sha256: Sha256,
): Pick<Decision<unknown>, "head" | "fields"> {
  const { threadId } = request;
  const start = head ?? startOf(request, now, sha256);
  const { metadata, owner, fields } = descriptionOf(request, head);
  return { head: sealHead(threadId, { ...start, updatedAt: now, metadata, owner }, sha256), fields };
}

function startOf({ threadId, createdAt, metadata }: AppendRequest, now: number, sha256: Sha256): ThreadHead {
  return newHead(threadId, { createdAt: createdAt ?? now, updatedAt: now, metadata, owner: null }, sha256);
}

interface Description extends Pick<ThreadHead, "metadata" | "owner"> {
  /** Those that change. */
  readonly fields: readonly ThreadField[];
}

/** Metadata and owner after the append. */
function descriptionOf({ options, metadata: initial }: AppendRequest, head: ThreadHead | undefined): Description {
  const before = head?.metadata ?? initial;
  const metadata =
    options.metadata === undefined ? before : Object.freeze({ ...before, ...options.metadata, ...forkFacts(before) });
  const isSame = head !== undefined && metadata === before;
  const fields = isSame ? [] : changedFields(head?.metadata ?? {}, metadata);
  return { metadata, owner: head?.owner ?? options.owner ?? null, fields };
}

/** Where a fork begins does not change, so that `list({ forkOf })` finds it. */
function forkFacts({ parentThreadId, forkSeq }: JsonObject): JsonObject {
  return typeof parentThreadId === "string" && typeof forkSeq === "number" ? { parentThreadId, forkSeq } : {};
}

/** Reads the claim only for an append with an epoch: a driver may load it lazily. */
function checkEpoch(threadId: string, epoch: number | undefined, state: ThreadState): void {
  if (epoch !== undefined && epoch !== (state.claim?.epoch ?? 0)) throw staleHolder(threadId, epoch, state.claim);
}

/** The same result as the first append with this batch had, with `replayed: true`. */
function replay(request: AppendRequest, state: ThreadState, sha256: Sha256): AppendResult {
  const { threadId, batch, options } = request;
  const { known } = state;
  const drafts = new Map(batch.map(({ draft }) => [draft.id, draft]));
  const repeated = idsOf(known).filter((id) => drafts.get(id)?.hasCallerId === false);
  if (repeated.length > 0) throw repeatedByOption(threadId, repeated);
  const texts = new Map(batch.flatMap(({ blobs }) => blobs.map(({ hash, text }) => [hash, text])));
  const isChanged = (row: StoredRow): boolean => !referencesIn(row.payload).every((hash) => texts.has(hash));
  const entries = known.flatMap((row) => (isChanged(row) ? [] : readRow(threadId, row, sha256, texts)));
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const changed = known.filter(({ id }) => {
    const [draft, entry] = [drafts.get(id), byId.get(id)];
    return draft === undefined || entry === undefined || !isSameEntry(entry, draft);
  });
  const start = entries[0]?.seq ?? 0;
  const isWhole =
    batch.length === entries.length &&
    entries.every(({ id, seq }, i) => id === batch[i]?.draft.id && seq === start + i);
  if (changed.length > 0 || !isWhole) checkEpoch(threadId, options.epoch, state); // the next holder has used the ids
  if (changed.length > 0) throw new EntryIdReuseError(threadId, idsOf(changed), "already there with other content");
  if (!isWhole) throw new EntryIdReuseError(threadId, idsOf(entries), "already there, but not as this batch");
  return { rev: start + entries.length, entries, replayed: true };
}

function idsOf(entries: readonly { readonly id: string }[]): string[] {
  return entries.map(({ id }) => id);
}

function write(
  request: AppendRequest,
  before: ThreadHead | undefined,
  { lanes: stored, now }: Pick<ThreadState, "lanes" | "now">,
  sha256: Sha256,
): Decision<AppendResult> {
  const { threadId, batch, branches } = request;
  const start = before ?? startOf(request, now, sha256);
  const made = request.made ?? new BatchRows(threadId, before, stored, sha256, branches).pushAll(batch);
  const { rows, entries, tip } = made;
  const { metadata, owner, fields } = descriptionOf(request, before);
  const { rev, hash } = tip;
  const { createdAt } = start;
  const content = { rev, hash, createdAt, updatedAt: now, metadata, owner, lanes: made.headLanes };
  const head = sealHead(threadId, content, sha256, before);
  const lanes = made.lanesToStore();
  const usage = request.isImport ? [] : usageIn(entries, owner, now);
  const result = { rev, entries, replayed: false };
  const written = { head, rows, fields, lanes, usage, result }; // one literal, because every append makes it
  if (!batch.some((prepared) => prepared.blobs.length > 0)) return written;
  return { ...written, blobs: batch.flatMap((prepared) => prepared.blobs.map(({ text: _, ...blob }) => blob)) };
}

/** The lanes that these drafts may read or change, apart from the active one. */
export function lanesNamedBy(batch: readonly NewDraft[]): readonly string[] {
  const lanes = batch.flatMap(({ draft }) => {
    const named = namedLane(draft);
    if (named === undefined) return []; // a branch names its new lane, so this entry begins none
    const left = readBranch(makeEntry(draft, 0))?.from;
    return left === undefined ? named : [named, left];
  });
  return lanes.length < 2 ? lanes : [...new Set(lanes)];
}

/** The origins of the branches of a batch, found before the transaction. */
export interface BranchOrigins {
  /** The hash of the last row when they were found. They are valid only while the thread ends with it. */
  readonly tipHash: string;
  /** By the index of the entry in the batch. */
  readonly byIndex: ReadonlyMap<number, LaneOrigin>;
}

/**
 * The rows that a batch adds to a thread. They depend only on the thread's head and lanes, so those of a large batch are
 * made in slices before the transaction.
 */
export class BatchRows {
  readonly rows: StoredRow[] = [];
  readonly entries: Entry[] = [];
  readonly #threadId: string;
  readonly #sha256: Sha256;
  readonly #before: ThreadHead | undefined;
  readonly #start: Pick<ThreadHead, "rev" | "lanes">;
  readonly #book: LaneBook;
  readonly #branches: BranchOrigins | undefined;
  tip: Tip;
  #sums: HeadSums | undefined;

  /** `before` is the checked head of the thread, `stored` its lanes that the batch names. */
  constructor(
    threadId: string,
    before: ThreadHead | undefined,
    stored: readonly StoredLane[],
    sha256: Sha256,
    branches?: BranchOrigins,
  ) {
    const start = before ?? { rev: 0, hash: "", lanes: NO_LANES_YET };
    this.#threadId = threadId;
    this.#sha256 = sha256;
    this.#before = before;
    this.#branches = branches;
    this.#start = start;
    this.#book = openBook(threadId, start, stored, sha256);
    this.tip = start;
    this.#sums = sumsOf(start);
  }

  push(prepared: EncodedDraft): void {
    const origin = this.#branches?.byIndex.get(this.rows.length);
    const { row, entry, tip } = nextRow(this.tip, this.#book, prepared, this.#sha256, origin);
    this.rows.push(row);
    this.entries.push(entry);
    this.tip = tip;
    this.#sums = this.#sums && sumsAfter(this.#sums, entry);
  }

  pushAll(batch: readonly EncodedDraft[]): this {
    for (const prepared of batch) this.push(prepared);
    return this;
  }

  /** Whether the thread is as it was when the rows were made. */
  fits(head: ThreadHead | undefined): boolean {
    return head?.seal === this.#before?.seal;
  }

  /** The lanes of the head after the rows. */
  get headLanes(): HeadLanes {
    return headLanes(this.#book, firstChecked(this.#start), this.#sums);
  }

  /** The lanes to store: those that changed, and the one that was active before. The active lane is in the head. */
  lanesToStore(): readonly StoredLane[] {
    const { lanes } = this.#start;
    const { active } = this.#book.state;
    const names = new Set(this.#book.changed);
    if (!isEarlier(lanes)) names.add(lanes.active);
    names.delete(active);
    if (names.size === 0) return NO_LANES;
    return Array.from(names).flatMap((lane) => {
      const tip = this.#book.tip(lane);
      return tip === undefined ? [] : [storeLane(this.#threadId, lane, tip, this.#sha256)];
    });
  }
}

const NO_LANES: readonly StoredLane[] = Object.freeze([]);

export function openBook(
  threadId: string,
  { rev, lanes }: Pick<ThreadHead, "rev" | "lanes">,
  stored: readonly StoredLane[],
  sha256: Sha256,
): LaneBook {
  if (isEarlier(lanes)) return LaneBook.fromTrack(lanes.track, rev - 1);
  const tips = stored.map((lane) => readLane(threadId, lane, sha256));
  const { active, tip } = lanes;
  return new LaneBook(lanes, tip === null ? tips : [...tips, [active, tip]]); // the stored one may be outdated
}

/** The part of a book that a head keeps. `since` is the seq of the first row of format 2. */
export function headLanes(book: LaneBook, since: number, sums: HeadSums | undefined): HeadLanes {
  const { active, malformed } = book.state;
  const tip = book.tip(active) ?? null;
  if (malformed || sums === undefined) return { ...book.state, since, tip, ...(sums && { sums }) };
  return { active, since, tip, sums }; // the same keys in the same order
}
