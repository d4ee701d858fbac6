import type { ThreadStore } from "../../stores/port.ts";
import type { EntryInput } from "../../thread/entry.ts";
import { note, notes } from "../builders.ts";
import {
  allItems,
  type CaseFixture,
  type ContractTests,
  equal,
  ok,
  present,
  rejects,
  sameJsonText,
  shortPause,
} from "./case-fixture.ts";

/** Cases: many concurrent writers over several handles. */
export const concurrencyCases: ContractTests = {
  "of eight appends with one expected revision exactly one wins": async ({ store, open, thread }) => {
    const stores = [store, await open(), await open()] as const;
    for (let round = 0; round < 5; round++) {
      const attempts = Array.from({ length: 8 }, (_, n) =>
        present(stores[n % 3], "store").append(thread, [note({ n }), note({ n })], { expectedRev: round * 2 }),
      );
      const outcomes = await Promise.allSettled(attempts);
      equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1, `winners of round ${round}`);
      for (const [n, { status }] of outcomes.entries())
        if (status === "rejected") await rejects(present(attempts[n], "attempt"), { code: "conflict" }, "a loser");
      equal((await store.load(thread))?.rev, round * 2 + 2, "rev");
    }
  },

  "appends without an expected revision never conflict, and leave no gap and no duplicate": async ({
    open,
    thread,
  }) => {
    const stores = [await open(), await open(), await open()];
    const writing = stores.flatMap((store, writer) =>
      Array.from({ length: 20 }, (_, n) =>
        store.append(thread, [note({ writer, n, i: 0 }), note({ writer, n, i: 1 })]),
      ),
    );
    const answers = await Promise.all(writing);
    const loaded = present(await stores[0]?.load(thread), "thread");
    equal(loaded.rev, 120, "rev");
    const seqs = answers.flatMap(({ entries }) => entries.map(({ seq }) => seq)).sort((a, b) => a - b);
    equal(
      seqs,
      seqs.map((_, seq) => seq),
      "seqs acknowledged",
    );
    for (const { entries } of answers) {
      const [first, second] = entries;
      equal(second?.seq, (first?.seq ?? 0) + 1, "a batch stands together");
      equal(loaded.at(first?.seq ?? -1)?.id, first?.id, "acknowledged where it lies");
    }
    equal(new Set(loaded.toArray().map(({ id }) => id)).size, 120, "different ids");
  },

  "the appends of one handle land in the order they were made": async ({ store, thread }) => {
    await Promise.all(Array.from({ length: 50 }, (_, n) => store.append(thread, note({ n }))));
    const written = (await allItems(store.read(thread))).map(({ payload }) => payload["n"]);
    equal(
      written,
      written.map((_, n) => n),
      "order",
    );
  },

  "an append that fails does not fail those of the same turn": async ({ store, thread, fresh }) => {
    await store.append(thread, note({}, { id: "taken" }));
    const outcomes = await Promise.allSettled([
      store.append(thread, note({ n: 1 })),
      store.append(thread, note({ n: 2 }), { expectedRev: 99 }),
      store.append(fresh("other"), notes(3)),
      store.append(thread, note({ other: "content" }, { id: "taken" })),
      store.append(fresh("missing"), note(), { create: false }),
      store.append("not/an/id", note()),
      store.append(thread, note({ n: 3 })),
    ]);
    const kept = ["fulfilled", "rejected", "fulfilled", "rejected", "rejected", "rejected", "fulfilled"];
    equal(
      outcomes.map(({ status }) => status),
      kept,
      "outcomes",
    );
    equal(
      (await store.load(thread))?.toArray().map(({ payload }) => payload["n"]),
      [undefined, 1, 3],
      "entries",
    );
    equal((await store.load(fresh("other")))?.rev, 3, "rev of the other thread");
    equal(await store.load(fresh("missing")), undefined, "missing thread");
  },

  "every read while others append is a prefix": async ({ store, open, thread }) => {
    const other = await open();
    const writing = Promise.all([writeBatches(store, thread, 15), writeBatches(other, thread, 15)]);
    let over = false;
    const end = writing.finally(() => {
      over = true;
    });
    let before = 0;
    for (let last = false; !last; ) {
      last = over; // continues once after `over`, to read the entries of the last append
      await shortPause();
      const loaded = (await (before % 2 === 0 ? store : other).load(thread))?.toArray() ?? [];
      const read = await allItems(other.read(thread));
      for (const entries of [loaded, read]) {
        equal(entries.length % 3, 0, "whole batches");
        equal(
          entries.map(({ seq }) => seq),
          entries.map((_, seq) => seq),
          "seqs",
        );
        ok(entries.length >= before, "history never shrinks");
        before = entries.length;
      }
    }
    await end;
    equal(before, 90, "entries at the end");
    equal((await store.verify(thread)).ok, true, "verify");
  },

  "many threads are written at once without mixing": async ({ store, open, fresh }) => {
    const other = await open();
    const names = Array.from({ length: 12 }, (_, n) => fresh(`t${n}`));
    await Promise.all(
      names.flatMap((id) => [store, other].map((handle) => handle.append(id, [note({ id }), note({ id })]))),
    );
    for (const id of names) {
      const owners = (await allItems(store.read(id))).map(({ payload }) => payload["id"]);
      equal(owners, [id, id, id, id], "owners");
    }
  },
};

