import "./thread/node-version.ts";

export * from "./testing/builders.ts";
export { ContractFailure } from "./testing/check.ts";
export * from "./testing/fault-store/index.ts";
export * from "./testing/scripted-model/index.ts";
export * from "./testing/specification/index.ts";
export { storeContract } from "./testing/store-contract.ts";
export type { ContractCase, StoreSubject } from "./testing/subject.ts";
export { runWorkerJob, type WorkerJob, type WorkerResult } from "./testing/worker-job.ts";
export * from "./testing/world/index.ts";
