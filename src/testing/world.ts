import type { OpenStoreOptions } from "../stores/open-store.ts";
import type { ThreadStore } from "../stores/port.ts";
import { ContractFailure } from "./check.ts";
import { freshName, freshSeed, Random } from "./random.ts";
import type { StoreSubject } from "./subject.ts";
import type { WorkerJob, WorkerResult } from "./worker-job.ts";

/** The fixtures of one contract case: its own tenant in the subject's database. */
export interface World {
  readonly tenant: string;
  /** A handle on the tenant. */
  readonly store: ThreadStore;
  /** An unused thread id. */
  readonly thread: string;
  /** Another unused id. The ids of one case sort by name. */
  fresh(name: string): string;
  /** Opens another handle, by default on the same tenant. It is closed at the end of the case. */
  open(options?: OpenStoreOptions): Promise<ThreadStore>;
  /** The random generator. When a case that used it fails, the message shows the seed. */
  readonly random: Random;
  spawn(job: Omit<WorkerJob, "tenant">): Promise<WorkerResult>;
}

/** The test function of one contract case. */
export type Story = (world: World) => Promise<void>;
/** Case name -> test function. */
export type Stories = Readonly<Record<string, Story>>;

const PATIENCE_MS = 20_000;
/** Shorter than a store's default, so that cases wait less. */
const POLL_MS = 20;

export async function play(subject: StoreSubject, story: Story): Promise<void> {
  const { patienceMs = PATIENCE_MS, seed } = subject;
  const handles: ThreadStore[] = [];
  let random: Random | undefined;
  const name = freshName();
  const tenant = `${name}_tenant`;
  const open = async (options: OpenStoreOptions = {}) => {
    const store = await subject.open({ tenant, pollMs: POLL_MS, ...options });
    handles.push(store);
    return store;
  };
  const scene = async () => {
    await story({
      tenant,
      open,
      store: await open(),
      thread: `${name}_thread`,
      fresh: (suffix) => `${name}_${suffix}`,
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
    await within(patienceMs, scene());
  } catch (error) {
    throw random === undefined ? error : withSeed(error, random.seed);
  } finally {
    await within(patienceMs, Promise.all(handles.map((store) => store.close())));
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
