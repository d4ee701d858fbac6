import type { ListOptions } from "../../stores/port.ts";
import { note, notes } from "../builders.ts";
import {
  allItems,
  type CaseFixture,
  type ContractTests,
  equal,
  ok,
  present,
  rejects,
  shortPause,
} from "./case-fixture.ts";

/** Cases: owners of threads, and metadata that changes without an entry. */
export const ownerCases: ContractTests = {
  "the first owner is set with an append": async ({ store, thread, fresh }) => {
    await store.append(thread, note(), { owner: "ada" });
    await store.append(fresh("later"), note());
    ok(!("owner" in (await infoOf(store, fresh("later")))), "there is no owner yet");
    await store.append(fresh("later"), note(), { owner: "ada" });
    await store.append(fresh("empty"), [], { owner: "ada" });
    for (const id of [thread, fresh("later"), fresh("empty")]) equal((await infoOf(store, id)).owner, "ada", id);
    await store.append(thread, note());
    equal((await infoOf(store, thread)).owner, "ada", "an append without an owner leaves it");
    ok((await store.verify(thread)).ok, "verified");
  },

  "another owner is refused, and nothing is written": async ({ store, thread }) => {
    await store.append(thread, note(), { owner: "ada", metadata: { title: "t" } });
    const before = await infoOf(store, thread);
    const refusal = { code: "owner_mismatch", threadId: thread };
    for (const entries of [note(), []])
      await rejects(store.append(thread, entries, { owner: "bob", metadata: { title: "u" } }), refusal, "append");
    for (const atSeq of [0, -1]) await rejects(store.fork(thread, { atSeq, owner: "bob" }), refusal, "fork");
    equal((await store.list()).threads, [before], "threads");
    equal((await store.append(thread, note(), { owner: "ada" })).rev, 2, "rev");
  },

  "a retry is a replay, also after the owner has changed": async ({ store, thread }) => {
    const batch = [note({}, { id: "e1" })];
    await store.append(thread, batch, { owner: "ada" });
    await store.setOwner(thread, "bob");
    equal((await store.append(thread, batch, { owner: "ada" })).replayed, true, "replayed");
  },

  "a fork has the owner of its thread": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(2), { owner: "ada" });
    for (const [n, owner] of [undefined, "ada"].entries()) {
      const { id } = await store.fork(thread, { atSeq: n - 1, owner });
      equal((await infoOf(store, id)).owner, "ada", "owner");
    }
    await store.append(fresh("other"), note());
    equal((await store.fork(fresh("other"), { atSeq: 0, owner: "bob" })).owner, "bob", "the first owner");
  },

  "setOwner changes the owner and nothing else": async ({ store, thread }) => {
    await rejects(store.setOwner(thread, "ada"), { code: "thread_not_found", threadId: thread }, "no thread");
    await store.append(thread, notes(2), { metadata: { title: "t" } });
    const before = await infoOf(store, thread);
    const loaded = JSON.stringify(await store.load(thread));
    await shortPause();
    for (const owner of ["ada", "bob"]) {
      const info = await store.setOwner(thread, owner);
      equal(info, { ...before, updatedAt: info.updatedAt, owner }, "info");
      equal((await store.list({ owner })).threads, [info], "list");
    }
    equal((await store.list({ owner: "ada" })).threads, [], "of the owner before");
    equal(JSON.stringify(await store.load(thread)), loaded, "thread");
    ok((await store.verify(thread)).ok, "verified");
  },

  "metadata changes without an entry": async ({ store, open, thread }) => {
    await store.append(thread, notes(2), { metadata: { title: "t", status: "open" } });
    const before = await infoOf(store, thread);
    await shortPause();
    const answer = await store.append(thread, [], { metadata: { title: "u", n: 1 } });
    equal(answer, { rev: 2, entries: [], replayed: false }, "answer");
    const after = await infoOf(await open(), thread);
    equal(after.metadata, { title: "u", status: "open", n: 1 }, "metadata");
    ok(after.updatedAt > before.updatedAt, "updatedAt is later");
    equal([after.rev, after.createdAt], [2, before.createdAt], "rev and createdAt");
    equal((await allItems(store.read(thread))).length, 2, "entries");
    ok((await store.verify(thread)).ok, "verified");
    equal((await store.append(thread, note())).rev, 3, "rev of the next append");
  },

  "metadata without an entry creates a thread, unless create is false": async ({ store, thread }) => {
    const metadata = { title: "t" };
    const missing = { code: "thread_not_found", threadId: thread };
    await rejects(store.append(thread, [], { metadata, create: false }), missing, "append");
    equal((await store.append(thread, [], { metadata })).rev, 0, "rev");
    equal((await store.load(thread))?.metadata, metadata, "metadata");
    equal((await store.append(thread, note(), { expectedRev: 0 })).rev, 1, "rev of the first entry");
  },

  "metadata without an entry is fenced, and checks the revision": async ({ store, thread }) => {
    await store.append(thread, note(), { metadata: { title: "t" } });
    const { epoch } = await store.claim(thread, { holder: "one", ttlMs: 60_000 });
    await store.claim(thread, { holder: "one", ttlMs: 60_000 });
    const metadata = { title: "u" };
    await rejects(store.append(thread, [], { metadata, epoch }), { code: "stale_holder" }, "an old epoch");
    await rejects(store.append(thread, [], { metadata, expectedRev: 7 }), { code: "conflict" }, "another revision");
    equal((await infoOf(store, thread)).metadata, { title: "t" }, "metadata");
    await store.append(thread, [], { metadata, epoch: epoch + 1, expectedRev: 1 });
    equal((await infoOf(store, thread)).metadata, metadata, "metadata");
  },
};

