import { Thread } from "../../thread/thread.ts";
import { note, notes, user } from "../builders.ts";
import { equal, ok, present, rejects, sameJsonText } from "../check.ts";
import type { Stories, World } from "../world.ts";

/** Threads that were made in memory. */
export const saves: Stories = {
  "a thread that is saved can be loaded": async ({ store, thread }) => {
    const metadata = { title: "t", nested: { z: 1, a: 2 } };
    const made = Thread.create({ id: thread, metadata }).append([
      user("hi", { refs: { runId: "r" } }),
      note({}, { v: 2 }),
    ]);
    await store.save(made);
    sameJsonText((await store.load(thread))?.toJSON(), made.toJSON(), "thread");
    equal((await store.verify(thread)).ok, true, "verify");
  },

  "an empty thread is created": async ({ store, thread }) => {
    const made = Thread.create({ id: thread, metadata: { title: "t" } });
    await store.save(made);
    sameJsonText((await store.load(thread))?.toJSON(), made.toJSON(), "thread");
    equal(
      (await store.list()).threads.map(({ id, rev }) => [id, rev]),
      [[thread, 0]],
      "list",
    );
    equal(await store.verify(thread).then(({ ok, entries }) => [ok, entries]), [true, 0], "verify");
    equal((await store.append(thread, note(), { expectedRev: 0 })).rev, 1, "rev");
  },

  "only what is missing is written": async ({ store, thread }) => {
    const made = Thread.create({ id: thread }).append(notes(3));
    await store.save(made);
    const longer = made.append(notes(2));
    await store.save(longer);
    sameJsonText((await store.load(thread))?.toJSON(), longer.toJSON(), "thread");
    await store.append(thread, note({ after: true }));
    equal((await store.load(thread))?.rev, 6, "rev");
  },

  "saving what is there already does nothing": async ({ store, thread }) => {
    const made = Thread.create({ id: thread }).append(notes(3));
    await store.save(made);
    await store.save(made);
    await store.append(thread, note());
    await store.save(made);
    await store.save(made.upTo(0));
    await store.save(Thread.create({ id: thread }));
    equal((await store.load(thread))?.rev, 4, "rev");
  },

  "a thread that was loaded and grew is saved": async ({ store, thread }) => {
    await store.append(thread, notes(3), { metadata: { title: "t" } });
    const grown = present(await store.load(thread), "thread").append([note({ n: 3 }), note({ n: 4 })]);
    await store.save(grown);
    sameJsonText((await store.load(thread))?.toJSON(), grown.toJSON(), "thread");
  },

  "a tail that grew is saved": async ({ store, thread }) => {
    await store.append(thread, notes(10));
    const tail = present(await store.load(thread, { last: 2 }), "thread");
    await store.save(tail);
    await store.save(tail.append(note({ n: 10 })));
    const loaded = present(await store.load(thread), "thread");
    equal(
      loaded.toArray().map(({ payload }) => payload["n"]),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      "entries",
    );
    equal((await store.verify(thread)).ok, true, "verify");
  },

  "a history that differs at any place is an error and writes nothing": async ({ store, thread }) => {
    const made = Thread.create({ id: thread, clock: () => 5 }).append(notes(4));
    await store.save(made);
    const { entries, ...rest } = made.toJSON();
    for (let seq = 0; seq < entries.length; seq++) {
      for (const change of [
        { id: "other" },
        { payload: { n: "other" } },
        { kind: "other" },
        { at: 6 },
        { v: 2 },
        { refs: { runId: "r" } },
      ]) {
        const other = entries.map((entry) => (entry.seq === seq ? { ...entry, ...change } : entry));
        const diverged = Thread.fromJSON({ ...rest, entries: other });
        const facts = { code: "thread_diverged", threadId: thread };
        await rejects(store.save(diverged), facts, `save with another ${Object.keys(change)[0]} at ${seq}`);
        await rejects(store.save(diverged.append(note())), facts, "save of a longer one");
      }
    }
    sameJsonText((await store.load(thread))?.toJSON(), made.toJSON(), "thread");
  },

  "two that grew from one history cannot both be saved": async ({ store, open, thread }) => {
    await store.append(thread, notes(3));
    const loaded = present(await store.load(thread), "thread");
    await store.save(loaded.append(note({ branch: "a" })));
    await rejects((await open()).save(loaded.append(note({ branch: "b" }))), { code: "thread_diverged" }, "save");
    equal((await store.load(thread))?.last()?.payload, { branch: "a" }, "last payload");
  },

  "of two saved at once one stays and no half of the other": async ({ store, open, thread }) => {
    const other = await open();
    const made = Thread.create({ id: thread }).append(notes(2));
    const [a, b] = [made.append([note({ a: 1 }), note({ a: 2 })]), made.append([note({ b: 1 }), note({ b: 2 })])];
    const outcomes = await Promise.allSettled([store.save(a), other.save(b)]);
    const winners = [a, b].filter((_, n) => outcomes[n]?.status === "fulfilled");
    equal(winners.length, 1, "winners");
    sameJsonText((await store.load(thread))?.toArray(), winners[0]?.toArray(), "entries");
  },

  "the same thread may be saved by many at once": async ({ store, open, thread }) => {
    const other = await open();
    const made = Thread.create({ id: thread }).append(notes(20));
    await Promise.all([store.save(made), other.save(made), store.save(made.upTo(9)), other.save(made)].map(calm));
    await store.save(made);
    sameJsonText((await store.load(thread))?.toArray(), made.toArray(), "entries");
  },

  "a tail without its beginning cannot be saved": async ({ store, open, thread, fresh }) => {
    await store.append(thread, notes(5));
    const tail = present(await store.load(thread, { last: 2 }), "thread");
    const elsewhere = await open({ tenant: fresh("elsewhere") });
    await rejects(elsewhere.save(tail), { code: "thread_diverged", threadId: thread }, "save");
    equal(await elsewhere.load(thread), undefined, "thread");
  },

  "a long thread is saved whole": async ({ store, thread }) => {
    const made = Thread.create({ id: thread }).append(notes(1203));
    await store.save(made.upTo(600));
    await store.save(made);
    sameJsonText((await store.load(thread))?.toArray(), made.toArray(), "entries");
  },

  "what is no thread is refused": async ({ store, thread }) => {
    const lookalike = Thread.create({ id: thread }).append(note()).toJSON();
    for (const foreign of [lookalike, null, undefined, "thread", {}, [], new Map()])
      await rejects(store.save(foreign as Thread), { code: "not_a_thread" }, "save"); // wrong on purpose
    equal(await store.load(thread), undefined, "thread");
  },

  "a thread with an entry that is too large is refused whole": async ({ open, thread }) => {
    const store = await open({ maxEntryChars: 1_000 });
    const made = Thread.create({ id: thread }).append([note(), user("x".repeat(2_000))]);
    await rejects(store.save(made), { code: "too_large" }, "save");
    ok((await store.load(thread)) === undefined, "nothing is written");
  },
};

/** Concurrent saves of one history may fail with a conflict, but with no other error. */
async function calm(saving: ReturnType<World["store"]["save"]>): Promise<void> {
  await saving.catch((error: { code?: string }) => ok(error.code === "conflict", `a conflict and not ${error.code}`));
}
