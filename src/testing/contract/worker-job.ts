import { ConflictError, ThreadHeldError } from "../../stores/errors.ts";
import type { OpenStoreOptions } from "../../stores/open-store.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { note } from "../builders.ts";

/** A job for another process, as plain JSON. */
export interface WorkerJob {
  /**
   * append: appends batches. compete: appends each batch at the revision just read, and retries after a conflict. claim:
   * claims the thread for each batch, retries while another holder has it, and appends with that epoch.
   */
  readonly task: "append" | "compete" | "claim";
  readonly tenant: string;
  readonly threadId: string;
  /** The name of the writer. Entry `i` of batch `b` gets the id `<writer>_<b>_<i>`. */
  readonly writer: string;
  readonly batches: number;
  readonly batchSize: number;
}

/** The result of a job. */
export interface WorkerResult {
  /** The seq of the first entry of each acknowledged batch, in the order of acknowledgment. */
  readonly acknowledged: readonly number[];
  /** How many times a batch was retried, because another process wrote first or held the thread. */
  readonly conflicts: number;
}

/**
 * Runs a job. The script of `StoreSubject.spawn` calls it in its own process.
 *
 * @example
 * const job = JSON.parse(process.argv[2]);
 * console.log(JSON.stringify(await runWorkerJob(job, (options) => sqliteStore("./test.db", options))));
 */
export async function runWorkerJob(
  job: WorkerJob,
  open: (options: OpenStoreOptions) => ThreadStore | Promise<ThreadStore>,
): Promise<WorkerResult> {
  const store = await open({ tenant: job.tenant });
  try {
    const acknowledged: number[] = [];
    let conflicts = 0;
    for (let batch = 0; batch < job.batches; ) {
      const seq = await attempt(store, job, batch);
      if (seq === undefined) {
        conflicts++;
        continue;
      }
      acknowledged.push(seq);
      batch++;
    }
    return { acknowledged, conflicts };
  } finally {
    await store.close();
  }
}

/**
 * Appends a batch and returns the seq of its first entry. Undefined after a conflict or if another process holds the
 * thread.
 */
async function attempt(store: ThreadStore, job: WorkerJob, batch: number): Promise<number | undefined> {
  const { task, threadId, writer, batchSize } = job;
  const entries = Array.from({ length: batchSize }, (_, i) => note({ writer }, { id: `${writer}_${batch}_${i}` }));
  try {
    switch (task) {
      case "append":
        return (await store.append(threadId, entries)).entries[0]?.seq;
      case "compete": {
        const expectedRev = (await store.load(threadId, { last: 0 }))?.rev ?? 0;
        return (await store.append(threadId, entries, { expectedRev })).entries[0]?.seq;
      }
      case "claim": {
        const { epoch } = await store.claim(threadId, { holder: writer, ttlMs: 30_000 });
        const { entries: written } = await store.append(threadId, entries, { epoch });
        await store.release(threadId, epoch);
        return written[0]?.seq;
      }
    }
  } catch (error) {
    if (ConflictError.isInstance(error) || ThreadHeldError.isInstance(error)) return undefined;
    throw error;
  }
}
