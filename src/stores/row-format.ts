import {
  type ActiveState,
  type LaneBook,
  type LaneTip,
  NO_ENTRIES,
  readActiveState,
  readRecord,
} from "../lanes/lane-book.ts";
import { measureOf } from "../lanes/measure.ts";
import type { LaneOrigin, LaneState, LaneTrack } from "../lanes/track.ts";
import type { Sha256 } from "../thread/encoding.ts";
import { type Entry, type EntryDraft, makeEntry, NO_REFS } from "../thread/entry.ts";
import { freezeJson, type JsonObject, type JsonValue } from "../thread/json.ts";
import { namedLane } from "../thread/lane-operations.ts";
import { BlobError, CorruptionError } from "./errors.ts";
import type { ThreadInfo } from "./port.ts";
import { decodePayload, encodeAs, encodePayload, type TextBlob } from "./stored-payload.ts";
import type { HeadLanes, HeadTracks, StoredLane, StoredRow, ThreadHead } from "./stored-records.ts";
import { shownWords, sumsOf } from "./sums.ts";

export type DraftContent = Omit<EntryDraft, "hasCallerId" | "hasCallerAt">;

/** A draft with every value that does not depend on its position in the thread. */
export interface EncodedDraft<From extends DraftContent = EntryDraft> {
  readonly draft: From;
  /** As it is stored: texts that are in `blobs` are left out. */
  readonly payload: string;
  readonly refs: string;
  readonly measure: number;
  readonly salt: string;
  readonly digest: string;
}

/** A draft of a new entry, with the texts that are stored as blobs. */
export interface NewDraft extends EncodedDraft {
  readonly blobs: readonly TextBlob[];
  /** The length of the payload's JSON text, with the blobs in it. */
  readonly chars: number;
}

export function encodeDraft(draft: EntryDraft, salt: string, sha256: Sha256): NewDraft {
  const { text: payload, measure, blobs, chars } = encodePayload(draft.payload, sha256);
  return {
    draft,
    payload,
    refs: JSON.stringify(draft.refs),
    measure,
    salt,
    digest: sha256(salt + payload),
    blobs,
    chars,
  };
}

/** Like `encodeDraft`, for an entry that was read from a row. Its payload refers to the same blobs. */
export function encodeEntry(
  entry: DraftContent,
  { payload: stored, salt }: Pick<StoredRow, "payload" | "salt">,
  sha256: Sha256,
): EncodedDraft<DraftContent> {
  const { text: payload, measure } = encodeAs(entry.payload, stored);
  return { draft: entry, payload, refs: JSON.stringify(entry.refs), measure, salt, digest: sha256(salt + payload) };
}

/** The end of a hash chain, which the next row continues. */
export type Tip = Pick<ThreadHead, "rev" | "hash">;

export const EMPTY_TIP: Tip = { rev: 0, hash: "" };

interface NextRow {
  readonly row: StoredRow;
  readonly entry: Entry;
  readonly tip: Tip;
}

/** The row and the entry of the next draft, and the tip after it. Advances the book. */
export function nextRow(
  tip: Tip,
  book: LaneBook,
  prepared: EncodedDraft<DraftContent>,
  sha256: Sha256,
  origin?: LaneOrigin,
): NextRow {
  const { entry, stored } = nextFields(tip, prepared, sha256);
  const { lane, measure, state, record, recordSeq } = book.push(entry, prepared.measure, origin);
  const { hash } = stored;
  const checkSum = columnSum({ hash, lane, measure, state, record, recordSeq }, sha256);
  const row = { ...stored, lane, measure, state, record, recordSeq, checkSum, mark: null, track: null };
  return { row, entry, tip: { rev: tip.rev + 1, hash } };
}

type DerivedColumn = keyof CheckedColumns | "checkSum" | "mark" | "track";

interface NextFields {
  readonly entry: Entry;
  readonly stored: Omit<StoredRow, Exclude<DerivedColumn, "hash">>;
}

