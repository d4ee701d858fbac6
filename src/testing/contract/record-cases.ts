import type { JsonValue } from "../../thread/json.ts";
import { Thread } from "../../thread/thread.ts";
import { note, notes, user } from "../builders.ts";
import { type CaseFixture, type ContractTests, equal, ok, present, rejects, sameJsonText } from "./case-fixture.ts";

/** Cases: saving threads that were made in memory. */
export const saveCases: ContractTests = {
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
      await rejects(store.save(foreign as Thread), { code: "not_a_thread" }, "save"); // invalid on purpose
    equal(await store.load(thread), undefined, "thread");
  },

  "a thread with an entry that is too large is refused whole": async ({ open, thread }) => {
    const store = await open({ maxEntryChars: 1_000 });
    const made = Thread.create({ id: thread }).append([note(), user("x".repeat(2_000))]);
    await rejects(store.save(made), { code: "too_large" }, "save");
    ok((await store.load(thread)) === undefined, "nothing is written");
  },
};

/** Waits for a save. Concurrent saves of one history may fail with a conflict, but with no other error. */
async function calm(saving: ReturnType<CaseFixture["store"]["save"]>): Promise<void> {
  await saving.catch((error: { code?: string }) => ok(error.code === "conflict", `a conflict and not ${error.code}`));
}

const VALUES: readonly JsonValue[] = [
  null,
  true,
  0,
  -1.5,
  "",
  "text \u0000 \u{1F9F6}",
  [],
  {},
  [1, [2, { three: null }]],
  { z: 1, a: { "": "\n" } },
];

