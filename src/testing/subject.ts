import type { OpenStoreOptions } from "../stores/open-store.ts";
import type { ThreadStore } from "../stores/port.ts";
import type { WorkerJob, WorkerResult } from "./worker-job.ts";

/** The store under test. */
export interface StoreSubject {
  /**
   * Opens a store with the given tenant and options, always on the same database. Each call returns a new handle, as in
   * separate processes. The case closes its handles.
   */
  readonly open: (options: OpenStoreOptions) => ThreadStore | Promise<ThreadStore>;
  /** Runs a job in another process: pass it to a script that calls `runWorkerJob`. Default: such cases are skipped. */
  readonly spawn?: ((job: WorkerJob) => Promise<WorkerResult>) | undefined;
  /** Cases to skip: case name -> reason. Throws for an unknown name or an empty reason. Default: none. */
  readonly skip?: Readonly<Record<string, string>> | undefined;
  /** The seed of the random cases. A failure prints it. Default: a random seed. */
  readonly seed?: number | undefined;
  /** The timeout of a case, in milliseconds; default 20,000. */
  readonly patienceMs?: number | undefined;
}

/** A test case for one promise of a store. */
export interface ContractCase {
  readonly name: string;
  readonly group: string;
  /** Resolves when the store keeps the promise. Otherwise rejects with an error with `expected` and `actual`. */
  readonly run: () => Promise<void>;
  /** The reason to skip this case. Absent when the case applies. */
  readonly skip?: string;
}