/** The columns of the next row that its hash covers. */
export function nextFields(tip: Tip, prepared: EncodedDraft<DraftContent>, sha256: Sha256): NextFields {
  const { draft, payload, refs, salt, digest } = prepared;
  const entry = makeEntry(draft, tip.rev);
  const { seq, id, at, v = null, kind } = entry;
  const prev = tip.hash;
  const hash = rowHash(prev, { seq, id, at, v, kind, refs }, digest, sha256);
  return { entry, stored: { seq, id, at, v, kind, refs, payload, salt, digest: null, prev, hash } };
}

type CheckedColumns = Pick<StoredRow, "hash" | "lane" | "measure" | "state" | "record" | "recordSeq">;

function columnSum({ hash, lane, measure, state, record, recordSeq }: CheckedColumns, sha256: Sha256): string {
  const texts = `${JSON.stringify(lane)},${measure},${state && JSON.stringify(state)},${record && JSON.stringify(record)}`;
  return sha256(`["heddle.columns/1","${hash}",${texts},${recordSeq}]`).slice(0, 16); // faster than one stringify
}

/** Detects damage. It does not protect against an attacker with write access, so 96 bits are enough. */
function shortSum(values: readonly JsonValue[], sha256: Sha256): string {
  return sha256(JSON.stringify(values)).slice(0, 16);
}

/** The texts of blobs by hash; null for a damaged one. */
export type BlobTexts = Pick<ReadonlyMap<string, string | null>, "get">;

/** For rows whose texts do not matter. */
export const ANY_TEXTS: BlobTexts = { get: () => "" };

/** Checks the hash of a row and returns its entry. */
export function readRow(threadId: string, row: StoredRow, sha256: Sha256, blobs?: BlobTexts): Entry {
  checkRow(threadId, row, sha256);
  const entry = parseRow(threadId, row, blobs);
  const named = namedLane(entry);
  if (named !== undefined && named !== row.lane) throw damagedColumn(threadId, row, "lane");
  return entry;
}

/** Checks the hash and the derived columns of a row. */
export function checkRow(threadId: string, row: StoredRow, sha256: Sha256): void {
  const digest = row.payload === null ? row.digest : sha256(row.salt + row.payload);
  if (digest === null || rowHash(row.prev, row, digest, sha256) !== row.hash)
    throw damaged(threadId, row, "its hash does not match");
  if (row.checkSum === null) checkEarlierColumns(threadId, row);
  else if (columnSum(row, sha256) !== row.checkSum || row.mark !== null || row.track !== null)
    throw damaged(threadId, row, "its columns do not match their checksum");
}

/** No checksum covers the columns of version 0.1, so their values are compared with each other and with the payload. */
function checkEarlierColumns(threadId: string, row: StoredRow): void {
  const { seq, measure, payload, mark, track, state, record, recordSeq } = row;
  if (state !== null || record !== null || recordSeq !== null) throw damagedColumn(threadId, row, "check_sum");
  if (payload !== null && measure < measureOf(payload)) throw damagedColumn(threadId, row, "measure");
  if (mark !== null && (mark < 0 || mark > seq)) throw damagedColumn(threadId, row, "mark");
  if ((mark === seq) !== (track !== null)) throw damagedColumn(threadId, row, "track");
}

const NO_TEXTS: BlobTexts = new Map();

/** Returns the entry of a row without a check of the hash. */
export function parseRow(threadId: string, row: StoredRow, blobs = NO_TEXTS): Entry {
  if (row.payload === null) throw damaged(threadId, row, "its payload is gone");
  if (typeof row.payload !== "string") throw damagedColumn(threadId, row, "payload"); // a damaged file may give another type
  const { seq, id, at, v, kind } = row;
  const textOf = (hash: string): string => {
    const text = blobs.get(hash);
    if (typeof text === "string") return text;
    throw new BlobError({ threadId, seq, entryId: id, hash, isThere: text === null });
  };
  try {
    const payload = decodePayload(row.payload, textOf) as JsonObject; // the payload of every entry is an object
    const refs = row.refs === "{}" ? NO_REFS : freezeJson(JSON.parse(row.refs));
    return makeEntry({ id, at, v: v ?? undefined, kind, payload, refs }, seq);
  } catch (cause) {
    if (BlobError.isInstance(cause)) throw cause;
    throw damaged(threadId, row, "it is not JSON", cause);
  }
}

