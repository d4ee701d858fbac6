import "./thread/node-version.ts";

export {
  type RestateHandlers,
  type RestateNames,
  type RestateScheduler,
  type RestateSchedulerOptions,
  restateScheduler,
  restateThreads,
} from "./engines/restate-threads.ts";
export type { Advanced, AdvanceOptions, AdvancingHost } from "./runtime/host/advance.ts";
