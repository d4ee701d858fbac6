import type { Entry } from "../../thread/entry.ts";
import { HeddleError } from "../../thread/errors.ts";
import { checkName } from "../../thread/names.ts";
import { readRow } from "../format/row.ts";
import { checkOptions, checkSeq, invalidOption } from "../options.ts";
import type { FeedItem, FeedOptions, WatchOptions } from "../port.ts";
import type { StoreContext } from "./context.ts";
import { rowsOf } from "./read.ts";

const PAGE = 500;

export async function* watch(context: StoreContext, threadId: string, options: WatchOptions): AsyncIterable<Entry> {
  checkName("threadId", threadId);
  checkOptions(options, ["fromSeq", "signal"]);
  checkSeq("fromSeq", options.fromSeq ?? -1);
  let from = options.fromSeq;
  yield* follow(context, options.signal, async function* () {
    for await (const row of rowsOf(context, threadId, { from, to: Number.MAX_SAFE_INTEGER, limit: PAGE })) {
      from = row.seq + 1;
      yield readRow(threadId, row, context.ports.sha256);
    }
  });
}

export async function* feed(context: StoreContext, options: FeedOptions): AsyncIterable<FeedItem> {
  const { after, signal } = checkOptions(options, ["after", "signal"]);
  if (after !== undefined && typeof after !== "string") throw invalidOption("after", "the cursor of a feed item");
  let cursor = after;
  yield* follow(context, signal, async function* () {
    for (const change of await context.driver.changes(cursor, PAGE)) {
      cursor = change.cursor;
      yield { threadId: change.threadId, entry: readRow(change.threadId, change.row, context.ports.sha256), cursor };
    }
  });
}

/**
 * Calls `next` in a loop and yields its items. When there are none, waits for a wake-up or the poll interval. Retries after
 * a retryable error, such as a lost connection. Ends without an error when the signal aborts or the store closes.
 */
async function* follow<Item>(
  context: StoreContext,
  signal: AbortSignal | undefined,
  next: () => AsyncIterable<Item>,
): AsyncIterable<Item> {
  context.checkOpen();
  const over = () => signal?.aborted === true || context.closing.aborted;
  while (!over()) {
    const seen = context.wakeups.count;
    let found = false;
    try {
      for await (const item of next()) {
        found = true;
        yield item;
        if (over()) return;
      }
    } catch (error) {
      if (over()) return;
      if (!HeddleError.isInstance(error) || !error.retryable) throw error;
    }
    if (!found && !over()) await context.wakeups.wait(seen, context.ports.pollMs, [signal, context.closing]);
  }
}