/** Cases: checkpoints and blobs. */
export const recordCases: ContractTests = {
  "content up to the size of a row comes back, and larger content is refused": async ({ store, thread, fresh }) => {
    const { maxRowBytes = 2_000_000 } = store;
    const fits = "a".repeat(maxRowBytes - 20_000);
    await store.append(thread, note({ text: fits }));
    equal((await store.load(thread))?.last()?.payload, { text: fits }, "entry");
    equal(await store.getBlob(await store.putBlob(fits)), fits, "blob");
    if (store.maxRowBytes === undefined) return;
    for (const large of ["a".repeat(maxRowBytes), "é".repeat(maxRowBytes / 2)]) {
      const refused = { code: "too_large" };
      await rejects(store.append(thread, [note(), note({ text: large })]), refused, "entry");
      await rejects(store.putBlob(large), refused, "blob");
      await rejects(store.putCheckpoint(fresh("checkpoint"), large), refused, "checkpoint");
    }
    await rejects(store.putBlob(new Uint8Array(maxRowBytes)), { code: "too_large" }, "blob of bytes");
    equal((await store.load(thread))?.entryCount, 1, "nothing was written");
  },

  "a checkpoint comes back until it is written again or deleted": async ({ store, open, fresh }) => {
    const key = fresh("checkpoint");
    equal(await store.getCheckpoint(key), undefined, "before");
    await store.putCheckpoint(key, { step: 1 });
    equal(await (await open()).getCheckpoint(key), { step: 1 }, "in another handle");
    await store.putCheckpoint(key, { step: 2 });
    equal(await store.getCheckpoint(key), { step: 2 }, "written again");
    equal(await store.deleteCheckpoint(key), true, "deleted");
    equal(await store.deleteCheckpoint(key), false, "deleted again");
    equal(await store.getCheckpoint(key), undefined, "afterwards");
  },

  "a checkpoint holds any JSON value": async ({ store, fresh }) => {
    for (const value of VALUES) {
      await store.putCheckpoint(fresh("checkpoint"), value);
      sameJsonText(await store.getCheckpoint(fresh("checkpoint")), value, `checkpoint of ${JSON.stringify(value)}`);
    }
  },

  "a checkpoint of a megabyte": async ({ store, fresh }) => {
    const value = { text: "wool \u{1F9F6} ".repeat(120_000) };
    await store.putCheckpoint(fresh("big"), value);
    sameJsonText(await store.getCheckpoint(fresh("big")), value, "checkpoint");
  },

  "checkpoints do not mix with threads or blobs of the same name": async ({ store, thread }) => {
    const hash = await store.putBlob("blob");
    await store.putCheckpoint(hash, "checkpoint");
    await store.putCheckpoint(thread, "checkpoint");
    equal([await store.getBlob(hash), await store.getCheckpoint(hash)], ["blob", "checkpoint"], "under one name");
    equal(await store.load(thread), undefined, "thread");
    await store.deleteCheckpoint(hash);
    equal(await store.getBlob(hash), "blob", "blob");
  },

  "what is written while a checkpoint is written is not mixed into it": async ({ store, fresh }) => {
    const value = { list: [1] };
    const writing = store.putCheckpoint(fresh("c"), value);
    value.list.push(2);
    await writing;
    equal(await store.getCheckpoint(fresh("c")), { list: [1] }, "checkpoint");
  },

  "of checkpoints written at once one is there, whole": async ({ store, open, fresh }) => {
    const other = await open();
    const writes = Array.from({ length: 10 }, (_, n) =>
      (n % 2 === 0 ? store : other).putCheckpoint(fresh("c"), { n, copies: [n, n, n] }),
    );
    await Promise.all(writes);
    const { n, copies } = present(await store.getCheckpoint(fresh("c")), "checkpoint") as {
      n: number;
      copies: number[];
    }; // written above
    equal(copies, [n, n, n], "copies");
  },

  "a blob of JSON comes back under its hash": async ({ store, open }) => {
    const other = await open();
    for (const value of VALUES) {
      const hash = await store.putBlob(value);
      sameJsonText(await other.getBlob(hash), value, `blob of ${JSON.stringify(value)}`);
    }
  },

  "a blob of bytes comes back under its hash": async ({ store }) => {
    for (const bytes of [[], [0], [255, 0, 128, 10, 13], Array.from({ length: 256 }, (_, n) => n)]) {
      const hash = await store.putBlob(Uint8Array.from(bytes));
      const back = await store.getBlob(hash);
      ok(back instanceof Uint8Array, "bytes");
      equal([...back], bytes, "blob");
    }
  },

  "blobs of a megabyte": async ({ store }) => {
    const bytes = new Uint8Array(1 << 20).map((_, n) => n * 31);
    const back = await store.getBlob(await store.putBlob(bytes));
    ok(back instanceof Uint8Array && back.every((byte, n) => byte === bytes[n]), "the bytes come back");
    equal(back.length, bytes.length, "length");
    const json = { text: "wool \u{1F9F6} ".repeat(120_000) };
    sameJsonText(await store.getBlob(await store.putBlob(json)), json, "json");
  },

  "the same content has the same hash, other content another": async ({ store, open }) => {
    const other = await open();
    const hashes = await Promise.all([
      store.putBlob({ a: 1 }),
      other.putBlob({ a: 1 }),
      store.putBlob({ a: 2 }),
      store.putBlob('{"a":1}'),
      store.putBlob(new TextEncoder().encode('{"a":1}')),
      store.putBlob([]),
      store.putBlob(new Uint8Array(0)),
    ]);
    equal(hashes[1], hashes[0], "hash of the same content");
    equal(new Set(hashes).size, 6, "different hashes");
  },

  "an unknown hash has no blob": async ({ store, fresh }) => {
    equal(await store.getBlob(fresh("hash")), undefined, "blob");
  },

  "changing the bytes that were given or got changes nothing stored": async ({ store }) => {
    const given = Uint8Array.of(1, 2, 3);
    const putting = store.putBlob(given);
    given[0] = 9;
    const hash = await putting;
    given[1] = 9;
    const got = await store.getBlob(hash);
    ok(got instanceof Uint8Array, "bytes");
    equal([...got], [1, 2, 3], "blob");
    got[2] = 9;
    const again = await store.getBlob(hash);
    ok(again instanceof Uint8Array, "bytes");
    equal([...again], [1, 2, 3], "blob, got again");
  },
};
