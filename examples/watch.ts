// Follow a thread while another writer appends to it, then read the feed over all threads from a cursor.
import { memoryStore } from "heddle";

const store = memoryStore();
const stop = new AbortController();

const following = follow();
for (const text of ["one", "two", "three"]) await store.append("thread_1", { payload: { text } });
await store.append("thread_2", { payload: { text: "elsewhere" } });
await following;

// The feed gives each entry with a cursor: save it with your results, and continue from there after a restart.
let cursor: string | undefined;
for await (const item of store.feed()) {
  cursor = item.cursor;
  if (item.entry?.payload["text"] === "two") break;
}
for await (const { threadId, entry } of store.feed({ after: cursor })) {
  if (entry === undefined) continue; // a thread was forked or deleted
  console.log(`feed: ${threadId} seq ${entry.seq}: ${entry.payload["text"]}`);
  if (threadId === "thread_2") break;
}
await store.close();

/** Yields the existing entries and then new ones; ends when the signal aborts or the store closes. */
async function follow(): Promise<void> {
  for await (const { seq, payload } of store.watch("thread_1", { fromSeq: 0, signal: stop.signal })) {
    console.log(`watch: seq ${seq}: ${payload["text"]}`);
    if (seq === 2) stop.abort();
  }
}
