import { note, notes } from "../builders.ts";
import {
  type CaseFixture,
  type ContractTests,
  equal,
  firstEntries,
  firstItems,
  present,
  rejects,
} from "./case-fixture.ts";

const INVALID_NAMES: Readonly<Record<string, unknown>> = {
  "an empty one": "",
  "a dot": ".",
  "two dots": "..",
  "a slash": "a/b",
  "a backslash": "a\\b",
  NUL: "a\u0000b",
  "a line break": "a\nb",
  "white space at the end": "a ",
  "257 characters": "x".repeat(257),
  "a million characters": "x".repeat(1_000_000),
  "a lone surrogate": "a\ud800",
  "a number": 7,
  null: null,
  nothing: undefined,
  "an object": { toString: () => "thread_1" },
  "an array": ["thread_1"],
};

/** Cases: valid names work, and invalid ones fail with a typed error before any write. */
export const nameCases: ContractTests = {
  ...Object.fromEntries(Object.entries(INVALID_NAMES).map(([what, name]) => [`no name is ${what}`, refusesName(name)])),

  "no tenant has a name that is no name": async ({ open }) => {
    for (const name of Object.values(INVALID_NAMES)) {
      if (name === undefined) continue; // skipped: undefined means the default tenant
      const tenant = name as string; // invalid on purpose, as a caller in plain JavaScript may pass it
      await rejects(
        Promise.resolve().then(() => open({ tenant })),
        { code: "invalid_id" },
        String(name).slice(0, 20),
      );
    }
  },

  "names may be long and in any script": async ({ store, fresh }) => {
    const prefix = fresh("");
    for (const tail of ["\u00fcber \u{1F9F6}", "%_*?", "a:b@c#d", "'; drop table", "__proto__", "x".repeat(200)]) {
      const id = `${prefix}${tail}`;
      equal((await store.append(id, note({}, { id: `e ${tail}` }))).rev, 1, "rev");
      equal((await store.load(id))?.last()?.id, `e ${tail}`, "entry id");
      await store.putCheckpoint(id, tail);
      equal(await store.getCheckpoint(id), tail, "checkpoint");
    }
  },
};

function refusesName(name: unknown) {
  return async ({ store, thread }: CaseFixture) => {
    const id = name as string; // invalid on purpose, as a caller in plain JavaScript may pass it
    const invalid = { code: "invalid_id" };
    await store.append(thread, note());
    await rejects(store.append(id, note()), invalid, "append");
    await rejects(store.load(id), invalid, "load");
    await rejects(firstItems(1, store.read(id)), invalid, "read");
    await rejects(firstItems(1, store.watch(id, { fromSeq: 0 })), invalid, "watch");
    await rejects(store.delete(id), invalid, "delete");
    await rejects(store.fork(id, { atSeq: 0 }), invalid, "fork");
    await rejects(store.verify(id), invalid, "verify");
    await rejects(store.claim(id, { holder: "me", ttlMs: 1000 }), invalid, "claim");
    await rejects(store.claim(thread, { holder: id, ttlMs: 1000 }), invalid, "holder");
    await rejects(store.renew(id, 1), invalid, "renew");
    await rejects(store.release(id, 1), invalid, "release");
    await rejects(store.getCheckpoint(id), invalid, "getCheckpoint");
    await rejects(store.putCheckpoint(id, 1), invalid, "putCheckpoint");
    await rejects(store.deleteCheckpoint(id), invalid, "deleteCheckpoint");
    await rejects(store.getBlob(id), invalid, "getBlob");
    if (name !== undefined) {
      // Both calls generate a missing name, so only invalid names are tested.
      await rejects(store.fork(thread, { atSeq: 0, newId: id }), invalid, "newId");
      await rejects(store.append(thread, [note(), { id }]), { ...invalid, path: "entries[1].id" }, "entry id");
    }
    equal(
      (await store.list()).threads.map(({ id, rev }) => [id, rev]),
      [[thread, 1]],
      "threads",
    );
  };
}

/** Cases: two tenants in one database have no access to each other's threads. */
export const tenantCases: ContractTests = {
  "threads of one name in two tenants are two threads": async ({ store, open, thread, fresh }) => {
    const theirs = await open({ tenant: fresh("them") });
    await store.append(thread, notes(3), { metadata: { owner: "us" } });
    equal(await theirs.load(thread), undefined, "their thread");
    await theirs.append(thread, note({ theirs: true }), { expectedRev: 0 });
    equal((await store.load(thread))?.rev, 3, "our rev");
    equal((await theirs.load(thread))?.metadata, {}, "their metadata");
  },

  "usage is that of one tenant": async ({ store, open, thread, fresh }) => {
    const refs = { requestId: "r1", runId: "r1" };
    await store.append(thread, { kind: "ai_message", payload: { role: "user", content: "hi", ...refs }, refs });
    equal((await store.usage()).length, 1, "our days");
    equal(await (await open({ tenant: fresh("them") })).usage({ threadId: thread }), [], "their days");
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
    const items = await firstItems(2, store.feed());
    equal(
      items.map(({ threadId }) => threadId),
      [fresh("ours"), fresh("ours")],
      "threads",
    );
    equal(
      (await firstEntries(3, theirs.feed())).map(({ entry }) => entry.seq),
      [0, 1, 2],
      "their seqs",
    );
  },

  "an inbox belongs to one tenant": async ({ store, open, thread, fresh }) => {
    const theirs = await open({ tenant: fresh("them") });
    await store.post(thread, { id: "c1", type: "ask" });
    equal(await theirs.pending(thread), [], "their commands");
    await rejects(theirs.withdraw(thread, "c1"), { code: "command_not_found" }, "withdraw");
    equal(await theirs.post(thread, { id: "c1", type: "other" }), { replayed: false }, "post");
    await theirs.delete(thread);
    equal((await store.pending(thread)).length, 1, "our commands");
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
