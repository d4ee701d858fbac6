import { base64url } from "../../thread/encoding.ts";
import type { Entry } from "../../thread/entry.ts";
import { abortableDriver, checkSignal } from "../abort.ts";
import type { RowRange, StateQuery, StoreDriver } from "../driver.ts";
import { CorruptionError, storeClosed } from "../errors.ts";
import { checkOptions, type StorePorts } from "../options.ts";
import type { CallOptions } from "../port.ts";
import { hasRefs } from "../row-filter.ts";
import { type BlobTexts, readRow } from "../row-format.ts";
import type { StoredRow, ThreadHead } from "../stored-records.ts";
import { blobTexts, rowsContaining } from "./blobs.ts";
import { TailReader } from "./tail-reader.ts";

/** For transactions that need only head and claim. */
export const NOTHING: StateQuery = { ids: [], lanes: [] };

/** The number of rows or heads to read at once. */
export const PAGE_SIZE = 500;

/** The state that all methods of one store share: its driver, its ports, and whether it is closed. */
export class StoreContext {
  readonly driver: StoreDriver;
  readonly ports: StorePorts;
  readonly tail: TailReader;
  readonly writeOrder: WriteOrder;
  readonly #closing: AbortController;

  constructor(driver: StoreDriver, ports: StorePorts, store?: StoreContext) {
    this.driver = driver;
    this.ports = ports;
    this.writeOrder = store?.writeOrder ?? new WriteOrder();
    this.tail = store?.tail ?? new TailReader(driver, ports.pollMs);
    this.#closing = store === undefined ? new AbortController() : store.#closing;
  }

  /** The context of one call. Rejects the call when its signal aborts. */
  withSignal(signal: AbortSignal | undefined): StoreContext {
    if (signal === undefined) return this;
    checkSignal(signal);
    const driver = abortableDriver(this.driver, signal, (threadId) => this.wakeWatchers(threadId));
    return new StoreContext(driver, this.ports, this);
  }

  /** The same for a call whose only option is the signal. */
  forCall(options: CallOptions): StoreContext {
    const { signal } = checkOptions(options, ["signal"]);
    this.checkOpen();
    return this.withSignal(signal);
  }

  /**
   * Wakes subscriptions to the thread after a commit of entries through this store, and those to the inboxes that got commands. A
   * driver with `onChange` wakes them itself.
   */
  wakeWatchers(threadId: string, postedIds: readonly string[] = []): void {
    if (this.driver.onChange === undefined) this.tail.announce([threadId, ...postedIds], postedIds);
  }

  /** Aborted when the store closes. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  salt(): string {
    return base64url(this.ports.random(16));
  }

  checkOpen(): void {
    if (this.closing.aborted) throw storeClosed();
  }

  async close(): Promise<void> {
    if (this.closing.aborted) return;
    this.#closing.abort();
    this.tail.close();
    await this.driver.close();
  }
}

/** Large appends take several turns of the event loop. Later writes of the same thread wait for them, so that order is kept. */
class WriteOrder {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Resolves when the large appends so far have ended. Undefined when there is none. */
  before(threadId: string): Promise<unknown> | undefined {
    return this.#last.get(threadId);
  }