/** Cases: threads listed by owner, metadata and age. */
export const filterCases: ContractTests = {
  "an owner chooses": async ({ store, fresh }) => {
    for (const [name, owner] of Object.entries({ a: "ada", b: "bob", c: "ada", d: undefined }))
      await store.append(fresh(name), note(), { owner });
    equal(await listedIds(store, { owner: "ada" }), [fresh("a"), fresh("c")], "ada");
    equal(await listedIds(store, { owner: "ad" }), [], "ad");
    await store.delete(fresh("a"));
    equal(await listedIds(store, { owner: "ada" }), [fresh("c")], "after a deletion");
  },

  "values of the metadata choose, by type": async ({ store, fresh }) => {
    const values = { text: "1", other: "x", number: 1, fraction: -1.5e-7, true: true, false: false, word: "true" };
    for (const [name, p] of Object.entries(values)) await store.append(fresh(name), note(), { metadata: { p } });
    for (const [name, p] of Object.entries({ list: [1], none: null, object: { p: 1 } }))
      await store.append(fresh(name), note(), { metadata: { p } });
    for (const [name, p] of Object.entries(values))
      equal(await listedIds(store, { metadata: { p } }), [fresh(name)], name);
    equal(await listedIds(store, { metadata: { p: "X" } }), [], "another case");
  },

  "a value that was changed or replaced by an object no longer chooses": async ({ store, fresh }) => {
    const [a, b] = [fresh("a"), fresh("b")];
    for (const id of [a, b]) await store.append(id, note(), { metadata: { p: "x", q: 1 } });
    await store.append(a, note(), { metadata: { p: "y" } });
    await store.append(b, [], { metadata: { p: { deep: true } } });
    equal(await listedIds(store, { metadata: { p: "x" } }), [], "x");
    equal(await listedIds(store, { metadata: { p: "y", q: 1 } }), [a], "y");
    equal(await listedIds(store, { metadata: { q: 1 } }), [a, b], "q");
    for (const id of [a, b]) ok((await store.verify(id)).ok, "verified");
    await store.delete(a);
    equal(await listedIds(store, { metadata: { q: 1 } }), [b], "after a deletion");
  },

  "metadata in any script, with quotes and zero bytes, chooses": async ({ store, fresh }) => {
    const texts = ['say "hi"', "a\u0000b", "back\\slash", "gr\u00fc\u00df \u{1F9F6}", "line\nbreak", "", "it's"];
    for (const [n, p] of texts.entries())
      await store.append(fresh(`t${n}`), note(), { metadata: { p, "gr\u00fc\u00df": n } });
    for (const [n, p] of texts.entries()) {
      equal(await listedIds(store, { metadata: { p } }), [fresh(`t${n}`)], JSON.stringify(p));
      equal(
        await listedIds(store, { metadata: { "gr\u00fc\u00df": n } }),
        [fresh(`t${n}`)],
        "a name in another script",
      );
    }
    await store.append(fresh("long"), note(), { metadata: { p: "x".repeat(50_000), ["n".repeat(50_000)]: 1 } });
    await rejects(store.list({ metadata: { p: "x".repeat(799) } }), { code: "invalid_options" }, "a long value");
    await store.append(fresh("longest"), note(), {
      metadata: { p: "\u{1F9F6}".repeat(199), ["\u{1F9F6}".repeat(64)]: 1 },
    });
    equal(
      await listedIds(store, { metadata: { p: "\u{1F9F6}".repeat(199) } }),
      [fresh("longest")],
      "the longest value",
    );
  },

  "forks and children are listed by their thread": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(2));
    for (const name of ["f1", "f2"]) await store.fork(thread, { atSeq: 0, newId: fresh(name) });
    await store.fork(fresh("f1"), { atSeq: -1, newId: fresh("f3") });
    await store.append(fresh("child"), note(), { metadata: { parent: thread } });
    equal(await listedIds(store, { forkOf: thread }), [fresh("f1"), fresh("f2")], "forks");
    equal(await listedIds(store, { forkOf: fresh("f1") }), [fresh("f3")], "forks of a fork");
    equal(await listedIds(store, { parent: thread }), [fresh("child")], "children");
    const others = [fresh("f1"), fresh("f2"), fresh("f3"), thread].sort();
    equal((await listedIds(store, { parent: null })).sort(), others, "threads without a parent");
    equal(await listedIds(store, { parent: null, forkOf: fresh("f1") }), [fresh("f3")], "both");
  },

  "a fork is listed by its thread, whatever metadata it gets": async ({ store, thread, fresh }) => {
    await store.append(thread, note());
    await store.fork(thread, { atSeq: 0, newId: fresh("f1") });
    const metadata = { title: "mine", parentThreadId: fresh("other"), forkSeq: 7 };
    await store.append(fresh("f1"), [], { metadata });
    await store.append(fresh("f1"), note(), { metadata });
    equal(await listedIds(store, { forkOf: thread }), [fresh("f1")], "forks");
    equal(await listedIds(store, { forkOf: fresh("other") }), [], "forks of another thread");
    const kept = { title: "mine", parentThreadId: thread, forkSeq: 0 };
    equal((await infoOf(store, fresh("f1"))).metadata, kept, "metadata");
  },

  "a saved thread and a fork are found by their metadata": async ({ store, thread, fresh }) => {
    await store.append(thread, note(), { metadata: { p: "x" } });
    await store.fork(thread, { atSeq: 0, newId: fresh("fork"), metadata: { q: 1 } });
    const source = present(await store.load(thread), "thread");
    await store.delete(thread);
    equal(await listedIds(store, { metadata: { p: "x" } }), [fresh("fork")], "without the thread");
    await store.save(source);
    equal(await listedIds(store, { metadata: { p: "x" } }), [fresh("fork"), thread], "saved");
    equal(await listedIds(store, { metadata: { p: "x", q: 1 } }), [fresh("fork")], "both");
  },

  "age chooses": async ({ store, fresh }) => {
    const [a, b, c] = [fresh("a"), fresh("b"), fresh("c")];
    for (const id of [a, b, c, a]) {
      await store.append(id, note());
      await shortPause();
    }
    const [first, second] = [await infoOf(store, a), await infoOf(store, b)];
    equal(await listedIds(store, { createdBefore: second.createdAt }), [a], "created before");
    equal(await listedIds(store, { createdSince: second.createdAt }), [b, c], "created since");
    equal(await listedIds(store, { updatedBefore: first.updatedAt }), [b, c], "updated before");
    equal(await listedIds(store, { updatedSince: first.updatedAt }), [a], "updated since");
    const between = { createdSince: second.createdAt, createdBefore: second.createdAt + 1 };
    equal(await listedIds(store, between), [b], "between");
  },

  "filters combine, page by page": async ({ store, fresh }) => {
    for (let n = 0; n < 24; n++)
      await store.append(fresh(`t${n}`), note(), {
        owner: n % 2 ? "ada" : "bob",
        metadata: { project: n % 3, status: "open" },
      });
    const filter = { owner: "ada", metadata: { project: 1 }, status: "open" };
    for (const order of ["updated", "created", "id"] as const) {
      const whole = (await store.list({ ...filter, order })).threads;
      equal(whole.map(({ id }) => id).sort(), [1, 7, 13, 19].map((n) => fresh(`t${n}`)).sort(), order);
      const first = await store.list({ ...filter, order, limit: 3 });
      const rest = await store.list({ ...filter, order, limit: 3, cursor: present(first.cursor, "cursor") });
      equal([...first.threads, ...rest.threads], whole, "pages");
    }
  },

  "a filter that makes no sense is refused": async ({ store }) => {
    const wrong: readonly object[] = [
      { owner: "" },
      { owner: 5 },
      { metadata: { p: null } },
      { metadata: { p: [] } },
      { metadata: { p: undefined } },
      { metadata: [] },
      { metadata: { "": 1 } },
      { metadata: { ["n".repeat(257)]: 1 } },
      { forkOf: 5 },
      { forkOf: null },
      { parent: "x".repeat(300) },
      { updatedBefore: "now" },
      { createdSince: 1.5 },
    ];
    for (const options of wrong) {
      const error = await store.list(options as ListOptions).then(
        () => undefined,
        (reason: unknown) => reason,
      ); // invalid on purpose
      ok(
        ["invalid_options", "invalid_id"].includes(String((error as { code?: unknown } | undefined)?.code)),
        JSON.stringify(options),
      ); // any error may come
    }
  },
};

async function infoOf(store: CaseFixture["store"], threadId: string) {
  return present((await store.list({ prefix: threadId })).threads[0], "thread");
}

async function listedIds(store: CaseFixture["store"], options: ListOptions): Promise<string[]> {
  return (await store.list({ order: "id", ...options })).threads.map(({ id }) => id);
}
