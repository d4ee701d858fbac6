import type { EntryInput } from "../../thread/entry.ts";
import { assistant, note, notes, user } from "../builders.ts";
import { allItems, type ContractTests, equal, ok, present, rejects, sameJsonText } from "./case-fixture.ts";

/** Cases: appending batches of entries. */
export const appendCases: ContractTests = {
  "an append creates the thread and answers its entries": async ({ store, thread }) => {
    const { rev, entries, replayed } = await store.append(thread, [user("hi"), assistant("hello")]);
    equal({ rev, replayed }, { rev: 2, replayed: false }, "answer");
    equal(
      entries.map(({ seq, kind, payload }) => ({ seq, kind, payload })),
      [
        { seq: 0, kind: "message", payload: { role: "user", content: "hi" } },
        { seq: 1, kind: "message", payload: { role: "assistant", content: "hello" } },
      ],
      "entries",
    );
  },

  "one entry may be given without a list": async ({ store, thread }) => {
    const { rev, entries } = await store.append(thread, note({ one: 1 }));
    equal({ rev, count: entries.length }, { rev: 1, count: 1 }, "answer");
  },

  "an empty entry gets every default": async ({ store, thread }) => {
    const [entry] = (await store.append(thread, {})).entries;
    const { id, at, ...rest } = present(entry, "entry");
    equal(rest, { seq: 0, kind: "note", payload: {}, refs: {} }, "entry");
    ok(id.startsWith("entry_") && Number.isSafeInteger(at), "it has an id and a time of its own");
  },

  "ids and times come from the ports it was opened with": async ({ open, thread }) => {
    let count = 0;
    const store = await open({ clock: () => 1_234_567, ids: (prefix) => `${prefix}_${count++}` });
    await store.append(thread, [note(), note()]);
    const loaded = present(await store.load(thread), "thread");
    equal(
      loaded.toArray().map(({ id, at }) => ({ id, at })),
      [
        { id: "entry_0", at: 1_234_567 },
        { id: "entry_1", at: 1_234_567 },
      ],
      "entries",
    );
  },

  "a seq that is given is ignored: seq is position": async ({ store, thread }) => {
    const dishonest: EntryInput & { seq: number } = { kind: "note", seq: 7 };
    equal((await store.append(thread, dishonest)).entries[0]?.seq, 0, "seq");
  },

  "what was appended can be read at once, also through another handle": async ({ store, open, thread }) => {
    const other = await open();
    for (let rev = 1; rev <= 20; rev++) {
      await (rev % 2 === 0 ? store : other).append(thread, note({ rev }));
      equal((await store.load(thread))?.rev, rev, "rev here");
      equal((await allItems(other.read(thread))).length, rev, "entries there");
    }
  },

  "the entries answered are the entries stored": async ({ store, thread }) => {
    const { entries } = await store.append(thread, [user("hi", { refs: { requestId: "r1" } }), note({}, { v: 3 })]);
    sameJsonText((await store.load(thread))?.toArray(), entries, "loaded");
    sameJsonText(await allItems(store.read(thread)), entries, "read");
    sameJsonText(await allItems(store.read(thread, { reverse: true })), entries.toReversed(), "read in reverse");
  },

  "a bad entry in the middle of a batch leaves nothing behind": async ({ store, thread }) => {
    await store.append(thread, notes(2));
    const bad: EntryInput[] = [note(), note({ when: Number.NaN }), note()];
    await rejects(store.append(thread, bad), { code: "not_json", path: "entries[1].payload.when" }, "append");
    await rejects(store.append(thread, [note(), note({}, { id: "a/b" })]), { code: "invalid_id" }, "append");
    equal((await store.load(thread))?.rev, 2, "rev");
  },

  "a batch that is refused does not create the thread": async ({ store, thread }) => {
    await rejects(store.append(thread, [note(), note({ n: Number.NaN })]), { code: "not_json" }, "append");
    await rejects(store.append(thread, notes(2), { expectedRev: 5 }), { code: "conflict" }, "append");
    equal(await store.load(thread), undefined, "thread");
    equal((await store.list()).threads, [], "list");
  },

  "an empty batch does nothing at any revision": async ({ store, thread }) => {
    for (const expectedRev of [undefined, 0, 7])
      equal(await store.append(thread, [], { expectedRev }), { rev: 0, entries: [], replayed: false }, "answer");
    equal(await store.load(thread), undefined, "thread");
    await store.append(thread, notes(3));
    for (const expectedRev of [undefined, 0, 3, 7])
      equal(await store.append(thread, [], { expectedRev }), { rev: 3, entries: [], replayed: false }, "answer");
    equal((await store.load(thread))?.rev, 3, "rev");
  },

  "a thread is not created when create is false": async ({ store, thread }) => {
    const missing = { code: "thread_not_found", threadId: thread };
    await rejects(store.append(thread, note(), { create: false }), missing, "append");
    equal(await store.load(thread), undefined, "thread");
    await store.append(thread, note());
    equal((await store.append(thread, note(), { create: false })).rev, 2, "rev");
  },

  "metadata is merged by append": async ({ store, thread }) => {
    await store.append(thread, note(), { metadata: { title: "Weather", owner: { id: 7, name: "Ada" } } });
    await store.append(thread, note(), { metadata: { owner: { id: 8 }, status: "running" } });
    await store.append(thread, note());
    const expected = { title: "Weather", owner: { id: 8 }, status: "running" };
    equal((await store.load(thread))?.metadata, expected, "metadata");
    equal((await store.list()).threads[0]?.metadata, expected, "listed metadata");
    equal((await store.list()).threads[0]?.status, "running", "status");
  },

  "an append that is refused leaves the metadata alone": async ({ store, thread }) => {
    await store.append(thread, note(), { metadata: { title: "Weather" } });
    const late = store.append(thread, note(), { expectedRev: 0, metadata: { title: "News" } });
    await rejects(late, { code: "conflict" }, "append");
    equal((await store.load(thread))?.metadata, { title: "Weather" }, "metadata");
  },

  "changing what was passed in changes nothing that is stored": async ({ store, thread }) => {
    const payload = { list: [1, 2] };
    const appending = store.append(thread, note(payload));
    payload.list.push(3);
    const { entries } = await appending;
    payload.list.push(4);
    equal(entries[0]?.payload, { list: [1, 2] }, "answered payload");
    equal((await store.load(thread))?.at(0)?.payload, { list: [1, 2] }, "stored payload");
  },

  "a thousand entries land in one batch": async ({ store, thread }) => {
    equal((await store.append(thread, notes(1000))).rev, 1000, "rev");
    const loaded = present(await store.load(thread), "thread").toArray();
    equal(
      loaded.map(({ payload }) => payload["n"]),
      loaded.map((_, n) => n),
      "order",
    );
  },
};

