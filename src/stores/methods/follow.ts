import { HeddleError } from "../../thread/errors.ts";
import { checkName } from "../../thread/names.ts";
import { checkOptions, checkSeq, invalidCursor } from "../options.ts";
import type { ThreadStore } from "../port.ts";
import { readRow } from "../row-format.ts";
import { PAGE_SIZE, rowsOf, type StoreContext } from "./context.ts";

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
        for await (const row of rowsOf(call, threadId, { from, to: Number.MAX_SAFE_INTEGER, limit: PAGE_SIZE })) {
          from = row.seq + 1;
          yield readRow(threadId, row, ports.sha256);
        }
      });
    },

    async *feed(options = {}) {
      const { after, signal } = checkOptions(options, ["after", "signal"]);
      if (after !== undefined && (typeof after !== "string" || after === "")) throw invalidCursor();
      let cursor = after;
      yield* follow(context, { signal, pageSize: 1 }, async function* (call) {
        for (const change of await call.driver.changes(cursor, PAGE_SIZE)) {
          cursor = change.cursor;
          const { threadId } = change;
          yield { threadId, entry: readRow(threadId, change.row, ports.sha256), cursor };
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
