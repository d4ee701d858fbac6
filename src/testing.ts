export * from "./testing/builders.ts";
export { ContractFailure } from "./testing/check.ts";
export { storeContract } from "./testing/store-contract.ts";
export type { ContractCase, StoreSubject } from "./testing/subject.ts";
export { runWorkerJob, type WorkerJob, type WorkerResult } from "./testing/worker-job.ts";
