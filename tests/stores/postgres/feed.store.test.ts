import type { FeedItem } from "heddle/store";
import { expect, test } from "vitest";
import { until } from "../../support/postgres/until.ts";
import { openStore, rawConnection, schema } from "./open.ts";

const sql = rawConnection();

test("the feed waits for a transaction that is still open, and loses nothing that it commits", async () => {
  const [slow, quick] = [openStore(), openStore()];
  await slow.append("late", {});
  await quick.append("other", {});
  const feed = quick.feed()[Symbol.asyncIterator]();
  expect([await nextId(feed), await nextId(feed)]).toEqual(["late", "other"]);

  const blocker = await sql.reserve();
  await blocker`begin`;
  await blocker`select from threads where id = 'late' for update`;
  const late = slow.append("late", {}); // has its transaction id by now, but cannot commit
  await until("the append waits for the lock", async () => {
    const [waiting] = await sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and query like '%insert into%' and query like ${`%${schema}%`}`;
    return waiting !== undefined;
  });
  await quick.append("young", {}); // begins later, commits earlier
  expect((await quick.load("young"))?.rev).toBe(1);

  const next = Promise.all([nextId(feed), nextId(feed)]);
  await blocker`rollback`;
  blocker.release();
  await late;
  expect(await next).toEqual(["late", "young"]);
  await feed.return?.();
});

test("a cursor continues exactly behind its item, also across threads of one batch", async () => {
  const store = openStore({ tenant: "cursors" });
  await Promise.all(["a", "b", "c"].map((id) => store.append(id, [{}, {}])));
  await store.append("a", {});
  const all = await take(store.feed(), 7);
  for (const [index, { cursor }] of all.entries()) {
    const rest = await take(store.feed({ after: cursor }), 6 - index);
    expect(rest.map(({ entry }) => entry?.id)).toEqual(all.slice(index + 1).map(({ entry }) => entry?.id));
  }
});

test("a feed sees its own tenant only", async () => {
  const [mine, theirs] = [openStore({ tenant: "mine" }), openStore({ tenant: "theirs" })];
  await Promise.all([mine.append("x", {}), theirs.append("x", {}), theirs.append("y", {})]);
  await mine.append("z", {});
  expect((await take(mine.feed(), 2)).map(({ threadId }) => threadId)).toEqual(["x", "z"]);
});

async function nextId(feed: AsyncIterator<FeedItem>): Promise<string | undefined> {
  const { value, done } = await feed.next();
  return done ? undefined : value.threadId;
}

async function take(feed: AsyncIterable<FeedItem>, count: number): Promise<readonly FeedItem[]> {
  const items: FeedItem[] = [];
  if (count === 0) return items;
  for await (const item of feed) if (items.push(item) === count) break;
  return items;
}