async function writeBatches(store: ThreadStore, thread: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await store.append(thread, notes(3));
}

/** Cases: a caller may retry an append at any time if its outcome is unknown. */
export const retryCases: ContractTests = {
  "the same batch again is answered with what is there": async ({ store, thread }) => {
    const first = await store.append(thread, batch());
    const again = await store.append(thread, batch());
    sameJsonText(again.entries, first.entries, "entries");
    equal({ rev: again.rev, replayed: again.replayed }, { rev: 2, replayed: true }, "answer");
    equal((await store.load(thread))?.rev, 2, "rev");
  },

  "a retry is answered at any expected revision": async ({ store, thread }) => {
    await store.append(thread, batch(), { expectedRev: 0 });
    for (const expectedRev of [0, 1, 2, 99])
      equal((await store.append(thread, batch(), { expectedRev })).replayed, true, `replayed at ${expectedRev}`);
  },

  "a retry is answered as the first time, however much was appended since": async ({ store, thread }) => {
    const first = await store.append(thread, batch(), { expectedRev: 0 });
    for (let times = 0; times < 5; times++) await store.append(thread, notes(200));
    const again = await store.append(thread, batch(), { expectedRev: 0 });
    sameJsonText(again.entries, first.entries, "entries");
    equal({ rev: again.rev, replayed: again.replayed }, { rev: first.rev, replayed: true }, "answer");
  },

  "an append whose acknowledgement was lost is found by the retry": async ({ open, thread }) => {
    const lost = await open();
    await lost.append(thread, batch(), { expectedRev: 0 });
    await lost.close();
    const store = await open();
    const again = await store.append(thread, batch(), { expectedRev: 0 });
    equal({ rev: again.rev, replayed: again.replayed }, { rev: 2, replayed: true }, "answer");
  },

  "of the same batch sent by many at once one is written": async ({ store, open, thread }) => {
    const other = await open();
    const sends = Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? store : other).append(thread, batch()));
    const answers = await Promise.all(sends);
    equal(answers.filter(({ replayed }) => !replayed).length, 1, "written");
    equal((await store.load(thread))?.rev, 2, "rev");
  },

  "a retry may repeat a part of the batch that stands together": async ({ store, thread }) => {
    await store.append(thread, [...batch(), note({}, { id: "c" })]);
    const again = await store.append(thread, [note({}, { id: "c" })]);
    equal([again.replayed, again.rev, again.entries[0]?.seq], [true, 3, 2], "answer");
  },

  "a time of one's own must be the same, a default one need not": async ({ store, open, thread }) => {
    const later = await open({ clock: () => 9_000_000 });
    await store.append(thread, note({}, { id: "a", at: 5 }));
    equal((await later.append(thread, note({}, { id: "a" }))).replayed, true, "replayed without a time");
    equal((await later.append(thread, note({}, { id: "a", at: 5 }))).entries[0]?.at, 5, "at");
    await refused(store, thread, note({}, { id: "a", at: 6 }));
  },

  "the order of keys is not content": async ({ store, thread }) => {
    const refs = { runId: "r", iteration: 1 };
    const first = await store.append(thread, note({ a: 1, b: { x: 1, y: [1, 2] } }, { id: "e", refs }));
    const reordered = note({ b: { y: [1, 2], x: 1 }, a: 1 }, { id: "e", refs: { iteration: 1, runId: "r" } });
    const again = await store.append(thread, reordered);
    equal(again.replayed, true, "replayed");
    sameJsonText(again.entries, first.entries, "entries: as they were first written");
  },

  "a property that is undefined is the same as none": async ({ store, thread }) => {
    await store.append(thread, note({ a: 1, b: undefined }, { id: "e" }));
    equal((await store.append(thread, note({ a: 1 }, { id: "e" }))).replayed, true, "replayed");
  },

  "a known id with other content is refused and nothing is written": async ({ store, thread }) => {
    const original = note({ n: 1 }, { id: "a", refs: { runId: "r" }, at: 5 });
    await store.append(thread, original);
    await refused(store, thread, { ...original, payload: { n: 2 } });
    await refused(store, thread, { ...original, payload: { n: "1" } });
    await refused(store, thread, { ...original, payload: {} });
    await refused(store, thread, { ...original, kind: "other" });
    await refused(store, thread, { ...original, refs: {} });
    await refused(store, thread, { ...original, v: 2 });
    sameJsonText((await store.load(thread))?.at(0)?.payload, { n: 1 }, "payload");
  },

  "known and new ids in one batch are refused and nothing is written": async ({ store, thread }) => {
    await store.append(thread, batch());
    await refused(store, thread, [note({}, { id: "b" }), note({}, { id: "c" })]);
    await refused(store, thread, [note(), ...batch()]);
    equal((await store.load(thread))?.rev, 2, "rev");
    equal((await store.append(thread, note({}, { id: "c" }))).replayed, false, "c was never written");
  },

  "known ids in another order or with a gap are refused": async ({ store, thread }) => {
    await store.append(thread, [...batch(), note({}, { id: "c" })]);
    await refused(store, thread, batch().toReversed());
    await refused(store, thread, [note({ n: 1 }, { id: "a" }), note({}, { id: "c" })]);
  },

  "an id may stand only once in a batch": async ({ store, thread }) => {
    await refused(store, thread, [note({}, { id: "twin" }), note({}, { id: "twin" })]);
    equal(await store.load(thread), undefined, "thread");
  },

  "an id that repeats from the option ids is refused, and nothing is written": async ({ open, thread }) => {
    const store = await open({ ids: (prefix) => `${prefix}_same`, clock: () => 1 });
    await store.append(thread, note({ n: 1 }));
    await refused(store, thread, note({ n: 1 }));
    await refused(store, thread, [note({}, { id: "own" }), note()]);
    await refused(store, thread, [note(), note()]);
    equal((await store.append(thread, note({}, { id: "own" }))).rev, 2, "rev");
  },

  "ids are unique per thread, not per store": async ({ store, thread, fresh }) => {
    await store.append(thread, batch());
    const other = await store.append(fresh("other"), batch());
    equal(other.replayed, false, "replayed");
    ok(other.rev === 2, "the other thread has entries of its own");
  },
};

function batch(): EntryInput[] {
  return [note({ n: 1 }, { id: "a" }), note({ n: 2 }, { id: "b" })];
}

async function refused(store: CaseFixture["store"], thread: string, inputs: EntryInput | EntryInput[]): Promise<void> {
  const before = await store.load(thread);
  await rejects(store.append(thread, inputs), { code: "entry_id_reused", threadId: thread }, "append");
  const known = before !== undefined;
  if (known)
    await rejects(
      store.append(thread, inputs, { expectedRev: before.rev }),
      { code: "entry_id_reused" },
      "append at its revision",
    );
  sameJsonText((await store.load(thread))?.toArray(), before?.toArray(), "entries");
}
