import type { ThreadStore } from "../../stores/port.ts";
import type { Entry } from "../../thread/entry.ts";
import { note } from "../builders.ts";
import { equal, ok, present } from "../check.ts";
import { take } from "../drain.ts";
import type { WorkerResult } from "../worker-job.ts";
import type { Stories } from "../world.ts";

const BATCHES = 12;
const SIZE = 3;
const ENTRIES = BATCHES * SIZE;

/** The same promises when the other writer is another process. */
export const processes: Stories = {
  "two processes that append leave no gap and no duplicate, and no batch is torn": async ({ store, thread, spawn }) => {
    const job = { task: "append", threadId: thread, batches: BATCHES, batchSize: SIZE } as const;
    const results = await Promise.all([spawn({ ...job, writer: "a" }), spawn({ ...job, writer: "b" })]);
    await allThere(store, thread, results);
    equal(
      results.map(({ conflicts }) => conflicts),
      [0, 0],
      "conflicts",
    );
  },

  "two processes that compete for each revision both get there": async ({ store, thread, spawn }) => {
    const job = { task: "compete", threadId: thread, batches: BATCHES, batchSize: SIZE } as const;
    const results = await Promise.all([spawn({ ...job, writer: "a" }), spawn({ ...job, writer: "b" })]);
    await allThere(store, thread, results);
  },

  "two processes that claim the thread take turns": async ({ store, thread, spawn }) => {
    const job = { task: "claim", threadId: thread, batches: BATCHES, batchSize: SIZE } as const;
    const results = await Promise.all([spawn({ ...job, writer: "a" }), spawn({ ...job, writer: "b" })]);
    await allThere(store, thread, results);
  },

  "a watcher and a feed see what other processes append": async ({ store, thread, spawn }) => {
    const watching = take(ENTRIES * 2, store.watch(thread, { fromSeq: 0 }));
    const feeding = take(ENTRIES * 2, store.feed());
    const job = { task: "append", threadId: thread, batches: BATCHES, batchSize: SIZE } as const;
    await Promise.all([spawn({ ...job, writer: "a" }), spawn({ ...job, writer: "b" })]);
    const stored = present(await store.load(thread), "thread").toArray();
    equal(await watching, stored, "watched entries");
    equal(
      (await feeding).map(({ entry }) => entry),
      stored,
      "fed entries",
    );
  },

  "what a process has written is there when it is gone": async ({ store, thread, spawn }) => {
    const job = { threadId: thread, writer: "a", batches: 2, batchSize: SIZE } as const;
    await spawn({ ...job, task: "append" });
    const again = Array.from({ length: SIZE }, (_, i) => note({ writer: "a" }, { id: `a_1_${i}` }));
    equal((await store.append(thread, again, { expectedRev: 0 })).replayed, true, "replayed here");
    await spawn({ ...job, task: "append" });
    equal((await store.load(thread))?.rev, 2 * SIZE, "rev after the same work in a third process");
  },
};

async function allThere(store: ThreadStore, thread: string, results: readonly WorkerResult[]): Promise<void> {
  const entries = present(await store.load(thread), "thread").toArray();
  equal(entries.length, results.length * ENTRIES, "entries");
  const starts = results.flatMap(({ acknowledged }) => acknowledged).sort((a, b) => a - b);
  equal(
    starts,
    starts.map((_, n) => n * SIZE),
    "acknowledged batches",
  );
  for (const start of starts) ok(isBatch(entries.slice(start, start + SIZE)), `a whole batch at ${start}`);
  equal((await store.verify(thread)).ok, true, "verify");
}

/** `<writer>_<batch>_0`, `_1`, `_2`. */
function isBatch(entries: readonly Entry[]): boolean {
  const stem = entries[0]?.id.slice(0, -1);
  return entries.every(({ id }, i) => id === `${stem}${i}`);
}
