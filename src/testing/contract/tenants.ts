import { note, notes } from "../builders.ts";
import { equal, present, rejects } from "../check.ts";
import { take } from "../drain.ts";
import type { Stories } from "../world.ts";

/** Two tenants in one database have no access to each other. */
export const tenants: Stories = {
  "threads of one name in two tenants are two threads": async ({ store, open, thread, fresh }) => {
    const theirs = await open({ tenant: fresh("them") });
    await store.append(thread, notes(3), { metadata: { owner: "us" } });
    equal(await theirs.load(thread), undefined, "their thread");
    await theirs.append(thread, note({ theirs: true }), { expectedRev: 0 });
    equal((await store.load(thread))?.rev, 3, "our rev");
    equal((await theirs.load(thread))?.metadata, {}, "their metadata");
  },

  "entry ids of one tenant are free in another": async ({ store, open, thread, fresh }) => {
    const theirs = await open({ tenant: fresh("them") });
    await store.append(thread, note({ n: 1 }, { id: "a" }));
    equal((await theirs.append(thread, note({ n: 2 }, { id: "a" }))).replayed, false, "replayed");
  },

  "nothing can be done to another tenant's thread": async ({ store, open, thread, fresh }) => {
    const theirs = await open({ tenant: fresh("them") });
    await store.append(thread, notes(3));
    await rejects(theirs.fork(thread, { atSeq: 0 }), { code: "thread_not_found" }, "fork");
    await rejects(theirs.verify(thread), { code: "thread_not_found" }, "verify");
    await rejects(theirs.append(thread, note(), { create: false }), { code: "thread_not_found" }, "append");
    equal(await theirs.delete(thread), false, "deleted");
    equal((await store.load(thread))?.rev, 3, "rev");
  },

  "a list has one tenant's threads": async ({ store, open, fresh }) => {
    const theirs = await open({ tenant: fresh("them") });
    await store.append(fresh("ours"), note({ text: "wool" }));
    await theirs.append(fresh("theirs"), note({ text: "wool" }));
    for (const options of [{}, { search: "wool" }, { prefix: fresh("") }, { order: "id" as const }]) {
      equal(
        (await store.list(options)).threads.map(({ id }) => id),
        [fresh("ours")],
        "our threads",
      );
      equal(
        (await theirs.list(options)).threads.map(({ id }) => id),
        [fresh("theirs")],
        "their threads",
      );
    }
  },

  "a feed has one tenant's entries": async ({ store, open, fresh }) => {
    const theirs = await open({ tenant: fresh("them") });
    await store.append(fresh("ours"), note());
    await theirs.append(fresh("theirs"), notes(3));
    await store.append(fresh("ours"), note());
    const items = await take(2, store.feed());
    equal(
      items.map(({ threadId }) => threadId),
      [fresh("ours"), fresh("ours")],
      "threads",
    );
    equal(
      (await take(3, theirs.feed())).map(({ entry }) => entry.seq),
      [0, 1, 2],
      "their seqs",
    );
  },

  "checkpoints, blobs and claims belong to one tenant": async ({ store, open, thread, fresh }) => {
    const theirs = await open({ tenant: fresh("them") });
    await store.putCheckpoint(fresh("c"), "ours");
    equal(await theirs.getCheckpoint(fresh("c")), undefined, "their checkpoint");
    equal(await theirs.deleteCheckpoint(fresh("c")), false, "deleted");
    const hash = await store.putBlob({ secret: "ours" });
    equal(await theirs.getBlob(hash), undefined, "their blob");
    const { epoch } = await store.claim(thread, { holder: "us", ttlMs: 600_000 });
    await theirs.claim(thread, { holder: "them", ttlMs: 600_000 });
    equal((await store.append(thread, note(), { epoch })).rev, 1, "rev");
    equal(await store.getCheckpoint(fresh("c")), "ours", "our checkpoint");
  },

  "names of tenants do not run into names of threads": async ({ open, fresh }) => {
    const one = await open({ tenant: fresh("a") });
    const two = await open({ tenant: `${fresh("a")}:b` });
    const upper = await open({ tenant: fresh("A") });
    await one.append("b:c", note({ tenant: "one" }));
    await two.append("c", note({ tenant: "two" }));
    equal(await upper.load("b:c"), undefined, "tenant in capitals");
    equal([await one.load("c"), await two.load("b:c")], [undefined, undefined], "threads across");
    equal(present((await one.list()).threads[0], "thread").id, "b:c", "listed");
  },

  "names that differ only in case are different names": async ({ store, fresh }) => {
    await store.append(fresh("thread"), note({}, { id: "a" }));
    equal(await store.load(fresh("THREAD")), undefined, "thread");
    equal((await store.append(fresh("thread"), note({ other: 1 }, { id: "A" }))).replayed, false, "replayed");
    await store.putCheckpoint(fresh("key"), 1);
    equal(await store.getCheckpoint(fresh("KEY")), undefined, "checkpoint");
  },
};
