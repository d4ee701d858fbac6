import type { FeedEntry, FeedItem, FeedOptions } from "../../stores/port.ts";
import { note, notes } from "../builders.ts";
import {
  allItems,
  type ContractTests,
  equal,
  firstEntries,
  firstItems,
  ok,
  present,
  rejects,
  sameJsonText,
  shortPause,
  until,
} from "./case-fixture.ts";

/** Cases: all threads of a tenant as one stream. */
export const feedCases: ContractTests = {
  "the feed has the entries of all threads in the order they were committed": async ({ store, fresh }) => {
    const written: (readonly [string, number])[] = [];
    for (const name of ["b", "a", "b", "c", "a"]) {
      const { entries } = await store.append(fresh(name), notes(2));
      written.push(...entries.map(({ seq }) => [fresh(name), seq] as const));
    }
    equal(places(await firstEntries(10, store.feed())), written, "places");
  },

  "the feed gives the entries that were written": async ({ store, thread }) => {
    const { entries } = await store.append(thread, [note({ z: 1, a: "\u0000" }, { refs: { runId: "r" } }), note()]);
    sameJsonText(
      (await firstEntries(2, store.feed())).map(({ entry }) => entry),
      entries,
      "entries",
    );
  },

  "a feed goes on after a cursor, in any handle": async ({ store, open, fresh }) => {
    for (let n = 0; n < 6; n++) await store.append(fresh(`t${n % 3}`), note({ n }));
    const all = await firstEntries(6, store.feed());
    const other = await open();
    for (let n = 0; n < 5; n++) {
      const after = present(all[n], "item").cursor;
      equal(
        places(await firstEntries(5 - n, other.feed({ after }))),
        places(all.slice(n + 1)),
        `places after item ${n}`,
      );
    }
  },

  "a feed waits for what comes, also from another handle": async ({ store, open, fresh }) => {
    const other = await open();
    const seen = firstEntries(4, store.feed());
    await store.append(fresh("a"), note());
    await shortPause();
    await other.append(fresh("b"), notes(2));
    await other.append(fresh("a"), note());
    equal(
      places(await seen),
      [
        [fresh("a"), 0],
        [fresh("b"), 0],
        [fresh("b"), 1],
        [fresh("a"), 1],
      ],
      "places",
    );
  },

  "a feed resumed while many write misses nothing and repeats nothing": async ({ store, open, fresh }) => {
    const other = await open();
    const writing = [store, other, store, other].map(async (handle, n) => {
      for (let batch = 0; batch < 10; batch++) await handle.append(fresh(`t${n % 3}`), notes(2));
    });
    const seen: FeedEntry[] = [];
    while (seen.length < 80)
      seen.push(...(await firstEntries(Math.min(7, 80 - seen.length), other.feed({ after: seen.at(-1)?.cursor }))));
    await Promise.all(writing);
    for (const name of ["t0", "t1", "t2"]) {
      const ofThread = seen.filter(({ threadId }) => threadId === fresh(name)).map(({ entry }) => entry.seq);
      equal(
        ofThread,
        ofThread.map((_, seq) => seq),
        `seqs of ${name}`,
      );
    }
  },

  "a feed that waits sees every thread that other handles append to at once": async ({ store, open, fresh }) => {
    const others = [await open(), await open()];
    await store.append(fresh("t0"), note());
    const following = store.feed()[Symbol.asyncIterator]();
    await following.next();
    for (let round = 0; round < 5; round++) {
      const names = [1, 2, 3, 4].map((n) => fresh(`t${n}`));
      const next = following.next();
      await shortPause();
      await Promise.all(names.map((id, n) => present(others[n % 2], "handle").append(id, note())));
      const seen = [await next, await following.next(), await following.next(), await following.next()];
      equal(seen.map(({ value }) => value?.threadId).sort(), names, `threads of round ${round}`);
    }
    await following.return?.();
  },

  "a cursor stays good when its thread is deleted": async ({ store, fresh }) => {
    await store.append(fresh("a"), notes(2));
    await store.append(fresh("b"), notes(2));
    await store.append(fresh("c"), note());
    const all = await firstEntries(5, store.feed());
    const inB = present(all[2], "item").cursor;
    await store.delete(fresh("b"));
    equal(places(await firstEntries(1, store.feed({ after: inB }))), [[fresh("c"), 0]], "after the cursor");
    const remaining = [
      [fresh("a"), 0],
      [fresh("a"), 1],
      [fresh("c"), 0],
    ];
    equal(places(await firstEntries(3, store.feed())), remaining, "from the start");
    await store.append(fresh("b"), note());
    equal(
      places(await firstEntries(2, store.feed({ after: inB }))),
      [
        [fresh("c"), 0],
        [fresh("b"), 0],
      ],
      "the recreated thread",
    );
  },

  "a thread that is deleted and begins anew is fed as what it is now, each entry once": async ({
    store,
    open,
    fresh,
  }) => {
    const other = await open();
    await store.append(fresh("a"), [note({ n: 1 }), note({ n: 2 })]);
    await store.append(fresh("b"), note({ n: 3 }));
    const following = other.feed()[Symbol.asyncIterator]();
    const before = [await following.next(), await following.next(), await following.next()].map(({ value }) => value);
    equal(before.map(numberOf), [1, 2, 3], "before");
    await store.delete(fresh("a"));
    await store.append(fresh("a"), [note({ n: 4 }), note({ n: 5 }), note({ n: 6 })]);
    await store.append(fresh("c"), note({ n: 7 }));
    const after = [4, 5, 6, 7];
    equal((await following.next()).value?.type, "deleted", "the deletion");
    for (const n of after) equal(numberOf((await following.next()).value), n, "in a feed that went on");
    await following.return?.();
    equal((await firstEntries(5, store.feed())).map(numberOf), [3, ...after], "from the start");
    for (const [index, { cursor }] of before.entries()) {
      const rest = index < 2 ? [3, ...after] : after;
      equal(
        (await firstEntries(rest.length, other.feed({ after: cursor }))).map(numberOf),
        rest,
        `after item ${index}`,
      );
    }
  },

  "the feed has an item in place of the shared history of a fork": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(2));
    await store.fork(thread, { atSeq: 0, newId: fresh("fork") });
    await store.append(fresh("fork"), note());
    await store.fork(fresh("fork"), { atSeq: -1, newId: fresh("empty") });
    await store.append(thread, note());
    const items = await firstItems(6, store.feed());
    const expected = [
      ["entry", thread, 0],
      ["entry", thread, 1],
      ["forked", fresh("fork"), thread, 0],
      ["entry", fresh("fork"), 1],
      ["forked", fresh("empty"), fresh("fork"), -1],
      ["entry", thread, 2],
    ];
    equal(items.map(summaryOf), expected, "items");
    for (const [index, { cursor }] of items.entries()) {
      const rest = await firstItems(5 - index, store.feed({ after: cursor }));
      equal(rest.map(summaryOf), expected.slice(index + 1), `items after ${index}`);
    }
  },

  "the feed says that a thread was deleted": async ({ store, open, thread, fresh }) => {
    const other = await open();
    await store.append(thread, notes(2));
    await store.append(fresh("b"), note());
    await store.fork(thread, { atSeq: 0, newId: fresh("fork") });
    const following = other.feed()[Symbol.asyncIterator]();
    const before: FeedItem[] = [];
    while (before.length < 4) before.push(present((await following.next()).value ?? undefined, "item"));
    const [next, , late] = [following.next(), await shortPause(), await store.delete(fresh("fork"))];
    ok(late !== false, "deleted");
    const deleted = ["deleted", fresh("fork")];
    equal(summaryOf(present((await next).value ?? undefined, "item")), deleted, "in a feed that waits");
    await following.return?.();
    await store.delete(thread);
    await store.append(thread, note());
    const now = [["entry", fresh("b"), 0], deleted, ["deleted", thread], ["entry", thread, 0]];
    equal((await firstItems(4, store.feed())).map(summaryOf), now, "from the start");
    for (const [index, { cursor }] of before.entries()) {
      const rest = now.slice(index < 2 ? 0 : 1);
      equal((await firstItems(rest.length, store.feed({ after: cursor }))).map(summaryOf), rest, `after item ${index}`);
    }
  },

  "a feed cursor that no feed has given is refused": async ({ store, thread }) => {
    await store.append(thread, notes(2));
    const cursor = present((await firstEntries(1, store.feed()))[0], "item").cursor;
    const wrong: readonly unknown[] = [
      "",
      "no cursor",
      "-1",
      "\u0000",
      `${cursor} `,
      `x${cursor}`,
      `${cursor}:x`,
      5,
      null,
    ];
    for (const after of wrong)
      await rejects(
        firstEntries(1, store.feed({ after } as FeedOptions)), // invalid on purpose
        { code: "invalid_options" },
        JSON.stringify(after),
      );
    equal(places(await firstEntries(1, store.feed({ after: cursor }))), [[thread, 1]], "after a good one");
  },

  "a cursor of another feed is refused": async ({ store, thread }) => {
    await store.append(thread, notes(2));
    const cursor = present((await firstItems(1, store.feed()))[0], "item").cursor;
    const after = cursor.replace(/^./, (first) => (first === "0" ? "1" : "0"));
    await rejects(firstItems(1, store.feed({ after })), { code: "feed_epoch_changed" }, "feed");
    ok(/^[0-9a-f]{16}-./.test(cursor), "the cursor names the epoch of the feed");
  },

  "more than a page is fed in order": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(700));
    await store.append(fresh("other"), notes(500));
    const items = await firstEntries(1200, store.feed());
    equal(
      items.map(({ entry }) => entry.seq),
      items.map((_, n) => (n < 700 ? n : n - 700)),
      "seqs",
    );
    ok(new Set(items.map(({ cursor }) => cursor)).size === 1200, "each item has a cursor of its own");
  },

  "a feed ends when its signal aborts or its store closes": async ({ open, thread }) => {
    const store = await open();
    await store.append(thread, note());
    equal(await allItems(store.feed({ signal: AbortSignal.abort() })), [], "items");
    const stop = new AbortController();
    const [stopped, closed] = [allItems(store.feed({ signal: stop.signal })), allItems(store.feed())];
    await shortPause();
    stop.abort();
    ok((await stopped).length <= 1, "the stopped feed ended");
    await store.close();
    ok((await closed).length <= 1, "the feed of the closed store ended");
  },
};

