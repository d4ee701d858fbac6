import "./thread/node-version.ts";

export type { AdvancingHost } from "./engines/advance-thread.ts";
export {
  type RestateNames,
  type RestateScheduler,
  type RestateSchedulerOptions,
  restateScheduler,
  restateThreads,
} from "./engines/restate-threads.ts";
export type { Advanced, AdvanceOptions } from "./runtime/host/advance.ts";
