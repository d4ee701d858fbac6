export type { ContextEntry } from "./context-entry.ts";
export { ContextOpError, type ContextOpErrorCode } from "./context-op-error.ts";
export { type Context, foldLane } from "./fold-lane.ts";
export type { LaneItem } from "./lane-log.ts";
export { type LaneReport, verifyLane } from "./verify-lane.ts";
