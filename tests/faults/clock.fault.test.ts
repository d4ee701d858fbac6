import { memoryStore, type ThreadStore } from "heddle";
import { type SqliteStoreOptions, sqliteStore } from "heddle/sqlite";
import { MemoryDatabase } from "heddle/store";
import { note } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { allThreads, feedSoFar } from "../support/everything.ts";
import { type Random, seeded } from "../support/seeded.ts";
import { fastFile } from "../support/temp-folder.ts";

const DAY = 24 * 60 * 60 * 1000;
const stores: Readonly<Record<string, (options: SqliteStoreOptions) => ThreadStore>> = {
  memory: (options) => memoryStore(options),
  SQLite: (options) => sqliteStore(fastFile(), options),
};

/** A clock that runs, and now and then jumps by a day, ahead or back. */
function jumpingClock(random: Random): () => number {
  let now = 1_700_000_000_000;
  return () => {
    now += random.oneIn(4) ? random.pick([DAY, -DAY]) : random.below(3);
    return now;
  };
}

test.each(Object.entries(stores))(
  "on %s a clock that jumps by days changes times, never the order",
  async (_, open) => {
    const random = seeded();
    let said: number[] = [];
    const clock = jumpingClock(random);
    const store = open({ clock: () => said[said.push(clock()) - 1] ?? 0, pollMs: 5 });
    onTestFinished(() => store.close());
    const written: [string, number][] = [];
    const saidByAppend = new Map<string, readonly (readonly number[])[]>();
    const watched: number[] = [];
    const watching = watch(store, "t_0", watched);
    for (let n = 0; n < 120; n++) {
      const id = `t_${random.below(4)}`;
      said = [];
      await store.append(id, note({ n }));
      saidByAppend.set(id, [...(saidByAppend.get(id) ?? []), said]);
      written.push([id, n]);
    }
    const feed = await feedSoFar(store);
    expect(feed.map(({ threadId, entry }) => [threadId, entry?.payload["n"]])).toEqual(written);
    const threads = await allThreads(store, "updated");
    for (const { id, rev, createdAt, updatedAt } of threads) {
      const thread = await store.load(id);
      const own = written.filter(([threadId]) => threadId === id).map(([, n]) => n);
      expect(thread?.toArray().map(({ payload }) => payload["n"])).toEqual(own);
      expect(saidByAppend.get(id)?.at(-1), "of the last append, though others may be later").toContain(updatedAt);
      expect(saidByAppend.get(id)?.at(0)).toContain(createdAt);
      expect(await store.verify(id)).toMatchObject({ ok: true, entries: rev });
    }
    const times = threads.map(({ updatedAt }) => updatedAt);
    expect(times, "latest first, by what the clock said").toEqual(times.toSorted((a, b) => b - a));
    expect(threads).toHaveLength(4);
    const first = written.filter(([id]) => id === "t_0").map(([, n]) => n);
    await watching(first.length);
    expect(watched).toEqual(first);
  },
);

test.each(Object.entries(stores))(
  "on %s clocks that jump may end a claim early, and never let two hold at once",
  async (name) => {
    const random = seeded();
    const path = fastFile();
    const database = new MemoryDatabase();
    const handle = (holder: string): { holder: string; store: ThreadStore; epochs: number[] } => {
      const clock = jumpingClock(random);
      const store = name === "memory" ? memoryStore({ clock, database }) : sqliteStore(path, { clock });
      onTestFinished(() => store.close());
      return { holder, store, epochs: [] };
    };
    const [one, other] = [handle("one"), handle("other")];
    let current = 0;
    for (let step = 0; step < 200; step++) {
      const { holder, store, epochs } = random.pick([one, other]);
      const told = epochs.at(-1);
      if (told === undefined || random.oneIn(2)) {
        const claim = await store.claim("t", { holder, ttlMs: DAY }).catch(heldByTheOther);
        if (claim === undefined) continue;
        expect(claim.epoch).toBe(current + 1);
        current = claim.epoch;
        epochs.push(current);
      } else {
        const outcome = await store.append("t", note({ step }), { epoch: told }).catch((error: unknown) => error);
        if (told === current) expect(outcome).toMatchObject({ replayed: false });
        else expect(outcome).toMatchObject({ code: "stale_holder", epoch: told, current });
      }
    }
    expect(current).toBeGreaterThan(10);
  },
);

function heldByTheOther(error: unknown): undefined {
  expect(error).toMatchObject({ code: "thread_held" });
}

/** Collects what a watcher sees; the answer waits until it has seen so many. */
function watch(store: ThreadStore, threadId: string, seen: number[]): (count: number) => Promise<void> {
  const over = new AbortController();
  let wanted = Number.POSITIVE_INFINITY;
  const done = (async () => {
    for await (const { payload } of store.watch(threadId, { fromSeq: 0, signal: over.signal })) {
      seen.push(Number(payload["n"]));
      if (seen.length >= wanted) return;
    }
  })();
  onTestFinished(() => over.abort());
  return async (count) => {
    wanted = count;
    if (seen.length < count) await done;
  };
}
