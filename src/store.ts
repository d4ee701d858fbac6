import "./thread/node-version.ts";

export type { Bus } from "./stores/bus.ts";
export type {
  Command,
  CommandInput,
  CommandOutcome,
  CommandResult,
  ConsumedCommand,
  PostedCommand,
  PostOptions,
} from "./stores/command.ts";
export { defineDatabase, type ThreadDatabase } from "./stores/database.ts";
export { defineStore } from "./stores/define-store.ts";
export type {
  Change,
  ChangedRow,
  CommandKey,
  CounterDecision,
  CounterState,
  DatabaseDriver,
  Decision,
  DeletedThread,
  FeedEpoch,
  ForkedThread,
  InboxQuery,
  InboxState,
  LeaseDecision,
  LeaseState,
  ListPosition,
  ListQuery,
  RecordSpace,
  RowRange,
  StateQuery,
  StoreDriver,
  TakeQuery,
  ThreadChanges,
  ThreadStart,
  ThreadState,
  WaitingPosition,
  WaitingQuery,
} from "./stores/driver.ts";
export {
  BlobError,
  CommandError,
  EntryIdReuseError,
  LeaseEndedError,
  StoreFullError,
  storeClosed,
  threadNotFound,
} from "./stores/errors.ts";
export type { Count, CountOptions, Lease, LeaseOptions, Leases } from "./stores/lease.ts";
export { type MemoryDatabaseOptions, memoryDatabase } from "./stores/memory-database.ts";
export { MemoryDatabase, type MemoryStoreOptions } from "./stores/memory-store.ts";
export type { OnUpgrade, StoreOptions, StorePorts, UpgradeProgress } from "./stores/options.ts";
export type {
  AppendOptions,
  AppendResult,
  CallOptions,
  ClaimOptions,
  ClaimResult,
  DeleteOptions,
  Deletion,
  FeedDeletion,
  FeedEntry,
  FeedFork,
  FeedItem,
  FeedOptions,
  ForkOptions,
  LeaseKey,
  ListOptions,
  ListOrder,
  LoadOptions,
  NextRun,
  PutBlobOptions,
  ReadOptions,
  ThreadCounts,
  ThreadInfo,
  ThreadPage,
  UsageOptions,
  VerifyOptions,
  VerifyReport,
  WaitingOptions,
  WatchOptions,
} from "./stores/port.ts";
export type { StoreProjectionInput } from "./stores/project-from-store.ts";
export type { Runnable, TakenThread, TakeOptions } from "./stores/runnable.ts";
export type {
  BlobUse,
  ClaimRecord,
  HeadLanes,
  HeadSums,
  HeadTracks,
  InboxCommand,
  LeaseRecord,
  NamedHead,
  RunnableRow,
  StoredBlob,
  StoredCommand,
  StoredLane,
  StoredRow,
  StoredWaiting,
  ThreadField,
  ThreadHead,
  ThreadWaiting,
} from "./stores/stored-records.ts";
export type { CountedUsage, UsageQuery, UsageSum } from "./stores/sums.ts";
export type { ModelPrice, ModelUsage, UsageDay } from "./stores/usage-day.ts";
export type { ListedCall, WaitingCallInput, WaitingPage } from "./stores/waiting-call.ts";
export { checkName } from "./thread/options.ts";
export type { LaneBase, LaneBaseOrigin, ThreadBase } from "./thread/thread-data.ts";
