import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sqliteStore } from "heddle/sqlite";
import type { FeedItem } from "heddle/store";
import { expect } from "vitest";
import { allThreads, feedSoFar } from "../../support/everything.ts";
import { report } from "../../support/report.ts";
import { seeded } from "../../support/seeded.ts";
import { fastFolder } from "../../support/temp-folder.ts";
import { Writer } from "./writers.ts";

/** What a dead writer left: the file, its log, and what both hold when nothing is torn. */
interface Remains {
  readonly db: Buffer;
  readonly wal: Buffer;
  readonly feed: readonly FeedItem[];
  readonly batchSize: number;
}

type Tear = (wal: Buffer) => Buffer;

/** The log of a killed writer, torn in so many ways: what opens must be a prefix of what was. */
export async function tearLogs({ tears, round = 0 }: { tears: number; round?: number }): Promise<void> {
  const random = seeded(round);
  const folder = fastFolder();
  const remains = await writeAndDie(folder);
  const count = { whole: 0, shorter: 0, empty: 0 };
  for (let n = 0; n < tears; n++) {
    const cut: Tear = (wal) => wal.subarray(0, random.below(wal.length + 1));
    const flip: Tear = (wal) =>
      flipped(wal, wal.length - 1 - random.below(Math.min(wal.length, 40_000)), random.below(8));
    const blank: Tear = (wal) => Buffer.from(wal).fill(0, wal.length - random.below(20_000));
    const kept = await openTorn(join(folder, `torn-${n}`), remains, random.pick([cut, cut, flip, blank]));
    count[kept === remains.feed.length ? "whole" : kept === 0 ? "empty" : "shorter"]++;
  }
  report({ seed: random.seed, tears, ...count, entries: remains.feed.length, "log bytes": remains.wal.length });
  expect(count.shorter).toBeGreaterThan(0);
}

async function writeAndDie(folder: string): Promise<Remains> {
  const path = join(folder, "live.db");
  const common = { url: `sqlite:${path}`, tenant: "default", from: 0, to: 1_000_000, batchSize: 3 };
  const writers = ["a", "b"].map((writer) => new Writer({ ...common, writer, threadId: `of_${writer}` }));
  await Promise.all(writers.map((writer) => writer.start()));
  for (const writer of writers) writer.go();
  // Killed before a checkpoint: what the database has taken over was synced in the log, and cannot be torn off any more.
  const dying = writers.map(async (writer) => {
    await writer.progress(60);
    await writer.kill();
  });
  await Promise.all(dying);
  const [db, wal] = [readFileSync(path), readFileSync(`${path}-wal`)];
  const whole = lay(join(folder, "whole"), db, wal);
  const store = sqliteStore(whole);
  const feed = await feedSoFar(store);
  await store.close();
  expect(feed.length).toBeGreaterThanOrEqual(
    writers.reduce((sum, { acknowledged }) => sum + acknowledged.length * 3, 0),
  );
  return { db, wal, feed, batchSize: 3 };
}

/** How many entries a torn log still gives; all of them have been checked. */
async function openTorn(folder: string, { db, wal, feed, batchSize }: Remains, tear: Tear): Promise<number> {
  const path = lay(folder, db, tear(wal));
  const store = sqliteStore(path);
  const kept = await feedSoFar(store);
  expect(kept, "a prefix of what was").toEqual(feed.slice(0, kept.length));
  expect(kept.length % batchSize, "whole commits").toBe(0);
  for (const { id, rev } of await allThreads(store, "id")) {
    expect(await store.verify(id)).toMatchObject({ ok: true, entries: rev });
    expect(rev).toBe(kept.filter(({ threadId }) => threadId === id).length);
    const { rev: after } = await store.append(id, { payload: { after: "the tear" } });
    expect(after).toBe(rev + 1);
  }
  await store.close();
  rmSync(folder, { recursive: true });
  return kept.length;
}

function lay(folder: string, db: Buffer, wal: Buffer): string {
  mkdirSync(folder);
  const path = join(folder, "copy.db");
  writeFileSync(path, db);
  writeFileSync(`${path}-wal`, wal);
  return path;
}

function flipped(bytes: Buffer, offset: number, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[offset] = (copy[offset] ?? 0) ^ (1 << bit);
  return copy;
}
