export { type Fault, type StoreWrite, WRITES, type WriteMethod } from "./fault.ts";
export type { FaultOptions, FaultStore } from "./fault-options.ts";
export { faultStore } from "./fault-store.ts";
export type { FaultPlan } from "./seeded-plan.ts";
