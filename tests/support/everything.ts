import { hash } from "node:crypto";
import type { FeedItem, ThreadInfo, ThreadStore } from "../../src/stores/port.ts";

/** What cannot be listed, so one has to know its name. */
export interface Names {
  readonly checkpoints: readonly string[];
  readonly blobs: readonly string[];
}

/** All that a reader can get from a store; two stores that give the same JSON are the same to everybody. */
export async function everythingIn(store: ThreadStore, { checkpoints, blobs }: Names) {
  const threads = await allThreads(store, "id");
  return {
    byId: threads.map(asIn01),
    byUpdate: (await allThreads(store, "updated")).map(({ id }) => id),
    byCreation: (await allThreads(store, "created")).map(({ id }) => id),
    loaded: await each(threads, async ({ id }) => (await store.load(id))?.toJSON()),
    tails: await each(threads, async ({ id }) => (await store.load(id, { last: 2 }))?.toArray({ partial: true })),
    backwards: await each(threads, async ({ id }) => Array.fromAsync(store.read(id, { reverse: true }))),
    feed: (await feedSoFar(store)).flatMap(placed),
    checkpoints: await each(checkpoints, async (key) => (await store.getCheckpoint(key)) ?? "none"),
    blobs: await each(blobs, async (hash) => readable(await store.getBlob(hash))),
  };
}

/** A row of a list without what version 0.1 did not say. */
function asIn01({ title: _, firstWords: _words, counts: _counts, ...row }: ThreadInfo) {
  return row;
}

/** An entry of the feed as 0.1 gave it: its cursors name no epoch. */
function placed({ threadId, entry, cursor }: FeedItem) {
  return entry === undefined ? [] : [{ threadId, entry, cursor: cursor.replace(/^[0-9a-f]{16}-/, "") }];
}

/** Every thread, page by page. */
export async function allThreads(store: ThreadStore, order: "id" | "updated" | "created"): Promise<ThreadInfo[]> {
  const found: ThreadInfo[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ order, limit: 5, cursor });
    found.push(...page.threads);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

/** What is in the feed now. SQLite answers within the turn, so whoever waits for the next turn has seen it all. */
export async function feedSoFar(store: ThreadStore, after?: string): Promise<FeedItem[]> {
  const over = new AbortController();
  setImmediate(() => over.abort());
  return Array.fromAsync(store.feed({ after, signal: over.signal }));
}

/** As text in which long strings are only named, so that it can be kept and looked at. */
export function asText(everything: unknown): string {
  const brief = (_: string, value: unknown) =>
    typeof value === "string" && value.length > 500
      ? `${value.length} characters, sha256 ${hash("sha256", value)}`
      : value;
  return `${JSON.stringify(everything, brief, 1)}\n`;
}

async function each<Item, Answer>(items: readonly Item[], ask: (item: Item) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const item of items) answers.push(await ask(item));
  return answers;
}

function readable(blob: unknown): unknown {
  return blob instanceof Uint8Array ? { bytes: Buffer.from(blob).toString("base64") } : (blob ?? "none");
}