/** The active lane after a row with a checksum. */
export function stateAfter(threadId: string, row: StoredRow): ActiveState {
  const state = readActiveState(row.state, row.lane);
  if (state === undefined) throw damagedColumn(threadId, row, "state");
  return state;
}

/** The record of a row with a checksum. */
export function recordOf(threadId: string, row: StoredRow): LaneState {
  const record = readRecord(row.record);
  if (record === undefined) throw damagedColumn(threadId, row, "record");
  return record;
}

export function storeLane(threadId: string, lane: string, tip: LaneTip, sha256: Sha256): StoredLane {
  const { seq, firstSeq, recordSeq } = tip;
  const record = JSON.stringify(tip.record);
  const checkSum = laneSum(threadId, { lane, seq, firstSeq, recordSeq, record }, sha256);
  return { lane, seq, firstSeq, recordSeq, record, checkSum };
}

/** Checks a stored lane and returns its tip. */
export function readLane(threadId: string, stored: StoredLane, sha256: Sha256): readonly [string, LaneTip] {
  const { lane, seq, firstSeq, recordSeq } = stored;
  const record = readRecord(stored.record);
  if (record !== undefined && laneSum(threadId, stored, sha256) === stored.checkSum)
    return [lane, { firstSeq, seq, recordSeq, record }];
  const trouble = `the record of its lane ${JSON.stringify(lane)} does not match its checksum`;
  throw new CorruptionError({ threadId, seq: -1, trouble });
}

function laneSum(threadId: string, lane: Omit<StoredLane, "checkSum">, sha256: Sha256): string {
  const { lane: name, seq, firstSeq, recordSeq, record } = lane;
  return shortSum(["heddle.lane/1", threadId, name, seq, firstSeq, recordSeq, record], sha256);
}

type HashedFields = Pick<StoredRow, "seq" | "id" | "at" | "v" | "kind" | "refs">;

/** Hashes the texts as stored, so that a chain can be checked with only a JSON encoder and SHA-256. */
function rowHash(prev: string, { seq, id, at, v, kind, refs }: HashedFields, digest: string, sha256: Sha256): string {
  const head = `["heddle.row/1","${prev}",{"id":${JSON.stringify(id)},"seq":${seq},"at":${at},"v":${v ?? 1}`;
  return sha256(`${head},"kind":${JSON.stringify(kind)},"refs":${refs},"digest":"${digest}"}]`);
}

function damaged(threadId: string, { seq }: StoredRow, trouble: string, cause?: unknown): CorruptionError {
  return new CorruptionError({ threadId, seq, trouble, cause });
}

export function damagedColumn(threadId: string, row: StoredRow, column: string): CorruptionError {
  return damaged(threadId, row, `its column ${column} is not what was written`);
}

type HeadContent = Omit<ThreadHead, "seal">;

/** The lanes of a thread without entries. */
export const NO_LANES_YET: HeadLanes = Object.freeze({ ...NO_ENTRIES, since: 0, tip: null });

/** The head of a thread without entries. */
export function newHead(
  threadId: string,
  facts: Pick<ThreadHead, "createdAt" | "updatedAt" | "metadata" | "owner">,
  sha256: Sha256,
): ThreadHead {
  return sealHead(threadId, { ...EMPTY_TIP, ...facts, lanes: NO_LANES_YET }, sha256);
}

/** The objects of a head as texts, for its seal and for storage. `mark` is null in heads since format 2. */
interface HeadTexts {
  readonly metadata: string;
  readonly lanes: string;
  readonly mark: string | null;
}

/**
 * A head whose seal was computed in this process. When a driver returns the same object again, its seal need not be checked.
 * The private fields tell it from a copy.
 */
class SealedHead implements ThreadHead {
  readonly rev: number;
  readonly hash: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly metadata: JsonObject;
  readonly owner: string | null;
  readonly lanes: ThreadHead["lanes"];
  readonly seal: string;
  readonly #threadId: string;
  readonly #texts: HeadTexts;

