import { note, notes } from "../builders.ts";
import { equal, ok, present, rejects, sameJsonText } from "../check.ts";
import type { Stories } from "../world.ts";

/** Loading threads: whole, a tail, and earlier revisions. */
export const loads: Stories = {
  "a missing thread is undefined": async ({ store, thread }) => {
    for (const options of [{}, { last: 3 }, { last: 0 }, { upToSeq: 5 }])
      equal(await store.load(thread, options), undefined, `load(${JSON.stringify(options)})`);
  },

  "a thread is loaded whole": async ({ store, thread }) => {
    await store.append(thread, notes(3, { at: 10 }), { metadata: { title: "t" } });
    await store.append(thread, note({}, { at: 25 }));
    const loaded = present(await store.load(thread), "thread");
    const { id, rev, lastSeq, firstSeq, entryCount, createdAt, updatedAt, metadata, base } = loaded;
    equal(
      { id, rev, lastSeq, firstSeq, entryCount, createdAt, updatedAt, metadata, base },
      {
        id: thread,
        rev: 4,
        lastSeq: 3,
        firstSeq: 0,
        entryCount: 4,
        createdAt: 10,
        updatedAt: 25,
        metadata: { title: "t" },
        base: undefined,
      },
      "thread",
    );
  },

  "a tail knows its place": async ({ store, thread }) => {
    await store.append(thread, notes(10));
    const tail = present(await store.load(thread, { last: 3 }), "thread");
    const { rev, firstSeq, lastSeq, entryCount } = tail;
    equal({ rev, firstSeq, lastSeq, entryCount }, { rev: 10, firstSeq: 7, lastSeq: 9, entryCount: 10 }, "tail");
    equal(
      tail.toArray().map(({ seq }) => seq),
      [7, 8, 9],
      "seqs",
    );
    ok(tail.base !== undefined, "a tail has a base");
  },

  "a tail as long as the thread is the thread": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    const whole = present(await store.load(thread), "thread");
    for (const last of [3, 4, 1000, Number.MAX_SAFE_INTEGER])
      sameJsonText((await store.load(thread, { last }))?.toJSON(), whole.toJSON(), `load({ last: ${last} })`);
  },

  "a tail of nothing still knows the revision": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    const { rev, firstSeq, entryCount, base } = present(await store.load(thread, { last: 0 }), "thread");
    equal({ rev, firstSeq, entryCount }, { rev: 3, firstSeq: 3, entryCount: 3 }, "thread");
    equal(base?.activeLane, "default", "active lane");
  },

  "a thread is loaded as it was at a seq": async ({ store, thread }) => {
    await store.append(thread, notes(10));
    const whole = present(await store.load(thread), "thread");
    for (const upToSeq of [0, 4, 9]) {
      const past = present(await store.load(thread, { upToSeq }), "thread");
      sameJsonText(past.toJSON(), whole.upTo(upToSeq).toJSON(), `load({ upToSeq: ${upToSeq} })`);
    }
  },

  "a tail of the past": async ({ store, thread }) => {
    await store.append(thread, notes(10));
    const { rev, firstSeq, lastSeq } = present(await store.load(thread, { upToSeq: 6, last: 2 }), "thread");
    equal({ rev, firstSeq, lastSeq }, { rev: 7, firstSeq: 5, lastSeq: 6 }, "thread");
    equal((await store.load(thread, { upToSeq: 6, last: 99 }))?.firstSeq, 0, "firstSeq");
    equal((await store.load(thread, { upToSeq: 9, last: 0 }))?.firstSeq, 10, "firstSeq");
  },

  "a seq that is not there yet is an error": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    await rejects(store.load(thread, { upToSeq: 3 }), { code: "seq_out_of_range", threadId: thread }, "load");
  },

  "options that make no sense are refused": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    for (const bad of [-1, 1.5, Number.NaN]) {
      await rejects(store.load(thread, { last: bad }), { code: "invalid_options" }, `load({ last: ${bad} })`);
      await rejects(store.load(thread, { upToSeq: bad }), { code: "invalid_options" }, `load({ upToSeq: ${bad} })`);
    }
  },

  "a thread of more than a page is loaded whole": async ({ store, thread }) => {
    await store.append(thread, notes(1201));
    const loaded = present(await store.load(thread), "thread").toArray();
    equal(
      loaded.map(({ seq, payload }) => [seq, payload["n"]]),
      loaded.map((_, n) => [n, n]),
      "entries",
    );
    equal([loaded.length, (await store.load(thread, { last: 777 }))?.firstSeq], [1201, 424], "extent");
  },

  "a loaded thread is a value: what is appended to it or to the store changes nothing else": async ({
    store,
    thread,
  }) => {
    await store.append(thread, notes(2));
    const loaded = present(await store.load(thread), "thread");
    loaded.append(note());
    await store.append(thread, notes(3));
    equal([loaded.rev, (await store.load(thread))?.rev], [2, 5], "revs");
    ok(Object.isFrozen(loaded.at(0)?.payload), "payloads are frozen");
  },

  "a thread that is deleted while it is loaded is whole or gone, never damaged": async ({ store, open, thread }) => {
    const other = await open();
    for (let round = 0; round < 10; round++) {
      await store.append(thread, notes(5));
      const early = [other.load(thread), other.load(thread, { last: 2 })];
      const removing = store.delete(thread);
      const loaded = await Promise.all([...early, other.load(thread), store.load(thread, { upToSeq: 4 })]);
      equal(await removing, true, "deleted");
      for (const seen of loaded) ok(seen === undefined || seen.rev === 5, "whole or gone");
    }
  },
};
