import type { Entry } from "../../thread/entry.ts";
import { note, notes } from "../builders.ts";
import { equal, rejects } from "../check.ts";
import { aMoment, drain, take } from "../drain.ts";
import type { Stories } from "../world.ts";

/** Entries as they come. */
export const watches: Stories = {
  "a watcher from the start sees what is there and what comes": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    const seen = take(5, store.watch(thread, { fromSeq: 0 }));
    await store.append(thread, notes(2));
    equal(seqs(await seen), [0, 1, 2, 3, 4], "seqs");
  },

  "a watcher from the middle begins there": async ({ store, thread }) => {
    await store.append(thread, notes(5));
    equal(seqs(await take(2, store.watch(thread, { fromSeq: 3 }))), [3, 4], "seqs");
  },

  "a watcher from beyond the end waits for that entry": async ({ store, thread }) => {
    await store.append(thread, notes(2));
    const seen = take(2, store.watch(thread, { fromSeq: 4 }));
    for (let n = 0; n < 4; n++) await store.append(thread, note());
    equal(seqs(await seen), [4, 5], "seqs");
  },

  "a thread that does not exist yet can be watched": async ({ store, thread }) => {
    const seen = take(2, store.watch(thread, { fromSeq: 0 }));
    await aMoment();
    await store.append(thread, notes(2));
    equal(seqs(await seen), [0, 1], "seqs");
  },

  "a watcher sees what another handle appends": async ({ store, open, thread }) => {
    const other = await open();
    const seen = take(4, store.watch(thread, { fromSeq: 0 }));
    await other.append(thread, notes(2));
    await aMoment();
    await other.append(thread, notes(2));
    equal(seqs(await seen), [0, 1, 2, 3], "seqs");
  },

  "a watcher gets the entries that were written, whole": async ({ store, thread }) => {
    const seen = take(2, store.watch(thread, { fromSeq: 0 }));
    const { entries } = await store.append(thread, [note({ text: "\u0000 \u{1F9F6}" }, { v: 2 }), note()]);
    equal(await seen, entries, "entries");
  },

  "a watch ends when its signal aborts": async ({ store, thread }) => {
    await store.append(thread, notes(2));
    const stop = new AbortController();
    const seen: number[] = [];
    for await (const { seq } of store.watch(thread, { fromSeq: 0, signal: stop.signal })) {
      seen.push(seq);
      if (seq === 1) setTimeout(() => stop.abort(), 5);
    }
    equal(seen, [0, 1], "seqs");
  },

  "a watch whose signal has aborted already is over": async ({ store, thread }) => {
    await store.append(thread, notes(2));
    equal(await drain(store.watch(thread, { fromSeq: 0, signal: AbortSignal.abort() })), [], "entries");
  },

  "a watch ends when the store closes": async ({ open, thread }) => {
    const store = await open();
    await store.append(thread, notes(2));
    const seen: Entry[] = [];
    const watching = (async () => {
      for await (const entry of store.watch(thread, { fromSeq: 0 })) seen.push(entry);
    })();
    while (seen.length < 2) await aMoment();
    await store.close();
    await watching;
    equal(seqs(seen), [0, 1], "seqs");
  },

  "watchers that begin while others append miss nothing and see everything in order": async ({ open, thread }) => {
    const [one, two] = [await open(), await open()];
    const writing = [one, two].map(async (store, writer) => {
      for (let n = 0; n < 20; n++) await store.append(thread, [note({ writer, n }), note({ writer, n })]);
    });
    const watching: Promise<Entry[]>[] = [];
    for (let n = 0; n < 6; n++) {
      watching.push(take(80 - n, (n % 2 === 0 ? one : two).watch(thread, { fromSeq: n })));
      await aMoment();
    }
    await Promise.all(writing);
    for (const [from, seen] of (await Promise.all(watching)).entries())
      equal(
        seqs(seen),
        seen.map((_, i) => from + i),
        `seqs from ${from}`,
      );
  },

  "more than a page is watched in order": async ({ store, thread }) => {
    await store.append(thread, notes(1100));
    const seen = await take(1100, store.watch(thread, { fromSeq: 0 }));
    equal(
      seqs(seen),
      seen.map((_, seq) => seq),
      "seqs",
    );
  },

  "a watch needs to know where to begin": async ({ store, thread }) => {
    for (const fromSeq of [-1, 0.5, Number.NaN, undefined as unknown as number]) // wrong on purpose
      await rejects(take(1, store.watch(thread, { fromSeq })), { code: "invalid_options" }, `fromSeq ${fromSeq}`);
  },
};

function seqs(entries: readonly Entry[]): number[] {
  return entries.map(({ seq }) => seq);
}
