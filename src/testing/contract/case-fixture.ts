import type { ThreadDatabase } from "../../stores/database.ts";
import type { OpenStoreOptions } from "../../stores/open-store.ts";
import type { StoreOptions } from "../../stores/options.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { ContractFailure } from "../check.ts";
import { freshName, freshSeed, Random } from "../random.ts";
import type { WorkerJob, WorkerResult } from "./worker-job.ts";

/** The store under test. */
export interface StoreSubject {
  /**
   * Opens a store with the given tenant and options. All calls use the same database, and each returns a new handle, as
   * in separate processes. The case closes its handles.
   */
  readonly open: (options: OpenStoreOptions) => ThreadStore | Promise<ThreadStore>;
  /**
   * Runs a job in another process, by a script that calls `runWorkerJob`. Default: cases with other processes are
   * skipped.
   */
  readonly spawn?: ((job: WorkerJob) => Promise<WorkerResult>) | undefined;
  /**
   * Opens the database of `open` for all tenants, with a new handle at each call. The case closes them. Default: the cases
   * with leases are skipped.
   */
  readonly openDatabase?: ((options: StoreOptions) => ThreadDatabase) | undefined;
  /** Maps names of cases to skip to the reason. Throws for an unknown name or an empty reason. Default: none. */
  readonly skip?: Readonly<Record<string, string>> | undefined;
  /** The seed of the random cases. A failure prints it. Default: a random seed. */
  readonly seed?: number | undefined;
  /** The timeout of a case, in milliseconds; default 20,000. */
  readonly timeoutMs?: number | undefined;
}

/** A test case for one requirement of a store. */
export interface ContractCase {
  readonly name: string;
  readonly group: string;
  /** Resolves if the store meets the requirement. Otherwise rejects with an error that has `expected` and `actual`. */
  readonly run: () => Promise<void>;
  /** Why the case is skipped. Absent if it is not. */
  readonly skip?: string;
}

/** The tools of one contract case, with its own tenant in the database. */
export interface CaseFixture {
  readonly tenant: string;
  /** A store for the case's tenant. */
  readonly store: ThreadStore;
  /** An unused thread id. */
  readonly thread: string;
  /** Returns another unused id. The ids of one case sort by name. */
  fresh(name: string): string;
  /** Opens another store, by default for the same tenant. It is closed at the end of the case. */
  open(options?: OpenStoreOptions): Promise<ThreadStore>;
  /** Opens the database for all tenants, in a handle of its own. It is closed at the end of the case. */
  database(options?: StoreOptions): ThreadDatabase;
  /** The random generator. If a case that used it fails, the message shows the seed. */
  readonly random: Random;
  spawn(job: Omit<WorkerJob, "tenant">): Promise<WorkerResult>;
}

/** The test function of one contract case. */
type ContractTest = (fixture: CaseFixture) => Promise<void>;
/** Maps the name of a case to its test function. */
export type ContractTests = Readonly<Record<string, ContractTest>>;

const CASE_TIMEOUT_MS = 20_000;
/** The poll interval in milliseconds. Shorter than a store's default, so that cases wait less. */
const POLL_MS = 20;

export async function runCase(subject: StoreSubject, test: ContractTest): Promise<void> {
  const { timeoutMs = CASE_TIMEOUT_MS, seed } = subject;
  const handles: Pick<ThreadStore, "close">[] = [];
  let random: Random | undefined;
  const name = freshName();
  const tenant = `${name}_tenant`;
  const open = async (options: OpenStoreOptions = {}) => {
    const store = await subject.open({ tenant, pollMs: POLL_MS, ...options });
    handles.push(store);
    return store;
  };
  const runTest = async () => {
    await test({
      tenant,
      open,
      store: await open(),
      thread: `${name}_thread`,
      fresh: (suffix) => `${name}_${suffix}`,
      database: (options = {}) => {
        if (subject.openDatabase === undefined) throw new ContractFailure("no openDatabase given");
        const database = subject.openDatabase({ pollMs: POLL_MS, ...options });
        handles.push(database);
        return database;
      },
      get random() {
        random ??= new Random(seed ?? freshSeed());
        return random;
      },
      spawn: async (job) => {
        if (subject.spawn === undefined) throw new ContractFailure("no spawn given");
        return subject.spawn({ ...job, tenant });
      },
    });
  };
  try {
    await within(timeoutMs, runTest());
  } catch (error) {
    throw random === undefined ? error : withSeed(error, random.seed);
  } finally {
    await within(timeoutMs, Promise.all(handles.map((store) => store.close())));
  }
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new ContractFailure(`did not end within ${ms} ms`)), ms);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function withSeed(error: unknown, seed: number): ContractFailure {
  const { message, expected, actual } = error instanceof ContractFailure ? error : new ContractFailure(String(error));
  return new ContractFailure(
    `${message}\nTo reproduce it, add { seed: ${seed} } to the subject.`,
    expected,
    actual,
    error,
  );
}
