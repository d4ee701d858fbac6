import type { OpenStoreOptions } from "../stores/open-store.ts";
import type { ThreadStore } from "../stores/port.ts";
import type { WorkerJob, WorkerResult } from "./worker-job.ts";

/** The store to be proven. */
export interface StoreSubject {
  /**
   * Opens a store on one and the same database each time, with the tenant and options given: two opens are two handles,
   * as two processes would have. Handles are closed by the case that opened them.
   */
  readonly open: (options: OpenStoreOptions) => ThreadStore | Promise<ThreadStore>;
  /** Does a job in another process: hand it to a script that calls `runWorkerJob`. Without it those cases are skipped. */
  readonly spawn?: ((job: WorkerJob) => Promise<WorkerResult>) | undefined;
  /** Case name -> why it does not apply. A name that no case has, or no reason, is an error. */
  readonly skip?: Readonly<Record<string, string>> | undefined;
  /** Replays the random cases of a run; a failure prints it. */
  readonly seed?: number | undefined;
  /** How long a case may take before it counts as hanging; default 20,000. */
  readonly patienceMs?: number | undefined;
}

/** One promise of a store, for any test runner. */
export interface ContractCase {
  readonly name: string;
  readonly group: string;
  /** Resolves when the promise is kept; otherwise rejects with an error that has `expected` and `actual`. */
  readonly run: () => Promise<void>;
  /** Why this case does not apply to the subject; then do not run it. */
  readonly skip?: string;
}