/** Cases: the option `expectedRev`, which refuses an append after a foreign write. */
export const revisionCases: ContractTests = {
  "an append at the right revision lands": async ({ store, thread }) => {
    const { rev } = await store.append(thread, notes(3));
    equal((await store.append(thread, note(), { expectedRev: rev })).rev, 4, "rev");
  },

  "an append at a revision that is over is a conflict and writes nothing": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    const facts = { code: "conflict", expected: 2, actual: 3, threadId: thread, retryable: false };
    await rejects(store.append(thread, notes(2), { expectedRev: 2 }), facts, "append");
    equal((await store.load(thread))?.rev, 3, "rev");
  },

  "an append at a revision yet to come is a conflict and writes nothing": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    const facts = { code: "conflict", expected: 4, actual: 3 };
    await rejects(store.append(thread, note(), { expectedRev: 4 }), facts, "append");
    equal((await store.load(thread))?.rev, 3, "rev");
  },

  "revision 0 means that the thread must not be there": async ({ store, thread }) => {
    equal((await store.append(thread, note(), { expectedRev: 0 })).rev, 1, "rev");
    const facts = { code: "conflict", expected: 0, actual: 1 };
    await rejects(store.append(thread, note(), { expectedRev: 0 }), facts, "append");
  },

  "a missing thread is at revision 0": async ({ store, thread }) => {
    const facts = { code: "conflict", expected: 3, actual: 0 };
    await rejects(store.append(thread, note(), { expectedRev: 3 }), facts, "append");
    equal(await store.load(thread), undefined, "thread");
  },

  "a conflict does not stand in the way of the next append": async ({ store, thread }) => {
    await store.append(thread, notes(2));
    await rejects(store.append(thread, note(), { expectedRev: 0 }), { code: "conflict" }, "append");
    equal((await store.append(thread, note(), { expectedRev: 2 })).rev, 3, "rev");
  },

  "a revision that is no whole number from 0 is refused": async ({ store, thread }) => {
    for (const expectedRev of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      await rejects(store.append(thread, note(), { expectedRev }), { code: "invalid_options" }, `at ${expectedRev}`);
    equal(await store.load(thread), undefined, "thread");
  },
};
