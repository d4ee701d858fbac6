import type { EntryInput } from "../../thread/entry.ts";

/** The methods of a store that write. */
export const WRITES = [
  "append",
  "save",
  "delete",
  "fork",
  "putCheckpoint",
  "deleteCheckpoint",
  "claim",
  "renew",
  "release",
  "putBlob",
] as const;

export type WriteMethod = (typeof WRITES)[number];

/** The methods of a store that read. */
export const READS = ["load", "list", "getCheckpoint", "getBlob", "verify", "read", "feed", "watch"] as const;

export type ReadMethod = (typeof READS)[number];

/** What goes wrong with one read: it fails, by default with an error that says it may be tried again, or it takes time. */
export type ReadFault = Extract<Fault, { readonly type: "fail" | "delay" }>;

/** What goes wrong with one write. */
export type Fault =
  /** Nothing is written, and the caller gets an error: by default one that says it may be tried again. */
  | { readonly type: "fail"; readonly error?: Error | undefined }
  /** It waits before it writes. */
  | { readonly type: "delay"; readonly ms: number }
  /** Somebody else appends to the same thread right before. */
  | { readonly type: "conflict"; readonly entry?: EntryInput | undefined }
  /** Written at once, and told so much later. */
  | { readonly type: "late"; readonly ms: number }
  /** Written, but the answer gets lost: the caller sees an error that may pass. */
  | { readonly type: "lost" }
  /** Written, and nobody is ever told. */
  | { readonly type: "never" }
  /** The process dies: before the write, or after it and before its answer. From here on everything is refused. */
  | { readonly type: "crash"; readonly when: "before" | "after" };

/** One write that somebody asked for, as it was recorded. */
export interface StoreWrite {
  /** From 1. */
  readonly n: number;
  readonly method: WriteMethod;
  /** The thread, or the key of the checkpoint; of a blob nothing. */
  readonly name: string | undefined;
  /** Of an append: the kinds of the entries, in order. */
  readonly kinds: readonly string[];
  /** The epoch that an append carries. */
  readonly epoch: number | undefined;
  /** What was done to it. */
  readonly fault: Fault["type"] | undefined;
}

/** One read that somebody asked for. */
export interface StoreRead {
  /** From 1. */
  readonly n: number;
  readonly method: ReadMethod;
  /** The thread, or the key of the checkpoint, or the hash of the blob. */
  readonly name: string | undefined;
}
