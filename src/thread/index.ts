export type { LaneBase, ThreadBase } from "./base.ts";
export type { Entry, EntryInput, EntryOfKind, OtherKind } from "./entry.ts";
export { type ErrorFacts, HeddleError, ThreadError } from "./errors.ts";
export type { JsonObject, JsonValue } from "./json.ts";
export type * from "./kinds.ts";
export { type Clock, type Ids, type Ports, systemPorts } from "./ports.ts";
export type { Refs, RefValue } from "./refs.ts";
export type { ThreadData, ThreadParts } from "./serialised.ts";
export { Thread, type ThreadOptions } from "./thread.ts";
