import type { Sha256 } from "../../thread/encoding.ts";
import { HeddleError } from "../../thread/errors.ts";
import { checkName } from "../../thread/options.ts";
import type { Change, FeedEpoch } from "../driver.ts";
import { StoreError } from "../errors.ts";
import { checkOptions, checkSeq, invalidCursor } from "../options.ts";
import type { FeedItem, ThreadStore } from "../port.ts";
import { type BlobTexts, readRow } from "../row-format.ts";
import { blobTexts } from "./blobs.ts";
import { entriesOf, PAGE_SIZE, type StoreContext } from "./context.ts";

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
      let feed: FeedEpoch | undefined;
      let place: string | undefined;
      yield* follow(context, { signal, pageSize: 1 }, async function* (call) {
        if (feed === undefined) {
          feed = await call.driver.feedEpoch();
          place = after && placeOf(after, feed);
        }
        const changes = await call.driver.changes(place, PAGE_SIZE);
        const blobs = await blobTexts(
          call,
          changes.flatMap((change) => (change.type === "entry" ? change.row : [])),
        );
        for (const change of changes) {
          place = change.cursor;
          yield feedItem({ ...change, cursor: `${feed.epoch}-${place}` }, ports.sha256, blobs);
        }
      });
    },
  };
}

/** The driver's own cursor. The cursor of a store has the epoch in front of it. */
function placeOf(cursor: string, { epoch, hasEarlierCursors = false }: FeedEpoch): string {
  const [, named, place] = /^([0-9a-f]{16})-(.+)$/s.exec(cursor) ?? [];
  if (named === epoch && place !== undefined) return place;
  if (named !== undefined) throw otherFeed();
  if (!hasEarlierCursors) throw invalidCursor();
  return cursor;
}

function otherFeed(): StoreError {
  const message =
    "This cursor is not from this feed: the database was restored from a backup, or is another one. Start without a cursor, and expect items that you have seen.";
  return new StoreError({ code: "feed_epoch_changed", message });
}

function feedItem(change: Change, sha256: Sha256, blobs: BlobTexts): FeedItem {
  const { type, threadId, cursor } = change;
  switch (type) {
    case "entry":
      return { type, threadId, entry: readRow(threadId, change.row, sha256, blobs), cursor };
    case "forked":
      return { type, threadId, from: change.from, forkSeq: change.forkSeq, cursor };
    case "deleted":
      return { type, threadId, cursor };
  }
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
