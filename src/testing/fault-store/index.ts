export {
  type Fault,
  READS,
  type ReadFault,
  type ReadMethod,
  type StoreRead,
  type StoreWrite,
  WRITES,
  type WriteMethod,
} from "./fault.ts";
export type { FaultOptions, FaultStore } from "./fault-options.ts";
export { faultStore } from "./fault-store.ts";
export type { FaultPlan, ReadPlan } from "./seeded-plan.ts";