/** Cases: the stores of one tenant that one database has given. */
export const handleCases: ContractTests = {
  "what one store of a database writes reaches those that follow the tenant over another": async (fixture) => {
    const { tenant, thread, fresh } = fixture;
    const database = fixture.database();
    const [store, other] = [database.tenant(tenant), database.tenant(tenant)];
    for (let n = 0; n < 2; n++) await store.append(thread, note({ n }));
    const watched = store.watch(thread, { fromSeq: 0 })[Symbol.asyncIterator]();
    const fed = store.feed()[Symbol.asyncIterator]();
    for (const items of [watched, fed]) for (let n = 0; n < 2; n++) await items.next();
    let posts = 0;
    const end = store.onPosted(thread, () => posts++);
    for (let round = 1; round <= 3; round++) {
      const next = [watched.next(), fed.next()] as const;
      await shortPause();
      await other.append(thread, note({ n: round }));
      equal((await next[0]).value?.payload, { n: round }, "watched");
      equal((await next[1]).value?.threadId, thread, "fed");
      const before = posts;
      await other.post(thread, { id: fresh(`c${round}`), type: "x" });
      await until(async () => posts > before || undefined);
      const [outcome] = await Promise.all([
        store.outcome(thread, fresh(`c${round}`)),
        shortPause().then(() => other.withdraw(thread, fresh(`c${round}`))),
      ]);
      equal(outcome.status, "withdrawn", "outcome");
    }
    end();
    const forked = fed.next();
    await shortPause();
    await other.fork(thread, { atSeq: 0, newId: fresh("fork") });
    equal((await forked).value?.type, "forked", "a fork");
    const deleted = fed.next();
    await shortPause();
    await other.delete(fresh("fork"));
    equal((await deleted).value?.type, "deleted", "a deletion");
    for (const items of [watched, fed]) await items.return?.();
  },
};

function summaryOf(item: FeedItem): readonly unknown[] {
  const { type, threadId } = item;
  if (type === "entry") return [type, threadId, item.entry.seq];
  return type === "forked" ? [type, threadId, item.from, item.forkSeq] : [type, threadId];
}

function places(items: readonly FeedEntry[]): (readonly [string, number])[] {
  return items.map(({ threadId, entry }) => [threadId, entry.seq] as const);
}

function numberOf(item: FeedItem | undefined): unknown {
  return item?.entry?.payload["n"];
}
