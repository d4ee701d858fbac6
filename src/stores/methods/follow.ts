import { HeddleError } from "../../thread/errors.ts";
import { checkName } from "../../thread/names.ts";
import { checkOptions, checkSeq, invalidCursor } from "../options.ts";
import type { ThreadStore } from "../port.ts";
import { readRow } from "../row-format.ts";
import { blobTexts } from "./blob-texts.ts";
import { PAGE_SIZE, type StoreContext } from "./context.ts";
import { entriesOf } from "./readable-rows.ts";

/** `watch` and `feed`: stored entries, then new ones as they are committed. */
export function followMethods(context: StoreContext): Pick<ThreadStore, "watch" | "feed"> {
  const { ports } = context;
  return {
    async *watch(threadId, options) {
      checkName("threadId", threadId);
      checkOptions(options, ["fromSeq", "signal"]);
      checkSeq("fromSeq", options.fromSeq ?? -1);
      let from = options.fromSeq;
      yield* follow(context, { threadId, signal: options.signal, pageSize: PAGE_SIZE }, async function* (call) {
        const range = { from, to: Number.MAX_SAFE_INTEGER, limit: PAGE_SIZE };
        for await (const entry of entriesOf(call, threadId, range)) {
          from = entry.seq + 1;
          yield entry;
        }
      });
    },

    async *feed(options = {}) {
      const { after, signal } = checkOptions(options, ["after", "signal"]);
      if (after !== undefined && (typeof after !== "string" || after === "")) throw invalidCursor();
      let cursor = after;
      yield* follow(context, { signal, pageSize: 1 }, async function* (call) {
        const changes = await call.driver.changes(cursor, PAGE_SIZE);
        const rows = changes.map(({ row }) => row);
        const blobs = await blobTexts(call, rows);
        for (const change of changes) {
          const { threadId } = change;
          const entry = readRow(threadId, change.row, ports.sha256, blobs);
          cursor = change.cursor;
          yield { threadId, entry, cursor };
        }
      });
    },
  };
}

interface Following {
  /** The thread to follow; undefined for all threads. */
  readonly threadId?: string;
  readonly signal: AbortSignal | undefined;
  /** Fewer items than this were the last ones. */
  readonly pageSize: number;
}

/**
 * Calls `next` in a loop and yields its items. After the last one, waits for a change. Retries after a retryable error,
 * such as a lost connection. Ends without an error when the signal aborts, or the store or its database closes.
 */
async function* follow<Item>(
  context: StoreContext,
  { threadId, signal, pageSize }: Following,
  next: (call: StoreContext) => AsyncIterable<Item>,
): AsyncIterable<Item> {
  context.checkOpen();
  const { tail, closing } = context;
  const isOver = () => signal?.aborted === true || closing.aborted;
  if (isOver()) return;
  const call = context.withSignal(signal); // so that a read that hangs ends with the signal
  const subscription = tail.subscribe({ threadId });
  try {
    while (!isOver()) {
      subscription.clear();
      let found = 0;
      try {
        for await (const item of next(call)) {
          found++;
          yield item;
          if (isOver()) return;
        }
      } catch (error) {
        if (isOver() || isClosed(error)) return;
        if (!HeddleError.isInstance(error) || !error.retryable) throw error;
        found = 0;
        tail.fail();
      }
      if (found < pageSize && !isOver()) await tail.wait(subscription, signal);
    }
  } finally {
    tail.unsubscribe(subscription);
  }
}

/** Whether the database of this store was closed. It may be shared by several stores. */
function isClosed(error: unknown): boolean {
  return HeddleError.isInstance(error) && error.code === "store_closed";
}
