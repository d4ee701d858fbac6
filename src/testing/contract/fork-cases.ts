import { StoreError } from "../../stores/errors.ts";
import type { DeleteOptions } from "../../stores/port.ts";
import type { Entry, EntryInput } from "../../thread/entry.ts";
import { note, notes, user } from "../builders.ts";
import {
  allItems,
  type ContractTests,
  equal,
  firstItems,
  ok,
  present,
  rejects,
  sameJsonText,
  shortPause,
} from "./case-fixture.ts";

/** Cases: forks, which share the history of another thread. */
export const forkCases: ContractTests = {
  "a fork has the history up to and including a seq": async ({ store, thread, fresh }) => {
    await store.append(thread, [user("a"), note({ z: 1, a: "\u0000" }, { v: 2, refs: { runId: "r" } }), user("c")]);
    const parent = present(await store.load(thread), "parent").toArray();
    for (const atSeq of [0, 1, 2]) {
      const info = await store.fork(thread, { atSeq, newId: fresh(`fork${atSeq}`) });
      equal([info.id, info.rev], [fresh(`fork${atSeq}`), atSeq + 1], "info");
      sameJsonText((await store.load(info.id))?.toArray(), parent.slice(0, atSeq + 1), "entries");
      equal((await store.verify(info.id)).ok, true, "verify");
    }
  },

  "a fork knows where it comes from": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(3), { metadata: { title: "old", owner: "ada", parentThreadId: "someone" } });
    const metadata = { title: "new", forkSeq: 99, status: "draft" };
    const info = await store.fork(thread, { atSeq: 1, newId: fresh("fork"), metadata });
    const expected = { title: "new", owner: "ada", parentThreadId: thread, forkSeq: 1, status: "draft" };
    equal(info.metadata, expected, "answered metadata");
    equal(info.status, "draft", "status");
    equal((await store.load(info.id))?.metadata, expected, "loaded metadata");
    equal(
      (await store.list()).threads.find(({ id }) => id === info.id),
      info,
      "listed",
    );
  },

  "a fork has the status that its own entries give": async ({ store, thread, fresh }) => {
    const ask = (requestId: string) => ({
      kind: "ai_message",
      payload: { role: "user", content: "hi", requestId, runId: `run_${requestId}` },
      refs: { requestId },
    });
    const end = (status: string) => ({ kind: "note", payload: { end: { status } } });
    await store.append(thread, [note(), ask("r1"), end("completed"), note(), ask("r2"), end("failed"), ask("r3")], {
      metadata: { status: "running", owner: "ada" },
    });
    const expected = [undefined, undefined, undefined, "completed", "completed", undefined, "failed", undefined];
    for (const [index, status] of expected.entries()) {
      const info = await store.fork(thread, { atSeq: index - 1, newId: fresh(`fork${index}`) });
      equal([info.status, info.metadata["status"]], [status, status], `status at ${index - 1}`);
      equal(info.metadata["owner"], "ada", "other metadata");
    }
    const running = await store.list({ status: "running" });
    equal(
      running.threads.map(({ id }) => id),
      [thread],
      "threads listed as running",
    );
    await store.append(thread, note(), { metadata: { status: "waiting" } });
    equal((await store.fork(thread, { atSeq: 7, newId: fresh("whole") })).status, "waiting", "whole thread that waits");
    await store.append(thread, note(), { metadata: { status: "archived" } });
    equal((await store.fork(thread, { atSeq: 0, newId: fresh("own") })).status, "archived", "a status of the caller's");
  },

  "a fork without a name gets one": async ({ store, thread }) => {
    await store.append(thread, note());
    const [one, two] = [await store.fork(thread, { atSeq: 0 }), await store.fork(thread, { atSeq: 0 })];
    ok(one.id !== two.id && one.id !== thread, "names of their own");
    equal((await store.load(one.id))?.rev, 1, "rev");
  },

  "a fork and its parent go their own ways": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(3), { metadata: { title: "parent" } });
    const before = present(await store.load(thread), "parent").toJSON();
    const hash = (await store.verify(thread)).hash;
    await store.fork(thread, { atSeq: 1, newId: fresh("fork") });
    await store.append(fresh("fork"), note({ only: "fork" }), { expectedRev: 2, metadata: { title: "fork" } });
    sameJsonText((await store.load(thread))?.toJSON(), before, "parent");
    equal((await store.verify(thread)).hash, hash, "hash of the parent");
    await store.append(thread, note({ only: "parent" }));
    equal((await store.load(fresh("fork")))?.at(2)?.payload, { only: "fork" }, "entry of the fork");
    equal((await store.load(fresh("fork")))?.rev, 3, "rev of the fork");
    for (const id of [thread, fresh("fork")]) equal((await store.verify(id)).ok, true, "verify");
  },

  "a fork remembers the ids it shares": async ({ store, thread, fresh }) => {
    await store.append(thread, [note({ n: 1 }, { id: "a" }), note({ n: 2 }, { id: "b" })]);
    await store.fork(thread, { atSeq: 0, newId: fresh("fork") });
    equal((await store.append(fresh("fork"), note({ n: 1 }, { id: "a" }))).replayed, true, "a is known");
    equal((await store.append(fresh("fork"), note({ n: 9 }, { id: "b" }))).replayed, false, "b is free");
  },

  "a fork of a fork": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(3));
    await store.fork(thread, { atSeq: 2, newId: fresh("f1") });
    await store.append(fresh("f1"), notes(3));
    const info = await store.fork(fresh("f1"), { atSeq: 4, newId: fresh("f2") });
    equal([info.rev, info.metadata["parentThreadId"], info.metadata["forkSeq"]], [5, fresh("f1"), 4], "fork");
    equal((await store.verify(fresh("f2"))).ok, true, "verify");
  },

  "forks of forks read as if they had copies": async ({ store, thread, fresh, random }) => {
    const kinds = ["note", "message"];
    const entry = (n: number): EntryInput => ({
      kind: kinds[n % 2],
      payload: { n, text: n % 3 === 0 ? "third" : "" },
      refs: { requestId: `r${n % 4}` },
    });
    const append = async (id: string, count: number): Promise<readonly Entry[]> => {
      const from = present(await store.load(id, { last: 0 }), id).rev;
      const { entries } = await store.append(
        id,
        Array.from({ length: count }, (_, n) => entry(from + n)),
      );
      return entries;
    };
    await store.append(thread, entry(0));
    await append(thread, 9);
    let expected = present(await store.load(thread), "thread").toArray();
    let parent = thread;
    for (const [index, atSeq] of [6, 9, 9, 10, 3].entries()) {
      const newId = fresh(`fork${index}`);
      await store.fork(parent, { atSeq, newId });
      expected = [...expected.slice(0, atSeq + 1), ...(await append(newId, 3))];
      await append(parent, 2);
      parent = newId;
      sameJsonText((await store.load(newId))?.toArray(), expected, newId);
      const latest = await allItems(store.read(newId, { reverse: true, limit: 5 }));
      sameJsonText(latest, expected.toReversed().slice(0, 5), `${newId} in reverse`);
      for (let query = 0; query < 12; query++) {
        const [fromSeq, toSeq, limit] = [random.below(13), random.below(13), random.below(6)];
        const kind = random.oneIn(3) ? "note" : undefined;
        const search = random.oneIn(3) ? "third" : undefined;
        const requestId = random.oneIn(3) ? "r1" : undefined;
        const reverse = random.oneIn(2);
        const options = {
          fromSeq,
          toSeq,
          limit,
          reverse,
          search,
          kinds: kind && [kind],
          refs: requestId && { requestId },
        };
        const found = expected.filter(
          ({ seq, kind: of, payload, refs }) =>
            seq >= fromSeq &&
            seq <= toSeq &&
            (kind === undefined || of === kind) &&
            (search === undefined || payload["text"] === search) &&
            (requestId === undefined || refs["requestId"] === requestId),
        );
        const inOrder = (reverse ? found.toReversed() : found).slice(0, limit);
        sameJsonText(await allItems(store.read(newId, options)), inOrder, `${newId} ${JSON.stringify(options)}`);
      }
      equal((await store.verify(newId)).entries, expected.length, "entries");
    }
  },

  "forks of forks remember the ids they share, and no others": async ({ store, thread, fresh }) => {
    const named = (id: string) => note({ id }, { id });
    await store.append(thread, [named("a"), named("b"), named("c")]);
    await store.fork(thread, { atSeq: 1, newId: fresh("f1") });
    await store.append(fresh("f1"), [named("d"), named("e")]);
    await store.fork(fresh("f1"), { atSeq: 2, newId: fresh("f2") });
    await store.append(fresh("f2"), named("f"));
    for (const [id, seq] of [
      ["a", 0],
      ["b", 1],
      ["d", 2],
      ["f", 3],
    ] as const) {
      const { replayed, entries } = await store.append(fresh("f2"), named(id));
      equal([replayed, entries[0]?.seq], [true, seq], id);
    }
    const whole = ["a", "b", "d", "f"].map(named);
    equal((await store.append(fresh("f2"), whole)).replayed, true, "a batch over all parts");
    await rejects(
      store.append(fresh("f2"), note({ other: 1 }, { id: "a" })),
      { code: "entry_id_reused" },
      "other content",
    );
    for (const id of ["c", "e"]) equal((await store.append(fresh("f2"), named(id))).replayed, false, `${id} is free`);
    await rejects(
      store.append(fresh("f1"), named("c"), { expectedRev: 0 }),
      { code: "conflict" },
      "c in the first fork",
    );
  },

  "a search of threads finds the text that a fork shares": async ({ store, thread, fresh }) => {
    await store.append(thread, [note({ text: "early" }), note({ text: "late" })]);
    await store.fork(thread, { atSeq: 0, newId: fresh("f1") });
    await store.fork(fresh("f1"), { atSeq: 0, newId: fresh("f2") });
    const found = async (search: string) => (await store.list({ search, order: "id" })).threads.map(({ id }) => id);
    equal(await found("early"), [fresh("f1"), fresh("f2"), thread].sort(), "shared text");
    equal(await found("late"), [thread], "text after the fork");
  },

  "a watcher of an id that becomes a fork gets the shared entries": async ({ store, open, thread, fresh }) => {
    const other = await open();
    await store.append(thread, notes(3));
    const seen = firstItems(3, other.watch(fresh("fork"), { fromSeq: 0 }));
    await shortPause();
    await store.fork(thread, { atSeq: 1, newId: fresh("fork") });
    await store.append(fresh("fork"), note());
    equal(
      (await seen).map(({ seq }) => seq),
      [0, 1, 2],
      "seqs",
    );
  },

  "a deleted parent is gone, and its forks keep what they show": async ({ store, open, thread, fresh }) => {
    const other = await open();
    await store.append(thread, [note({ n: 1 }, { id: "a" }), ...notes(4)], { metadata: { title: "gone" } });
    await store.fork(thread, { atSeq: 2, newId: fresh("f1") });
    await store.append(fresh("f1"), notes(2));
    await store.fork(fresh("f1"), { atSeq: 3, newId: fresh("f2") });
    const forks = [fresh("f1"), fresh("f2")];
    const before = await Promise.all(forks.map(async (id) => (await store.load(id))?.toJSON()));
    const deletion = await other.delete(thread);
    ok(deletion !== false, "deleted");
    equal(deletion.deleted, [thread], "deleted");
    if (deletion.keptFor.length > 0) equal(deletion.keptFor.toSorted(), forks, "forks that the rows are kept for"); // a driver may copy
    equal(await store.load(thread), undefined, "thread");
    equal(await allItems(store.read(thread)), [], "entries");
    equal(
      (await store.list({ order: "id" })).threads.map(({ id }) => id),
      forks,
      "list",
    );
    await rejects(store.verify(thread), { code: "thread_not_found" }, "verify");
    await rejects(store.fork(thread, { atSeq: 0 }), { code: "thread_not_found" }, "fork");
    await rejects(store.append(thread, note(), { create: false }), { code: "thread_not_found" }, "append");
    equal(await store.delete(thread), false, "deleted again");
    const { rev, replayed } = await store.append(thread, note({ n: 2 }, { id: "a" }), { expectedRev: 0 });
    equal([rev, replayed], [1, false], "a new thread of this id");
    equal((await store.load(thread))?.metadata, {}, "its metadata");
    for (const [index, id] of forks.entries()) {
      sameJsonText((await store.load(id))?.toJSON(), before[index], id);
      equal((await store.append(id, note({ n: 1 }, { id: "a" }))).replayed, true, "a shared id");
      equal((await store.verify(id)).ok, true, "verify");
    }
    ok((await store.delete(fresh("f1"))) !== false, "the first fork is deleted");
    sameJsonText((await store.load(fresh("f2")))?.toJSON(), before[1], "the fork of the fork");
    equal((await store.verify(fresh("f2"))).ok, true, "verify");
    ok((await store.delete(fresh("f2"))) !== false, "the last fork is deleted");
    equal((await store.load(thread))?.rev, 1, "the new thread stays");
  },

  "a tree is deleted with its forks": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(3));
    await store.fork(thread, { atSeq: 1, newId: fresh("f1") });
    await store.append(fresh("f1"), note());
    await store.fork(fresh("f1"), { atSeq: 2, newId: fresh("f2") });
    await store.fork(fresh("f1"), { atSeq: 0, newId: fresh("f3") });
    await store.fork(fresh("f3"), { atSeq: -1, newId: fresh("f4") });
    await store.append(fresh("other"), note());
    const deletion = await store.delete(thread, { forks: "delete" });
    ok(deletion !== false, "deleted");
    const forks = ["f1", "f2", "f3", "f4"].map(fresh);
    equal(
      [deletion.deleted[0], deletion.deleted.slice(1).toSorted(), deletion.keptFor],
      [thread, forks, []],
      "deletion",
    );
    equal(
      (await store.list()).threads.map(({ id }) => id),
      [fresh("other")],
      "list",
    );
    equal(await store.delete(thread, { forks: "delete" }), false, "deleted again");
    const wrong: unknown = { forks: "all" };
    await rejects(store.delete(thread, wrong as DeleteOptions), { code: "invalid_options" }, "another option"); // wrong on purpose
  },

  "a tree is deleted with the forks of a fork that was deleted": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(3));
    await store.fork(thread, { atSeq: 1, newId: fresh("f1") });
    await store.fork(fresh("f1"), { atSeq: 0, newId: fresh("f2") });
    await store.delete(fresh("f1"));
    const deletion = await store.delete(thread, { forks: "delete" });
    equal(deletion, { deleted: [thread, fresh("f2")], keptFor: [] }, "deletion");
  },

  "a tree is deleted without a fork of an earlier thread with its id": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(3));
    await store.fork(thread, { atSeq: 1, newId: fresh("f1") });
    await store.delete(thread);
    await store.append(thread, notes(3));
    await store.append(fresh("other"), note(), { metadata: { parentThreadId: thread, forkSeq: 0 } });
    const deletion = await store.delete(thread, { forks: "delete" });
    equal(deletion, { deleted: [thread], keptFor: [] }, "deletion");
    equal(present(await store.load(fresh("f1")), "fork").rev, 2, "rev of the fork");
  },

  "a tree that was restored is deleted with all that list names": async ({ store, thread, fresh }) => {
    const [f1, f2, f3] = ["f1", "f2", "f3"].map(fresh) as [string, string, string]; // three
    await store.append(thread, notes(3));
    await store.fork(thread, { atSeq: 1, newId: f1 });
    await store.fork(f1, { atSeq: 0, newId: f2 });
    await store.append(fresh("other"), note());
    const copies = await Promise.all([thread, f1, f2].map((id) => store.load(id)));
    await store.delete(thread, { forks: "delete" });
    for (const copy of copies) await store.save(present(copy, "copy"));
    await store.fork(f2, { atSeq: 0, newId: f3 });
    await store.append(thread, [], { metadata: { parentThreadId: f3 } }); // a circle ends too
    const deletion = present((await store.delete(thread, { forks: "delete" })) || undefined, "deletion");
    equal([deletion.deleted[0], deletion.deleted.toSorted()], [thread, [thread, f1, f2, f3].toSorted()], "deleted");
    equal(
      (await store.list()).threads.map(({ id }) => id),
      [fresh("other")],
      "list",
    );
  },

  "a long thread forks whole": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(1205));
    await store.fork(thread, { atSeq: 1201, newId: fresh("fork") });
    equal((await store.load(fresh("fork")))?.rev, 1202, "rev");
    equal((await store.verify(fresh("fork"))).ok, true, "verify");
  },

  "a name that is taken is refused, and what has it stays": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(2));
    await store.append(fresh("taken"), note({ mine: true }));
    const facts = { code: "thread_exists", threadId: fresh("taken") };
    await rejects(store.fork(thread, { atSeq: 1, newId: fresh("taken") }), facts, "fork");
    equal((await store.load(fresh("taken")))?.rev, 1, "rev");
    await rejects(store.fork(thread, { atSeq: 0, newId: thread }), { code: "thread_exists" }, "fork onto itself");
    equal((await store.load(thread))?.rev, 2, "rev");
  },

  "a fork that is repeated is the one that was made": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(3));
    const newId = fresh("fork");
    const first = await store.fork(thread, { atSeq: 1, newId });
    equal(await store.fork(thread, { atSeq: 1, newId }), first, "repeated");
    await store.append(newId, user("on the fork"));
    equal((await store.fork(thread, { atSeq: 1, newId })).rev, 3, "repeated later");
    await rejects(store.fork(newId, { atSeq: 1, newId }), { code: "thread_exists" }, "of itself");
    equal((await store.load(newId))?.rev, 3, "rev");
  },

  "of forks to one name at once exactly one wins": async ({ store, open, thread, fresh }) => {
    const other = await open();
    await store.append(thread, notes(5));
    const attempts = [0, 1, 2, 3].map((atSeq) =>
      (atSeq % 2 === 0 ? store : other).fork(thread, { atSeq, newId: fresh("fork") }),
    );
    const outcomes = await Promise.allSettled(attempts);
    const [winner, ...more] = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? outcome.value : []));
    equal(more, [], "other winners");
    equal((await store.load(fresh("fork")))?.rev, winner?.rev, "rev");
    equal((await store.verify(fresh("fork"))).ok, true, "verify");
  },

  "a thread that is deleted while it is forked is forked whole or not at all": async ({
    store,
    open,
    thread,
    fresh,
  }) => {
    const other = await open();
    for (let round = 0; round < 24; round++) {
      await store.append(thread, notes(5));
      const newId = fresh(`fork${round}`);
      const forking = other.fork(thread, { atSeq: 3, newId }).catch((error: unknown) => error);
      for (let wait = 0; wait < round; wait++) await Promise.resolve();
      await store.delete(thread);
      const outcome = await forking;
      if (StoreError.isInstance(outcome)) equal(outcome.code, "thread_not_found", "code");
      const copy = await store.load(newId);
      equal(copy?.rev ?? "none", StoreError.isInstance(outcome) ? "none" : 4, "rev of the fork");
      if (copy !== undefined) equal((await store.verify(newId)).ok, true, "verify");
    }
  },

  "a fork at -1 is empty, knows its parent, and takes entries": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(3), { metadata: { owner: "ada" } });
    const newId = fresh("fork");
    const info = await store.fork(thread, { atSeq: -1, newId, metadata: { title: "Edited" } });
    const expected = { owner: "ada", title: "Edited", parentThreadId: thread, forkSeq: -1 };
    equal([info.id, info.rev, info.metadata], [newId, 0, expected], "info");
    const empty = present(await store.load(newId), "fork");
    equal([empty.rev, empty.firstSeq, empty.metadata], [0, 0, expected], "loaded");
    equal((await store.verify(newId)).ok, true, "verify");
    await rejects(store.fork(thread, { atSeq: 0, newId }), { code: "thread_exists" }, "the name is taken");
    await store.append(newId, user("first"), { expectedRev: 0, create: false });
    equal(
      (await store.load(newId))?.toArray().map(({ payload }) => payload["content"]),
      ["first"],
      "entries",
    );
    equal((await store.load(newId))?.metadata, expected, "metadata stays");
    equal((await store.verify(newId)).ok, true, "verify with an entry");
    equal((await store.load(thread))?.rev, 3, "rev of the parent");
    equal((await store.fork(newId, { atSeq: -1 })).rev, 0, "a fork of the fork");
  },

  "only what is there can be forked": async ({ store, thread, fresh }) => {
    await rejects(store.fork(thread, { atSeq: 0 }), { code: "thread_not_found", threadId: thread }, "no thread");
    await store.append(thread, notes(2));
    const newId = fresh("fork");
    await rejects(store.fork(thread, { atSeq: 2, newId }), { code: "seq_out_of_range" }, "beyond the end");
    await rejects(store.fork(fresh("missing"), { atSeq: -1 }), { code: "thread_not_found" }, "no thread, at -1");
    for (const atSeq of [-2, 0.5, Number.NaN])
      await rejects(store.fork(thread, { atSeq, newId }), { code: "invalid_options" }, `at ${atSeq}`);
    equal(await store.load(newId), undefined, "fork");
  },
};