  async run<Result>(threadId: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(threadId);
    const result = (async () => {
      await before;
      return work();
    })();
    const end = result.catch(() => {}); // the caller gets the error
    this.#last.set(threadId, end);
    await end;
    if (this.#last.get(threadId) === end) this.#last.delete(threadId);
    return result;
  }
}

/** Reads the rows of a range. Without a filter, checks that there is no gap and that each row links to the previous one. */
export async function* rowsOf(context: StoreContext, threadId: string, range: RowRange): AsyncIterable<StoredRow> {
  for await (const page of pagesOf(context, threadId, range)) yield* page;
}

/** Like `rowsOf`, in pages of at most 500 rows. */
export async function* pagesOf(
  context: StoreContext,
  threadId: string,
  range: RowRange,
): AsyncIterable<readonly StoredRow[]> {
  const { kinds, search, refs, reverse = false } = range;
  const isWhole = kinds === undefined && search === undefined && refs === undefined;
  let { from, to, limit } = range;
  let previous: StoredRow | undefined;
  while (limit > 0 && from <= to) {
    context.checkOpen();
    const size = Math.min(PAGE_SIZE, limit);
    const page = await context.driver.rows(threadId, { from, to, kinds, search, refs, reverse, limit: size });
    const mentioning = search === undefined ? page : await rowsContaining(context, page, search);
    const matching = refs === undefined ? mentioning : mentioning.filter((row) => hasRefs(row, refs));
    const wrong = isWhole ? firstUnlinked(previous, matching, reverse) : -1;
    if (wrong < 0) yield matching;
    else {
      yield matching.slice(0, wrong);
      throw unlinked(threadId, matching[wrong - 1] ?? previous, matching[wrong], reverse);
    }
    previous = matching.at(-1) ?? previous;
    const last = page.at(-1);
    if (last === undefined || page.length < size) return;
    limit -= matching.length;
    if (reverse) to = last.seq - 1;
    else from = last.seq + 1;
    if (limit > 0 && from <= to) await nextTurn(); // a synchronous driver would block the event loop
  }
}

/** The rows, when each links to the one before it. */
export function linked(threadId: string, rows: readonly StoredRow[]): readonly StoredRow[] {
  const wrong = firstUnlinked(undefined, rows, false);
  if (wrong >= 0) throw unlinked(threadId, rows[wrong - 1], rows[wrong], false);
  return rows;
}

/** The index of the first row that does not link to its neighbor; -1 when all do. */
function firstUnlinked(previous: StoredRow | undefined, rows: readonly StoredRow[], reverse: boolean): number {
  return rows.findIndex((row, index) => {
    const before = rows[index - 1] ?? previous;
    if (before === undefined) return false;
    const [earlier, later] = reverse ? [row, before] : [before, row];
    return later.seq !== earlier.seq + 1 || later.prev !== earlier.hash;
  });
}

function unlinked(
  threadId: string,
  before: StoredRow | undefined,
  row: StoredRow | undefined,
  reverse: boolean,
): CorruptionError {
  const earlier = (reverse ? row : before)?.seq ?? -1;
  return new CorruptionError({ threadId, seq: earlier + 1, trouble: "it does not follow from the entry before" });
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => (globalThis.setImmediate ?? setTimeout)(resolve));
}

/** Row `seq` of a thread. A missing row is damage. */
export async function rowAt({ driver }: StoreContext, threadId: string, seq: number): Promise<StoredRow> {
  const [row] = await driver.rows(threadId, { from: seq, to: seq, limit: 1 });
  if (row === undefined) throw new CorruptionError({ threadId, seq, trouble: "it is missing" });
  return row;
}

/**
 * Runs an operation that reads a head and then rows. A thread that is deleted or recreated between the two reads looks
 * damaged. So when damage is found and the head has changed, the operation is retried.
 */
export async function withConsistentHead<Result>(
  { driver }: StoreContext,
  threadId: string,
  attempt: (head: ThreadHead | undefined) => Promise<Result>,
): Promise<Result> {
  let head = await driver.head(threadId);
  for (;;) {
    try {
      return await attempt(head);
    } catch (error) {
      if (!CorruptionError.isInstance(error)) throw error;
      const now = await driver.head(threadId);
      if (now?.seal === head?.seal) throw error;
      head = now;
    }
  }
}

/** Some rows, and the texts of their blobs. */
interface ReadablePage {
  readonly rows: readonly StoredRow[];
  readonly blobs: BlobTexts;
}

/** The rows of a range in pages, with what is needed to read their entries. */
export async function* readablePagesOf(
  context: StoreContext,
  threadId: string,
  range: RowRange,
): AsyncIterable<ReadablePage> {
  for await (const rows of pagesOf(context, threadId, range)) yield { rows, blobs: await blobTexts(context, rows) };
}

/** The checked entries of a range, one by one. */
export async function* entriesOf(context: StoreContext, threadId: string, range: RowRange): AsyncIterable<Entry> {
  for await (const { rows, blobs } of readablePagesOf(context, threadId, range))
    for (const row of rows) yield readRow(threadId, row, context.ports.sha256, blobs);
}

/** The checked entry of one row. */
export async function entryOf(context: StoreContext, threadId: string, row: StoredRow): Promise<Entry> {
  return readRow(threadId, row, context.ports.sha256, await blobTexts(context, [row]));
}
