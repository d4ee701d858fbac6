import type { LaneTrack } from "../lanes/track.ts";
import type { JsonObject } from "../thread/json.ts";
import type { ListQuery } from "./list-query.ts";

/** An entry as it lies in a store. Texts are kept exactly as given: the hashes are over them. */
export interface StoredRow {
  readonly seq: number;
  readonly id: string;
  readonly at: number;
  /** Null when the entry has none. */
  readonly v: number | null;
  readonly kind: string;
  /** JSON text. */
  readonly refs: string;
  /** JSON text; null once erased. */
  readonly payload: string | null;
  /** 16 random bytes, base64url, so that an erased payload cannot be guessed from its digest. */
  readonly salt: string;
  /** Kept only when the payload is erased; otherwise it follows from salt and payload. */
  readonly digest: string | null;
  /** The hash of the row before; empty in the first. */
  readonly prev: string;
  readonly hash: string;
  /** The lane the entry belongs to and the sum of measures of that lane up to and including this entry. */
  readonly lane: string;
  readonly measure: number;
  /** The seq of the latest row, this one included, that has `track`; null when there is none. */
  readonly mark: number | null;
  /** JSON of what was known of all lanes before this row, where it does not follow from the marked row before. */
  readonly track: string | null;
}

/** What a store keeps beside the rows of a thread. */
export interface ThreadHead {
  readonly rev: number;
  /** Of the last row; empty when there is none. */
  readonly hash: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly metadata: JsonObject;
  /** A hash of the thread's id and everything here. */
  readonly seal: string;
  /** What is known of all lanes after the last row. */
  readonly track: LaneTrack;
  /** The latest marked row and its track. */
  readonly mark: { readonly seq: number; readonly track: LaneTrack } | null;
}

export interface NamedHead {
  readonly id: string;
  readonly head: ThreadHead;
}

export interface ClaimRecord {
  readonly holder: string;
  readonly epoch: number;
  readonly until: number;
  readonly ttlMs: number;
}

/** What a decision may look at. */
export interface ThreadState {
  readonly head: ThreadHead | undefined;
  readonly claim: ClaimRecord | undefined;
  /** Rows of the thread that have one of the ids asked for, in order. */
  readonly known: readonly StoredRow[];
  /** The store's clock, in milliseconds: the same one for every process. */
  readonly now: number;
}

/** What to write; what is absent stays as it is. */
export interface Decision<Result> {
  readonly result: Result;
  readonly head?: ThreadHead;
  /** New rows, in order, directly after those that are there. */
  readonly rows?: readonly StoredRow[];
  readonly claim?: ClaimRecord;
}

export interface RowRange {
  /** Both included. */
  readonly from: number;
  readonly to: number;
  readonly kinds?: readonly string[] | undefined;
  /**
   * Occurs in the payload's text, the letters A to Z of which are taken for small ones. Rows without it may be answered
   * too: they are dropped above.
   */
  readonly search?: string | undefined;
  readonly reverse?: boolean | undefined;
  readonly limit: number;
}

export interface Change {
  readonly threadId: string;
  readonly row: StoredRow;
  readonly cursor: string;
}

export type RecordSpace = "checkpoint" | "blob";

/**
 * What an adapter implements; `defineStore` makes a ThreadStore of it. A driver moves rows and judges nothing: what is
 * valid, what conflicts and what is damaged is decided above it, in one place for all adapters. It holds one tenant.
 */
export interface StoreDriver {
  /**
   * Reads the state of a thread, calls `decide` with it, and stores what it answers: all of it or nothing, durable when
   * the promise resolves, with nobody else writing to this thread in between. When `decide` throws, nothing is written
   * and the promise rejects with that error. `decide` is pure and quick; it may be called again after a lost race.
   */
  transact<Result>(
    threadId: string,
    wantedIds: readonly string[],
    decide: (state: ThreadState) => Decision<Result>,
  ): Promise<Result>;

  head(threadId: string): Promise<ThreadHead | undefined>;

  /** Rows of a committed prefix of the thread: never one whose predecessor is not yet visible. */
  rows(threadId: string, range: RowRange): Promise<readonly StoredRow[]>;

  /** Rows of all threads in commit order, after a cursor. A row appears only when no earlier one can still appear. */
  changes(after: string | undefined, limit: number): Promise<readonly Change[]>;

  /** Threads in the order of their ids, beginning after one. */
  heads(afterId: string | undefined, limit: number): Promise<readonly NamedHead[]>;

  /** Removes rows and head; the claim stays, so that epochs never start again. */
  remove(threadId: string): Promise<boolean>;

  getRecord(space: RecordSpace, key: string): Promise<string | Uint8Array | undefined>;
  putRecord(space: RecordSpace, key: string, value: string | Uint8Array): Promise<void>;
  deleteRecord(space: RecordSpace, key: string): Promise<boolean>;

  close(): Promise<void>;

  /** Calls `wake` when something may have been committed by another process; without it the store polls. */
  onChange?(wake: () => void): () => void;

  /** A faster way to what can be derived: at most one more than `limit`, so that it shows whether there are more. */
  list?(query: ListQuery): Promise<readonly NamedHead[]>;
  /**
   * Copies the rows up to `atSeq` to a new thread with this head; false, and nothing done, when it exists already. When
   * the source was deleted meanwhile: `thread_not_found`, and nothing done.
   */
  copy?(from: string, to: string, atSeq: number, head: ThreadHead): Promise<boolean>;
  /** Checks what lies below the rows, such as the pages of a file, and names the trouble it finds. */
  inspect?(threadId: string): Promise<string | undefined>;
}
