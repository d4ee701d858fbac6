import type { ActiveState, LaneTip } from "../lanes/lane-book.ts";
import type { LaneTrack } from "../lanes/track.ts";
import type { JsonObject } from "../thread/json.ts";
import type { LeaseKey, ThreadCounts } from "./port.ts";

/** An entry as it is stored. A driver must return texts unchanged, because the hashes cover them. */
export interface StoredRow {
  readonly seq: number;
  readonly id: string;
  readonly at: number;
  /** The version of the kind; null when the entry has none. */
  readonly v: number | null;
  readonly kind: string;
  /** JSON text. */
  readonly refs: string;
  /** JSON text; null after the payload was erased. */
  readonly payload: string | null;
  /** 16 random bytes, base64url, so that an erased payload cannot be guessed from its digest. */
  readonly salt: string;
  /** Null unless the payload is erased; otherwise it is computed from salt and payload. */
  readonly digest: string | null;
  /** The hash of the previous row; empty in the first row. */
  readonly prev: string;
  readonly hash: string;
  /** The lane that the entry belongs to. */
  readonly lane: string;
  /** The sum of measures in this lane, up to and including this entry. */
  readonly measure: number;
  /** JSON of the active lane after this row. Null when it is the row's lane, and in rows of 0.1. */
  readonly state: string | null;
  /** JSON of the record of the row's lane after this row. Null when only its measure grew, and in rows of 0.1. */
  readonly record: string | null;
  /** The seq of the last row of the lane with a record, before this row. Null for the lane's first row, and in rows of 0.1. */
  readonly recordSeq: number | null;
  /** A hash of `hash` and the columns from `lane` to `recordSeq`. Null in rows of 0.1. */
  readonly checkSum: string | null;
  /** Only in rows of version 0.1: the seq of the latest row with a `track`, which may be this row; null when there is none. */
  readonly mark: number | null;
  /** Only in rows of version 0.1: JSON of the state of all lanes before this row. Null when the marked row has it. */
  readonly track: string | null;
}

/** The record that a store keeps for each thread, beside its rows. */
export interface ThreadHead {
  readonly rev: number;
  /** The hash of the last row; empty when there is no row. */
  readonly hash: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly metadata: JsonObject;
  /** The name of the thread's owner; null when it has none. */
  readonly owner: string | null;
  /** A hash of the thread id and all other fields of the head. */
  readonly seal: string;
  /** JSON data about the lanes. Store it unchanged. A head of version 0.1 has tracks. */
  readonly lanes: HeadLanes | HeadTracks;
}

/** The active lane of a thread. Its record is here and not in a StoredLane, so that most appends write no lane. */
export type HeadLanes = ActiveState & {
  /** The seq of the first row with a `checkSum`. The rows before it are of 0.1. */
  readonly since: number;
  /** The active lane after the last row; null when it has no entries. */
  readonly tip: LaneTip | null;
  /** Absent in a thread without rows, and when version 0.1 wrote the first ones. */
  readonly sums?: HeadSums;
};

/** Facts about the entries of a thread, for `list`, which reads no entries. */
export type HeadSums = {
  /** Null when not known: in a fork whose last shared entry is far before the end of its parent. */
  readonly counts: ThreadCounts | null;
  /** Of the first user message with text; null when there is none. */
  readonly first: FirstWords | null;
};

/** The first words of a message. */
export type FirstWords = {
  readonly seq: number;
  readonly words: string;
  /** The message has more text. */
  readonly cut?: true;
};

/** The lanes of a thread as version 0.1 wrote them. The next append replaces them. */
export type HeadTracks = {
  /** The state of all lanes after the last row. */
  readonly track: LaneTrack;
  /** The latest row that has a track, and that track; null when there is none. */
  readonly mark: { readonly seq: number; readonly track: LaneTrack } | null;
};

/** The current record of one lane of a thread. Each lane has at most one; the active lane may have an older one or none. */
export interface StoredLane {
  readonly lane: string;
  readonly seq: number;
  readonly firstSeq: number;
  readonly recordSeq: number;
  /** JSON text. */
  readonly record: string;
  readonly checkSum: string;
}

/** A value of a thread's metadata that threads can be listed by. A thread has each name at most once. */
export interface ThreadField {
  readonly name: string;
  /** JSON text of at most 800 bytes. Null removes the field. */
  readonly value: string | null;
}

/** JSON text or bytes, stored under the hash of the content. */
export interface StoredBlob {
  readonly hash: string;
  /** A string is JSON text. */
  readonly content: string | Uint8Array;
}

/** A blob that a thread uses: a long text or the data of a file of an entry, or one given to `putBlob`. */
export interface BlobUse extends StoredBlob {
  readonly purpose: "text" | "file" | "put";
}

/** The head of a thread, with the id of the thread. */
export interface NamedHead {
  readonly id: string;
  readonly head: ThreadHead;
}

/** The last claim of a thread. It is kept after its end, so that epochs only grow. */
export interface ClaimRecord {
  readonly holder: string;
  readonly epoch: number;
  readonly until: number;
  readonly ttlMs: number;
  /** The claim lasts as long as this lease; `until` and `ttlMs` are those of the lease at the time of the claim. */
  readonly lease?: LeaseKey | undefined;
}

/** The lease of a node. Each node has at most one. */
export interface LeaseRecord extends LeaseKey {
  readonly until: number;
  readonly ttlMs: number;
  /** An ended lease is never renewed. */
  readonly ended: boolean;
}

/** When a thread has something to do. Each thread has at most one; it is kept when there is nothing to do. */
export interface RunnableRow {
  /** The name of the agent; null when it is not known. */
  readonly agent: string | null;
  /** Null when there is nothing to do. */
  readonly dueAt: number | null;
  readonly priority: number;
}

/** A waiting call as it is stored. */
export interface StoredWaiting {
  readonly callId: string;
  readonly kind: string;
  readonly since: number;
  readonly deadline: number | null;
  /** JSON text. */
  readonly body: string;
}

/** A waiting call, with the id of its thread. */
export interface ThreadWaiting {
  readonly threadId: string;
  readonly call: StoredWaiting;
}

/** A command in an inbox as it is stored. A driver must return texts unchanged, because the checksum covers them. */
export interface StoredCommand {
  readonly id: string;
  readonly type: string;
  /** JSON text of the body. */
  readonly body: string;
  /** JSON text of the body as it was posted; null unless it was amended. */
  readonly posted: string | null;
  /** How often the command was amended. */
  readonly revision: number;
  /** The place among the pending commands of the thread. */
  readonly position: number;
  readonly postedAt: number;
  /** JSON text; null while the command is pending. */
  readonly outcome: string | null;
  /** When the outcome was written; null while the command is pending. */
  readonly doneAt: number | null;
  /** A short hash of the thread id and all other fields. */
  readonly checkSum: string;
}

/** A command, with the id of the thread that it belongs to. The thread need not exist. */
export interface InboxCommand {
  readonly threadId: string;
  readonly command: StoredCommand;
}
