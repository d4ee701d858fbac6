import { measureOf } from "../lanes/measure.ts";
import { advance, isTrack, type LaneTrack, laneOf, NO_LANES, stateOf, withMeasure } from "../lanes/track.ts";
import { type Entry, type EntryDraft, makeEntry, NO_REFS } from "../thread/entry.ts";
import { freezeJson, type JsonObject, sameJson } from "../thread/json.ts";
import type { Sha256 } from "../thread/sha256.ts";
import type { StoredRow, ThreadHead } from "./driver.ts";
import { CorruptionError } from "./errors.ts";
import type { ThreadInfo } from "./port.ts";

type DraftContent = Omit<EntryDraft, "hasCallerId" | "hasCallerAt">;

/** A draft with every value that does not depend on its position in the thread. */
export interface EncodedDraft<From extends DraftContent = EntryDraft> {
  readonly draft: From;
  readonly payload: string;
  readonly refs: string;
  readonly measure: number;
  readonly salt: string;
  readonly digest: string;
}

export function encodeDraft<From extends DraftContent>(draft: From, salt: string, sha256: Sha256): EncodedDraft<From> {
  const payload = JSON.stringify(draft.payload);
  return {
    draft,
    payload,
    refs: JSON.stringify(draft.refs),
    measure: measureOf(payload),
    salt,
    digest: sha256(salt + payload),
  };
}

/** The fields of a head that the next row depends on. */
export type Tip = Pick<ThreadHead, "rev" | "hash" | "track" | "mark">;

export const EMPTY_TIP: Tip = { rev: 0, hash: "", track: NO_LANES, mark: null };

/** The row and the entry of the next draft, and the tip after it. */
export function nextRow(
  tip: Tip,
  prepared: EncodedDraft<DraftContent>,
  sha256: Sha256,
): { row: StoredRow; entry: Entry; tip: Tip } {
  const { draft, payload, refs, measure, salt, digest } = prepared;
  const entry = makeEntry(draft, tip.rev);
  const lane = laneOf(entry, tip.track);
  const before = stateOf(tip.track, lane)?.measure ?? 0;
  const derived = withMeasure(tip.mark?.track ?? NO_LANES, lane, before);
  const follows = sameJson(derived, tip.track);
  const mark = follows ? tip.mark : { seq: tip.rev, track: tip.track };
  const fields = { seq: entry.seq, id: entry.id, at: entry.at, v: entry.v ?? null, kind: entry.kind, refs };
  const row: StoredRow = {
    ...fields,
    payload,
    salt,
    digest: null,
    prev: tip.hash,
    hash: rowHash(tip.hash, fields, digest, sha256),
    lane,
    measure: before + measure,
    mark: mark?.seq ?? null,
    track: follows ? null : JSON.stringify(tip.track),
  };
  return { row, entry, tip: { rev: tip.rev + 1, hash: row.hash, track: advance(tip.track, entry, measure), mark } };
}

/** Checks the hash of a row and returns its entry. */
export function readRow(threadId: string, row: StoredRow, sha256: Sha256): Entry {
  const digest = row.payload === null ? row.digest : sha256(row.salt + row.payload);
  if (digest === null || rowHash(row.prev, row, digest, sha256) !== row.hash)
    throw damaged(threadId, row, "its hash does not match");
  return parseRow(threadId, row);
}

/** Returns the entry of a row without a check of the hash. */
export function parseRow(threadId: string, row: StoredRow): Entry {
  if (row.payload === null) throw damaged(threadId, row, "its payload is gone");
  const { seq, id, at, v, kind } = row;
  try {
    const payload = freezeJson(JSON.parse(row.payload));
    const refs = row.refs === "{}" ? NO_REFS : freezeJson(JSON.parse(row.refs));
    return makeEntry({ id, at, v: v ?? undefined, kind, payload, refs }, seq);
  } catch (cause) {
    throw damaged(threadId, row, "it is not JSON", cause);
  }
}

/** The state of all lanes before a row. `marked` is the row that its `mark` points to. */
export function trackBefore(threadId: string, row: StoredRow, marked: StoredRow | undefined): LaneTrack {
  if (row.track !== null) return readTrack(threadId, row, row.track);
  const base = marked?.track == null ? NO_LANES : readTrack(threadId, marked, marked.track);
  return withMeasure(base, row.lane, row.measure - measureOf(row.payload ?? ""));
}

/** The tip after a row. A fork at this row continues from it. */
export function tipAfter(threadId: string, row: StoredRow, marked: StoredRow | undefined, sha256: Sha256): Tip {
  const track = advance(
    trackBefore(threadId, row, marked),
    readRow(threadId, row, sha256),
    measureOf(row.payload ?? ""),
  );
  const mark = marked?.track == null ? null : { seq: marked.seq, track: readTrack(threadId, marked, marked.track) };
  return { rev: row.seq + 1, hash: row.hash, track, mark };
}

/** Checks only the shape of a track. No hash covers a track; `verify` checks its content. */
function readTrack(threadId: string, row: StoredRow, text: string): LaneTrack {
  try {
    const track: unknown = JSON.parse(text);
    if (isTrack(track)) return track;
  } catch {} // damaged either way
  throw damaged(threadId, row, "its track is not valid");
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

type HeadContent = Omit<ThreadHead, "seal">;

/** The head of a thread without entries. */
export function newHead(threadId: string, createdAt: number, metadata: JsonObject, sha256: Sha256): ThreadHead {
  return sealHead(threadId, { ...EMPTY_TIP, createdAt, updatedAt: createdAt, metadata }, sha256);
}

/** A head with its seal: a hash of all other fields. */
export function sealHead(threadId: string, head: HeadContent, sha256: Sha256): ThreadHead {
  return { ...head, seal: sealOf(threadId, head, sha256) };
}

export function checkHead(threadId: string, head: ThreadHead, sha256: Sha256): ThreadHead {
  if (sealOf(threadId, head, sha256) === head.seal) return head;
  throw new CorruptionError({ threadId, seq: -1, trouble: "its record does not match its seal" });
}

export function threadInfo(id: string, { rev, createdAt, updatedAt, metadata }: ThreadHead): ThreadInfo {
  const { status } = metadata;
  return { id, rev, createdAt, updatedAt, metadata, ...(typeof status === "string" && { status }) };
}

function sealOf(threadId: string, head: HeadContent, sha256: Sha256): string {
  const { rev, hash, createdAt, updatedAt, metadata, track, mark } = head;
  return sha256(JSON.stringify(["heddle.head/1", threadId, rev, hash, createdAt, updatedAt, metadata, track, mark]));
}
