import type { ThreadDatabase } from "../../stores/database.ts";
import type { OpenStoreOptions } from "../../stores/open-store.ts";
import type { StoreOptions } from "../../stores/options.ts";
import type { FeedEntry, FeedItem, ThreadStore } from "../../stores/port.ts";
import { HeddleError } from "../../thread/errors.ts";
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

export async function within(ms: number, work: Promise<unknown>): Promise<void> {
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

/** The error of a failed check. Has both values as fields, so that a test runner can show a diff. */
export class ContractFailure extends Error {
  override readonly name = "ContractFailure";
  readonly expected: unknown;
  readonly actual: unknown;

  constructor(message: string, expected?: unknown, actual?: unknown, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.expected = expected;
    this.actual = actual;
  }
}

/** Checks for equal data. Ignores undefined properties and the order of keys. */
export function equal(actual: unknown, expected: unknown, what: string): void {
  const difference = firstDifference(actual, expected, what);
  if (difference !== undefined) throw new ContractFailure(difference, expected, actual);
}

/** Checks for equal JSON text, including the order of keys. */
export function sameJsonText(actual: unknown, expected: unknown, what: string): void {
  equal(actual, expected, what);
  if (JSON.stringify(actual) !== JSON.stringify(expected))
    throw new ContractFailure(`${what}: the same data, but not the same JSON text`, expected, actual);
}

export function ok(condition: boolean, what: string): asserts condition {
  if (!condition) throw new ContractFailure(`check failed: ${what}`, true, false);
}

/** Returns the value. Fails if it is undefined. */
export function present<Value>(value: Value | undefined, what: string): Value {
  if (value === undefined) throw new ContractFailure(`${what} is missing`);
  return value;
}

/** Checks that the attempt fails with a HeddleError that has this code and these fields. */
export async function rejects(
  attempt: Promise<unknown>,
  facts: { readonly code: string; readonly [fact: string]: unknown },
  what: string,
): Promise<HeddleError> {
  const outcome = await attempt.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ("value" in outcome) throw new ContractFailure(`${what}: succeeded, expected the error ${facts.code}`, facts);
  const { error } = outcome;
  if (!HeddleError.isInstance(error))
    throw new ContractFailure(`${what}: expected ${facts.code}, got ${String(error)}`, facts, error, error);
  const found = Object.fromEntries(Object.keys(facts).map((fact) => [fact, Reflect.get(error, fact)]));
  const difference = firstDifference(found, facts, "error");
  if (difference !== undefined) throw new ContractFailure(`${what}: ${difference}`, facts, found, error);
  return error;
}

function firstDifference(actual: unknown, expected: unknown, path: string): string | undefined {
  if (Object.is(actual, expected)) return undefined;
  if (!isObject(actual) || !isObject(expected) || Array.isArray(actual) !== Array.isArray(expected))
    return `${path}: expected ${show(expected)}, got ${show(actual)}`;
  if (Array.isArray(actual) && Array.isArray(expected) && actual.length !== expected.length)
    return `${path}: expected ${expected.length} items, got ${actual.length}`;
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const inner = Array.isArray(actual) ? `${path}[${key}]` : `${path}.${key}`;
    const difference = firstDifference(own(actual, key), own(expected, key), inner);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Reads own properties only, so that `__proto__` is treated like any other key. */
function own(value: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(value, key)?.value;
}

function show(value: unknown): string {
  const text = typeof value === "bigint" ? `${value}n` : (JSON.stringify(value) ?? String(value));
  return text.length > 200 ? `${text.slice(0, 200)}... (${text.length} characters)` : text;
}

/** Collects all items of an iterable. */
export async function allItems<Item>(source: AsyncIterable<Item>): Promise<Item[]> {
  return firstItems(Number.POSITIVE_INFINITY, source);
}

/** Collects the first `count` items, then closes the iterable. */
export async function firstItems<Item>(count: number, source: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  if (count === 0) return items;
  for await (const item of source) {
    items.push(item);
    if (items.length === count) break;
    // Yields to the event loop, so that the timeout can end a case whose store never stops.
    if (items.length % 1000 === 0) await shortPause();
  }
  return items;
}

/** Collects the first `count` entries of a feed, without its other items. */
export function firstEntries(count: number, feed: AsyncIterable<FeedItem>): Promise<FeedEntry[]> {
  return firstItems(count, entriesOf(feed));
}

async function* entriesOf(feed: AsyncIterable<FeedItem>): AsyncIterable<FeedEntry> {
  for await (const item of feed) if (item.type === "entry") yield item;
}

/** Calls `ask` until it returns a value. The timeout of the case limits the wait. */
export async function until<Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await shortPause();
  }
}

/** Yields to the event loop for a short time. */
export async function shortPause(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2));
}
