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

/** The fault of a read: it fails, by default with a retryable error, or it is delayed. */
export type ReadFault = Extract<Fault, { readonly type: "fail" | "delay" }>;

/** The fault of a write. */
export type Fault =
  /** Writes nothing and fails, by default with a retryable error. */
  | { readonly type: "fail"; readonly error?: Error | undefined }
  /** Waits before the write. */
  | { readonly type: "delay"; readonly ms: number }
  /** Another writer appends to the same thread directly before. */
  | { readonly type: "conflict"; readonly entry?: EntryInput | undefined }
  /** Writes at once, and answers `ms` later. */
  | { readonly type: "late"; readonly ms: number }
  /** Writes, but fails with a retryable error. */
  | { readonly type: "lost" }
  /** Writes, but never answers. */
  | { readonly type: "never" }
  /** Crashes before the write, or between the write and its answer. All later calls are refused. */
  | { readonly type: "crash"; readonly when: "before" | "after" };

/** The record of a requested write. */
export interface StoreWrite {
  /** From 1. */
  readonly n: number;
  readonly method: WriteMethod;
  /** The thread id or the checkpoint key; undefined for a blob. */
  readonly name: string | undefined;
  /** For an append: the kinds of the entries, in order. */
  readonly kinds: readonly string[];
  /** The epoch that an append carries. */
  readonly epoch: number | undefined;
  /** The injected fault, if any. */
  readonly fault: Fault["type"] | undefined;
}

/** A requested read. */
export interface StoreRead {
  /** From 1. */
  readonly n: number;
  readonly method: ReadMethod;
  /** The thread id, the checkpoint key or the blob hash. */
  readonly name: string | undefined;
}
