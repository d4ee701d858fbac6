import { StoreError } from "../../stores/errors.ts";
import type { ThreadStore, VerifyReport } from "../../stores/port.ts";
import { Thread } from "../../thread/thread.ts";
import { note, notes } from "../builders.ts";
import { allItems, type ContractTests, equal, ok, rejects } from "./case-fixture.ts";

/** Cases: deleting threads, closing stores, and verifying a thread. */
export const lifetimeCases: ContractTests = {
  "a thread that is deleted is gone everywhere": async ({ store, open, thread }) => {
    const other = await open();
    await store.append(thread, notes(5), { metadata: { title: "t" } });
    equal(await other.delete(thread), { deleted: [thread], keptFor: [] }, "deleted");
    equal(await store.load(thread), undefined, "thread");
    equal(await allItems(store.read(thread)), [], "entries");
    equal((await store.list()).threads, [], "list");
    await rejects(store.verify(thread), { code: "thread_not_found" }, "verify");
    await rejects(store.fork(thread, { atSeq: 0 }), { code: "thread_not_found" }, "fork");
    equal(await store.delete(thread), false, "deleted again");
  },

  "a thread that never was cannot be deleted": async ({ store, thread }) => {
    equal(await store.delete(thread), false, "deleted");
  },

  "a thread is deleted at the expected revision only, while no command waits": async ({ store, open, thread }) => {
    const other = await open();
    await store.append(thread, notes(2));
    const conflict = { code: "conflict", threadId: thread, expected: 1, actual: 2 };
    await rejects(store.delete(thread, { expectedRev: 1 }), conflict, "another revision");
    await other.post(thread, { id: "c1", type: "ask" });
    await rejects(store.delete(thread, { expectedRev: 2 }), { ...conflict, expected: 2 }, "a command");
    const both = store.delete(thread, { expectedRev: 2, forks: "delete" });
    await rejects(both, { code: "invalid_options" }, "with forks");
    equal([(await store.load(thread))?.rev, (await store.pending(thread)).length], [2, 1], "it stays");
    await store.withdraw(thread, "c1");
    equal(await store.delete(thread, { expectedRev: 2 }), { deleted: [thread], keptFor: [] }, "deleted");
    equal(await store.delete(thread, { expectedRev: 2 }), false, "deleted again");
    for (let round = 0; round < 6; round++) {
      await store.append(thread, notes(2));
      const appending = other.append(thread, note(), { create: false }).catch((error: unknown) => error);
      for (let wait = 0; wait < round; wait++) await Promise.resolve();
      const deletion = await store.delete(thread, { expectedRev: 2 }).catch(() => "refused");
      const isGone = StoreError.isInstance(await appending);
      equal(
        [deletion === "refused", (await store.load(thread))?.rev],
        [!isGone, isGone ? undefined : 3],
        "no word is lost",
      );
      await store.delete(thread);
    }
  },

  "a deleted thread can begin anew, with the same ids": async ({ store, thread }) => {
    await store.append(thread, [note({ n: 1 }, { id: "a" }), note()], { metadata: { old: true } });
    await store.delete(thread);
    const { rev, replayed } = await store.append(thread, note({ n: 2 }, { id: "a" }), { expectedRev: 0 });
    equal([rev, replayed], [1, false], "answer");
    equal((await store.load(thread))?.metadata, {}, "metadata");
    equal((await store.verify(thread)).ok, true, "verify");
  },

  "deleting one thread leaves the others alone": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(3));
    await store.append(fresh("other"), notes(3));
    await store.putCheckpoint(thread, "kept");
    const hash = await store.putBlob("kept");
    await store.delete(thread);
    equal((await store.verify(fresh("other"))).entries, 3, "entries");
    equal([await store.getCheckpoint(thread), await store.getBlob(hash)], ["kept", "kept"], "records");
  },

  "a sound thread is said to be sound": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    const before = await store.verify(thread);
    equal({ ...before, hash: "" }, { threadId: thread, ok: true, entries: 3, hash: "" }, "report");
    equal((await store.verify(thread)).hash, before.hash, "hash, asked again");
    await store.append(thread, notes(600));
    const after = await store.verify(thread);
    equal([after.ok, after.entries], [true, 603], "report later");
    ok(after.hash !== before.hash && after.hash.length > 40, "the hash stands for the history");
  },

  "two threads with the same entries have hashes of their own": async ({ store, thread, fresh }) => {
    const entry = note({ n: 1 }, { id: "a", at: 5 });
    await store.append(thread, entry);
    await store.append(fresh("other"), entry);
    ok(
      (await store.verify(thread)).hash !== (await store.verify(fresh("other"))).hash,
      "a guess cannot confirm a payload",
    );
  },

  "a thread can be verified while it grows": async ({ store, open, thread }) => {
    const other = await open();
    await store.append(thread, notes(100));
    const writing = Promise.all(Array.from({ length: 20 }, () => other.append(thread, notes(3))));
    const reports = await Promise.all(Array.from({ length: 5 }, () => store.verify(thread)));
    await writing;
    for (const { ok: sound, entries } of reports) ok(sound && (entries - 100) % 3 === 0, "a sound prefix");
    equal((await store.verify(thread)).entries, 160, "entries");
  },

  "a thread that is deleted while it is verified is sound or gone": async ({ store, open, thread }) => {
    const other = await open();
    for (let round = 0; round < 6; round++) {
      await store.append(thread, notes(5));
      const verifying = other.verify(thread).catch((error: unknown) => error);
      for (let wait = 0; wait < round; wait++) await Promise.resolve();
      await store.delete(thread);
      const outcome = await verifying;
      if (StoreError.isInstance(outcome)) equal(outcome.code, "thread_not_found", "code");
      else equal((outcome as VerifyReport).ok, true, "sound"); // the outcome is a report or an error
    }
  },

  "a thread that does not exist cannot be verified": async ({ store, thread }) => {
    await rejects(store.verify(thread), { code: "thread_not_found", threadId: thread }, "verify");
  },

  "a closed store says so, whatever it is asked": async ({ open, thread }) => {
    const store = await open();
    await store.append(thread, note());
    await store.close();
    for (const [name, ask] of Object.entries(everyMethod(store, thread)))
      await rejects(ask(), { code: "store_closed" }, name);
  },

  "a store may be closed twice": async ({ open }) => {
    const store = await open();
    await Promise.all([store.close(), store.close()]);
    await store.close();
  },

  "closing one handle leaves the others open": async ({ store, open, thread }) => {
    const other = await open();
    await other.append(thread, note());
    await other.close();
    equal((await store.append(thread, note(), { expectedRev: 1 })).rev, 2, "rev");
    equal((await (await open()).load(thread))?.rev, 2, "rev in a new handle");
  },

  "appends that were begun before close are finished": async ({ store, open, thread }) => {
    const closing = await open();
    const appends = Array.from({ length: 10 }, () => closing.append(thread, notes(2)));
    await closing.close();
    for (const [n, { rev, entries }] of (await Promise.all(appends)).entries())
      equal([rev, entries.length], [n * 2 + 2, 2], `answer ${n}`);
    equal((await store.load(thread))?.rev, 20, "rev");
  },

  "a read that meets the close ends in an error, not in silence": async ({ open, thread }) => {
    const store = await open();
    await store.append(thread, notes(1100));
    const reading = (async () => {
      for await (const { seq } of store.read(thread)) if (seq === 3) await store.close();
    })();
    await rejects(reading, { code: "store_closed" }, "read");
  },
};

function everyMethod(store: ThreadStore, thread: string): Readonly<Record<string, () => Promise<unknown>>> {
  return {
    append: () => store.append(thread, note()),
    "append of nothing": () => store.append(thread, []),
    load: () => store.load(thread),
    read: () => allItems(store.read(thread)),
    save: () => store.save(Thread.create({ id: thread })),
    list: () => store.list(),
    feed: () => allItems(store.feed()),
    delete: () => store.delete(thread),
    watch: () => allItems(store.watch(thread, { fromSeq: 0 })),
    getCheckpoint: () => store.getCheckpoint("c"),
    putCheckpoint: () => store.putCheckpoint("c", 1),
    deleteCheckpoint: () => store.deleteCheckpoint("c"),
    fork: () => store.fork(thread, { atSeq: 0 }),
    claim: () => store.claim(thread, { holder: "ada", ttlMs: 1000 }),
    renew: () => store.renew(thread, 1),
    release: () => store.release(thread, 1),
    putBlob: () => store.putBlob("b"),
    getBlob: () => store.getBlob("h"),
    verify: () => store.verify(thread),
  };
}
