import type { ThreadStore } from "../../stores/port.ts";
import { note, notes } from "../builders.ts";
import { equal, ok, present, rejects } from "../check.ts";
import { aMoment, drain } from "../drain.ts";
import type { Stories } from "../world.ts";

/** Many writers at once, over several handles. */
export const concurrency: Stories = {
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
    const written = (await drain(store.read(thread))).map(({ payload }) => payload["n"]);
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
      last = over; // one more look after the last append
      await aMoment();
      const loaded = (await (before % 2 === 0 ? store : other).load(thread))?.toArray() ?? [];
      const read = await drain(other.read(thread));
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
      const owners = (await drain(store.read(id))).map(({ payload }) => payload["id"]);
      equal(owners, [id, id, id, id], "owners");
    }
  },
};

async function writeBatches(store: ThreadStore, thread: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await store.append(thread, notes(3));
}
