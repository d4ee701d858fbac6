import "./thread/node-version.ts";

export {
  type DurableContext,
  type DurableHostOptions,
  type DurableThreads,
  durableThreads,
} from "./engines/durable-threads.ts";
export type { Advanced, AdvanceOptions, AdvancingHost } from "./runtime/host/advance.ts";
export {
  type DurableObjectStoreOptions,
  type DurableStorage,
  durableObjectStore,
} from "./stores/sqlite/durable-object-store.ts";