  constructor(threadId: string, content: HeadContent, sha256: Sha256, before: ThreadHead | undefined) {
    const texts = textsOf(content, before);
    this.rev = content.rev;
    this.hash = content.hash;
    this.createdAt = content.createdAt;
    this.updatedAt = content.updatedAt;
    this.metadata = content.metadata;
    this.owner = content.owner;
    this.lanes = content.lanes;
    this.seal = sealOf(threadId, content, texts, sha256);
    this.#threadId = threadId;
    this.#texts = texts;
    Object.freeze(this);
  }

  static isOf(threadId: string, head: ThreadHead): boolean {
    return #threadId in head && head.#threadId === threadId;
  }

  static textsOf(head: ThreadHead): HeadTexts | undefined {
    return #texts in head ? head.#texts : undefined;
  }
}

/** A head with its seal: a hash of all other fields. Texts that `before`, the head before it, has are not made again. */
export function sealHead(threadId: string, content: HeadContent, sha256: Sha256, before?: ThreadHead): ThreadHead {
  return new SealedHead(threadId, content, sha256, before);
}

export function checkHead(threadId: string, head: ThreadHead, sha256: Sha256): ThreadHead {
  if (SealedHead.isOf(threadId, head) || sealOf(threadId, head, textsOf(head), sha256) === head.seal) return head;
  throw new CorruptionError({ threadId, seq: -1, trouble: "its record does not match its seal" });
}

export function headTexts(head: ThreadHead): HeadTexts {
  return SealedHead.textsOf(head) ?? textsOf(head);
}

export function threadInfo(id: string, head: ThreadHead): ThreadInfo {
  const { rev, createdAt, updatedAt, metadata, owner } = head;
  const { title: given, generatedTitle, status } = metadata;
  const title = typeof given === "string" && given !== "" ? given : generatedTitle;
  const { counts, first } = sumsOf(head) ?? {};
  return {
    ...{ id, rev, createdAt, updatedAt, metadata },
    ...(typeof title === "string" && { title }),
    ...(first && { firstWords: shownWords(first) }),
    ...(counts && { counts }),
    ...(typeof status === "string" && { status }),
    ...(owner !== null && { owner }),
  };
}

/** The seq of the first row that has a checksum, also one that is not written yet. */
export function firstChecked({ rev, lanes }: Pick<ThreadHead, "rev" | "lanes">): number {
  return isEarlier(lanes) ? rev : lanes.since;
}

export function isEarlier(lanes: ThreadHead["lanes"]): lanes is HeadTracks {
  return "track" in lanes;
}

function textsOf({ metadata, lanes }: HeadContent, before?: ThreadHead): HeadTexts {
  const known = before?.metadata === metadata ? before && SealedHead.textsOf(before) : undefined;
  const text = known?.metadata ?? JSON.stringify(metadata);
  if (!isEarlier(lanes)) return { metadata: text, lanes: JSON.stringify(lanes), mark: null };
  const { track, mark } = lanes;
  return { metadata: text, lanes: JSON.stringify(track), mark: mark === null ? null : JSON.stringify(mark) };
}

/** The lanes of a head from its texts. Throws when a text is not JSON. The casts are safe, because callers check the seal. */
export function lanesFromTexts(lanes: string, mark: string | null): ThreadHead["lanes"] {
  const value = JSON.parse(lanes) as HeadLanes | LaneTrack;
  if ("since" in value) return value;
  return { track: value, mark: mark === null ? null : (JSON.parse(mark) as HeadTracks["mark"]) };
}

function sealOf(threadId: string, head: HeadContent, { metadata, lanes, mark }: HeadTexts, sha256: Sha256): string {
  const { rev, hash, createdAt, updatedAt, owner } = head;
  const version = isEarlier(head.lanes) ? 1 : 2;
  const rest = version === 1 ? `${lanes},${mark}` : lanes;
  const later = owner === null ? "" : `,{"owner":${JSON.stringify(owner)}}`; // absent in earlier heads, whose seals stay valid
  const start = `["heddle.head/${version}",${JSON.stringify(threadId)},${rev},${JSON.stringify(hash)}`;
  return sha256(`${start},${createdAt},${updatedAt},${metadata},${rest}${later}]`); // faster than one stringify
}
