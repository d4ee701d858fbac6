import { setTimeout as sleep } from "node:timers/promises";
import type { ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { shareAtRest } from "../support/cpu.ts";
import { median } from "../support/statistics.ts";
import type { Row, Table } from "../support/table.ts";
import { showSize } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { messages } from "./message.ts";

const THREADS = 100;
const SMALLER = 8;

/** A feed of all threads in SQLite: read from the first entry to the last, and then waiting for the next one. */
export async function feed({ sizes, scratch, fixtures, budgets }: Bench): Promise<Table> {
  const { feedEntries, long, restMs, rounds } = sizes;
  const counts = [Math.round(feedEntries / SMALLER), feedEntries] as const;
  const stores = await Promise.all(counts.map((count) => filled(scratch.file(`feed-${count}.db`), count)));
  const [small, large] = stores as [ThreadStore, ThreadStore]; // one for each of the two counts
  const ratios: number[] = [];
  for (let round = 0; round < Math.max(3, rounds >> 3); round += 1)
    ratios.push((await cpuPerEntry(large, counts[1])) / (await cpuPerEntry(small, counts[0])));
  for (const store of stores) await store.close();
  const waiting = sqliteStore(await fixtures.requests(long));
  const nothing = await shareAtRest(restMs);
  const stop = new AbortController();
  const items = Array.fromAsync(waiting.feed({ after: await cursorAt(waiting, long), signal: stop.signal }));
  items.catch(() => {}); // it is awaited below
  await sleep(500); // the first poll
  const idle = await shareAtRest(restMs);
  stop.abort();
  if ((await items).length > 0) throw new Error("The feed was not at its end.");
  await waiting.close();

  const row = (name: string, values: Row["values"]): Row => ({ name, values });
  return {
    id: "feed",
    title: `The feed of ${THREADS} threads in SQLite, at the default poll interval`,
    columns: [
      { key: "busy", label: "of a core", unit: "share" },
      { key: "linear", label: `CPU per entry, to ${showSize(counts[0])}`, unit: "times" },
    ],
    rows: [
      row("no feed", { busy: nothing }),
      row(`a feed of ${showSize(long)} entries at its end`, { busy: idle }),
      row(`a whole feed of ${showSize(feedEntries)} entries`, { linear: median(ratios) }),
    ],
    checks: [
      budgets.atMost("idleFeedShare", Math.max(0, idle - nothing), {
        what: "core share of an idle feed",
        unit: "share",
      }),
      budgets.atMost("feedLargeToSmall", median(ratios), {
        what: "feed, CPU per entry, large to small",
        unit: "times",
      }),
    ],
  };
}

/** The cursor of a row is the epoch of the feed, a hyphen, and the position of the row, which begins at 1. */
async function cursorAt(store: ThreadStore, position: number): Promise<string> {
  for await (const { cursor } of store.feed()) return cursor.replace(/-1$/, `-${position}`);
  throw new Error("The feed is empty.");
}

async function filled(path: string, count: number): Promise<ThreadStore> {
  const store = sqliteStore(path, { mode: "relaxed" });
  for (let from = 0, n = 0; from < count; from += 500, n += 1)
    await store.append(`thread_${n % THREADS}`, messages(from, Math.min(500, count - from)));
  return store;
}

async function cpuPerEntry(store: ThreadStore, count: number): Promise<number> {
  const before = process.cpuUsage();
  const stop = new AbortController();
  const { read, over } = drain(store, count, stop.signal);
  await read;
  const { user, system } = process.cpuUsage(before);
  stop.abort();
  await over;
  return (user + system) / count;
}

/** `read` resolves at the last entry, `over` after the signal. */
function drain(
  store: ThreadStore,
  count: number,
  signal: AbortSignal,
): { readonly read: Promise<void>; readonly over: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let seen = 0;
  const over = (async () => {
    for await (const _ of store.feed({ signal })) {
      seen += 1;
      if (seen === count) resolve();
    }
  })();
  return { read: promise, over };
}
