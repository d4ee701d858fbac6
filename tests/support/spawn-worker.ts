import type { WorkerJob, WorkerResult } from "heddle/testing";
import { runChild } from "./child.ts";

/**
 * `spawn` for the contract suite.
 *
 * @example
 * storeContract({ open, spawn: spawnWorker("sqlite:./test.db") });
 */
export function spawnWorker(url: string): (job: WorkerJob) => Promise<WorkerResult> {
  const script = new URL("./contract-worker.ts", import.meta.url);
  return async (job) => JSON.parse(await runChild(script, url, JSON.stringify(job))) as WorkerResult;
}
