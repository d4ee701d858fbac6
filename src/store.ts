import "./thread/node-version.ts";

export type {
  Command,
  CommandInput,
  CommandOutcome,
  CommandResult,
  ConsumedCommand,
  PostedCommand,
} from "./stores/command.ts";
export { defineStore } from "./stores/define-store.ts";
export type {
  Change,
  ClaimRecord,
  CommandKey,
  Decision,
  HeadLanes,
  HeadTracks,
  InboxCommand,
  InboxState,
  ListPosition,
  ListQuery,
  NamedHead,
  RecordSpace,
  RowRange,
  StoreDriver,
  StoredCommand,
  StoredLane,
  StoredRow,
  ThreadChanges,
  ThreadHead,
  ThreadState,
  Wanted,
  WantedInbox,
} from "./stores/driver.ts";
export { CommandError, EntryIdReuseError, StoreFullError, storeClosed, threadNotFound } from "./stores/errors.ts";
export { MemoryDatabase, type MemoryStoreOptions } from "./stores/memory-store.ts";
export type { StoreOptions, StorePorts } from "./stores/options.ts";
export type {
  AppendOptions,
  AppendResult,
  CallOptions,
  ClaimOptions,
  ClaimResult,
  FeedItem,
  FeedOptions,
  ForkOptions,
  ListOptions,
  ListOrder,
  LoadOptions,
  ReadOptions,
  ThreadInfo,
  ThreadPage,
  VerifyOptions,
  VerifyReport,
  WatchOptions,
} from "./stores/port.ts";
export type { StoreProjectionInput } from "./stores/project-from-store.ts";
export { checkName } from "./thread/names.ts";
export type { LaneBase, ThreadBase } from "./thread/thread-data.ts";
