import type { ThreadStore } from "heddle";
import { expect } from "vitest";
import type { NodeHistory } from "./node-history.ts";

/** Runs a query of all tables. Numbers may come as texts. */
export type Query = (sql: string) => Promise<readonly (readonly unknown[])[]>;

const VISIBLE = "SELECT key FROM threads WHERE state IS NULL";
const VISIBLE_IDS = "SELECT id FROM threads WHERE state IS NULL";

/** What no thread needs, for one tenant. Each query finds nothing. A row of the thread 0 keeps a position in SQLite. */
const UNUSED: Readonly<Record<string, string>> = {
  "rows without a thread": `SELECT thread, seq FROM entries WHERE thread <> 0 AND thread NOT IN (SELECT key FROM threads)`,
  "hidden rows that no fork shows": `
    SELECT e.thread, e.seq FROM entries e JOIN threads t ON t.key = e.thread
    WHERE t.state = 'hidden' AND e.seq > (SELECT coalesce(max(f.fork_seq), -1) FROM threads f WHERE f.origin = t.key)`,
  "rows of a fork that its origin has": `
    SELECT e.thread, e.seq FROM entries e JOIN threads t ON t.key = e.thread
    WHERE t.origin IS NOT NULL AND e.seq <= t.fork_seq`,
  "hidden threads that no fork shows": `
    SELECT key FROM threads t WHERE state = 'hidden' AND NOT EXISTS (SELECT 1 FROM threads f WHERE f.origin = t.key)`,
  lanes: `SELECT thread, lane FROM lanes WHERE thread NOT IN (${VISIBLE})`,
  fields: `SELECT thread, name FROM thread_fields WHERE thread NOT IN (${VISIBLE})`,
  "waiting calls": `SELECT thread FROM waiting WHERE thread NOT IN (${VISIBLE_IDS})`,
  "runnable rows": `
    SELECT thread FROM runnable
    WHERE thread NOT IN (${VISIBLE_IDS}) AND thread NOT IN (SELECT thread FROM commands)`,
  "runnable rows that are not due": `
    SELECT c.thread, c.id FROM commands c LEFT JOIN runnable r ON r.thread = c.thread
    WHERE c.done_at IS NULL AND r.due_at IS NULL`,
  "uses of blobs": `
    SELECT hash, thread FROM blob_uses WHERE thread <> '' AND ended_at IS NULL AND thread NOT IN (${VISIBLE_IDS})`,
  "uses of missing blobs": `SELECT hash, thread FROM blob_uses WHERE hash NOT IN (SELECT key FROM records WHERE space = 'blob')`,
  usage: `SELECT thread FROM usage WHERE thread <> '' AND thread NOT IN (${VISIBLE_IDS})`,
  "feed items": `SELECT thread FROM feed_items WHERE kind = 'forked' AND thread NOT IN (${VISIBLE_IDS})`,
  "two leases of a node": "SELECT node FROM leases GROUP BY node HAVING count(*) > 1",
  counters: "SELECT name FROM counters",
};

export async function expectNothingUnused(query: Query): Promise<void> {
  for (const [what, sql] of Object.entries(UNUSED)) expect(await query(sql), what).toEqual([]);
}

/** Deletes all threads. Then only claims, sums of usage, deletions in the feed, and blobs that no thread has are left. */
export async function expectNothingLeft(store: ThreadStore, query: Query, { lines }: NodeHistory): Promise<void> {
  const inboxes = lines.flatMap((line) =>
    line.type === "began" && line.step.type === "post" ? [line.step.thread] : [],
  );
  const { threads } = await store.list({ limit: 1000 });
  for (const id of new Set([...threads.map((thread) => thread.id), ...inboxes, "told"])) await store.delete(id);
  await expectNothingUnused(query);
  const kept = "SELECT hash FROM blob_uses WHERE thread = ''";
  for (const what of [
    "threads",
    "entries WHERE thread <> 0",
    "big_payloads",
    "lanes",
    "thread_fields",
    "waiting",
    "commands",
    "runnable",
    "blob_uses WHERE thread <> ''",
    "usage WHERE thread <> ''",
    "feed_items WHERE kind <> 'deleted'",
  ]) {
    await expect
      .poll(
        async () => {
          await store.delete("none"); // also removes blobs whose uses are over
          return (await query(`SELECT * FROM ${what}`)).length;
        },
        { message: what },
      )
      .toBe(0);
  }
  const forever = lines.flatMap((line) =>
    line.type === "done" && line.step.type === "blob" && line.step.thread === undefined ? [line.step.id] : [],
  );
  const left = await query(`SELECT key FROM records WHERE space = 'blob' AND key NOT IN (${kept})`);
  expect(left.length, "blobs that are kept forever").toBe(forever.length);
}
