import type { ReadOptions } from "../../stores/port.ts";
import type { Entry, Refs } from "../../thread/entry.ts";
import { note, notes, user } from "../builders.ts";
import {
  allItems,
  type CaseFixture,
  type ContractTests,
  equal,
  firstItems,
  present,
  rejects,
  shortPause,
} from "./case-fixture.ts";

/** Cases: reading single entries and ranges. */
export const readCases: ContractTests = {
  "a missing thread has no entries": async ({ store, thread }) => {
    equal(await allItems(store.read(thread)), [], "entries");
    equal(await allItems(store.read(thread, { reverse: true, limit: 3 })), [], "entries");
  },

  "a range includes both ends": async ({ store, thread }) => {
    await store.append(thread, notes(10));
    await checkSeqs(store, thread, { fromSeq: 3, toSeq: 6 }, [3, 4, 5, 6]);
    await checkSeqs(store, thread, { fromSeq: 8 }, [8, 9]);
    await checkSeqs(store, thread, { toSeq: 1 }, [0, 1]);
    await checkSeqs(store, thread, { fromSeq: 4, toSeq: 4 }, [4]);
    await checkSeqs(store, thread, { fromSeq: 5, toSeq: 4 }, []);
    await checkSeqs(store, thread, { fromSeq: 10 }, []);
    await checkSeqs(store, thread, { fromSeq: 8, toSeq: 99 }, [8, 9]);
  },

  "in reverse the last comes first": async ({ store, thread }) => {
    await store.append(thread, notes(10));
    await checkSeqs(store, thread, { reverse: true, limit: 3 }, [9, 8, 7]);
    await checkSeqs(store, thread, { reverse: true, fromSeq: 3, toSeq: 6 }, [6, 5, 4, 3]);
    await checkSeqs(store, thread, { reverse: true, toSeq: 2 }, [2, 1, 0]);
    await checkSeqs(store, thread, { reverse: true, fromSeq: 8, toSeq: 99 }, [9, 8]);
  },

  "kinds are chosen before they are counted": async ({ store, thread }) => {
    await store.append(thread, [note(), user("a"), note(), { kind: "error" }, user("b"), note()]);
    await checkSeqs(store, thread, { kinds: ["message"] }, [1, 4]);
    await checkSeqs(store, thread, { kinds: ["message", "error"], limit: 2 }, [1, 3]);
    await checkSeqs(store, thread, { kinds: ["message", "error"], limit: 2, reverse: true }, [4, 3]);
    await checkSeqs(store, thread, { kinds: ["message"], fromSeq: 2 }, [4]);
    await checkSeqs(store, thread, { kinds: ["nothing such"] }, []);
    await checkSeqs(store, thread, { kinds: [] }, []);
    await checkSeqs(store, thread, { kinds: ["message", "message"] }, [1, 4]);
  },

  "what is searched for stands in the payload, whatever the case of A to Z": async ({ store, thread }) => {
    const said = ["Warp and weft", 'the "weft"', "nothing", "WEFT\u0000", "é", "weft ".repeat(20_000)];
    await store.append(
      thread,
      said.map((text) => user(text)),
    );
    await checkSeqs(store, thread, { search: "weFT" }, [0, 1, 3, 5]);
    await checkSeqs(store, thread, { search: "weft", limit: 2 }, [0, 1]);
    await checkSeqs(store, thread, { search: "weft", limit: 2, reverse: true }, [5, 3]);
    await checkSeqs(store, thread, { search: "weft", fromSeq: 1, toSeq: 3 }, [1, 3]);
    await checkSeqs(store, thread, { search: "weft", kinds: ["note"] }, []);
    await checkSeqs(store, thread, { search: '"weft"' }, [1]);
    await checkSeqs(store, thread, { search: "\u0000" }, [3]);
    await checkSeqs(store, thread, { search: "É" }, []);
    await checkSeqs(store, thread, { search: "nowhere" }, []);
    await checkSeqs(store, thread, { search: "" }, [0, 1, 2, 3, 4, 5]);
  },

  "a limit of nothing reads nothing": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    await checkSeqs(store, thread, { limit: 0 }, []);
    await checkSeqs(store, thread, { limit: 2 }, [0, 1]);
    await checkSeqs(store, thread, { limit: 99 }, [0, 1, 2]);
  },

  "refs choose, and a value matches by its type": async ({ store, thread }) => {
    const refs = [
      { requestId: "r1", callId: "c1" },
      { requestId: "r1", callId: "c2" },
      { requestId: "r2", callId: "c1" },
      { iteration: 1 },
      { iteration: "1" },
      { other: null, 'odd "key': true },
      {},
    ] as Refs[]; // a number and a text under one key, on purpose
    await store.append(
      thread,
      refs.map((refs, n) => (n % 2 === 0 ? note({}, { refs }) : user("u", { refs }))),
    );
    await checkSeqs(store, thread, { refs: { requestId: "r1" } }, [0, 1]);
    await checkSeqs(store, thread, { refs: { requestId: "r1" }, reverse: true }, [1, 0]);
    await checkSeqs(store, thread, { refs: { requestId: "r1" }, fromSeq: 1 }, [1]);
    await checkSeqs(store, thread, { refs: { requestId: "r1" }, kinds: ["message"] }, [1]);
    await checkSeqs(store, thread, { refs: { requestId: "r1", callId: "c1" } }, [0]);
    await checkSeqs(store, thread, { refs: { callId: "c1" } }, [0, 2]);
    await checkSeqs(store, thread, { refs: { callId: "c1" }, limit: 1, reverse: true }, [2]);
    await checkSeqs(store, thread, { refs: { iteration: 1 } }, [3]);
    await checkSeqs(store, thread, { refs: { iteration: "1" } as unknown as Refs }, [4]); // the other type on purpose
    await checkSeqs(store, thread, { refs: { other: null } }, [5]);
    await checkSeqs(store, thread, { refs: { 'odd "key': true } }, [5]);
    await checkSeqs(store, thread, { refs: {} }, [0, 1, 2, 3, 4, 5, 6]);
    for (const none of [
      { requestId: "r" },
      { requestId: "r11" },
      { requestId: "R1" },
      { nothing: "r1" },
      { other: "" },
    ])
      await checkSeqs(store, thread, { refs: none }, []);
    await checkSeqs(store, `${thread}_missing`, { refs: { requestId: "r1" } }, []);
  },

  "a request id may be any text": async ({ store, thread }) => {
    const long = "r".repeat(10_000);
    const ids = [
      `${long}1`,
      `${long}2`,
      "a\u0000b",
      'a"b',
      "a\\",
      "\u{1F9F6}".repeat(70),
      "{}",
      "[",
      ",",
      "a b",
      "é",
      "ｅ",
      "",
    ];
    const lookalike = { ',"requestId': "r", 'x{"requestId': "r", text: '{"requestId":"r"}', requestIdx: "r" } as Refs;
    await store.append(
      thread,
      [...ids, "r"].map((requestId) => note({}, { refs: { a: 1, ...lookalike, requestId } })),
    );
    await store.append(thread, note({}, { refs: lookalike }));
    for (const [seq, requestId] of [...ids, "r"].entries())
      await checkSeqs(store, thread, { refs: { requestId } }, [seq]);
  },

  "a request of more than a page is read in order, among others": async ({ store, thread }) => {
    const refs = (n: number): Refs => ({ requestId: `request_${n % 3}`, iteration: n % 2 });
    await store.append(
      thread,
      Array.from({ length: 1800 }, (_, n) => note({}, { refs: refs(n) })),
    );
    const all = Array.from({ length: 600 }, (_, n) => 3 * n + 1);
    await checkSeqs(store, thread, { refs: { requestId: "request_1" } }, all);
    await checkSeqs(
      store,
      thread,
      { refs: { requestId: "request_1" }, reverse: true, limit: 550 },
      all.toReversed().slice(0, 550),
    );
    const even = all.filter((n) => n % 2 === 0);
    await checkSeqs(store, thread, { refs: { requestId: "request_1", iteration: 0 }, limit: 299 }, even.slice(0, 299));
    const { id } = await store.fork(thread, { atSeq: 5 });
    await checkSeqs(store, id, { refs: { requestId: "request_1" } }, [1, 4]);
    await store.delete(thread);
    await store.append(thread, note({}, { refs: { requestId: "request_1" } }));
    await checkSeqs(store, thread, { refs: { requestId: "request_1" } }, [0]);
  },

  "more than a page is read in order, both ways": async ({ store, thread }) => {
    await store.append(
      thread,
      Array.from({ length: 1203 }, (_, n) => (n % 2 === 0 ? note() : user("u"))),
    );
    const all = Array.from({ length: 1203 }, (_, seq) => seq);
    const odd = all.filter((seq) => seq % 2 === 1);
    await checkSeqs(store, thread, {}, all);
    await checkSeqs(store, thread, { reverse: true }, all.toReversed());
    await checkSeqs(store, thread, { fromSeq: 100, toSeq: 1100, limit: 777 }, all.slice(100, 877));
    await checkSeqs(store, thread, { kinds: ["message"] }, odd);
    await checkSeqs(store, thread, { kinds: ["message"], reverse: true, limit: 555 }, odd.toReversed().slice(0, 555));
    for (const limit of [499, 500, 501, 1000]) await checkSeqs(store, thread, { limit }, all.slice(0, limit));
  },

  "a range of any thread is what the array says": async ({ store, thread, random }) => {
    const kinds = ["note", "message", "error"] as const;
    const { entries: all } = await store.append(
      thread,
      random.list(60, () => ({ kind: random.pick(kinds) })),
    );
    for (let round = 0; round < 40; round++) {
      const fromSeq = random.below(70);
      const toSeq = random.below(70);
      const limit = random.below(30);
      const reverse = random.oneIn(2);
      const chosen = random.oneIn(2) ? undefined : random.list(random.below(3), () => random.pick(kinds));
      const inRange = all.filter(
        ({ seq, kind }) => seq >= fromSeq && seq <= toSeq && (chosen?.includes(kind as "note") ?? true),
      ); // any of the three
      const expected = (reverse ? inRange.toReversed() : inRange).slice(0, limit).map(({ seq }) => seq);
      await checkSeqs(store, thread, { fromSeq, toSeq, limit, reverse, kinds: chosen }, expected);
    }
  },

  "a reader may stop early": async ({ store, thread }) => {
    await store.append(thread, notes(600));
    equal((await firstItems(2, store.read(thread))).length, 2, "entries");
    equal((await store.append(thread, note())).rev, 601, "rev");
  },

  "options of a read that make no sense are refused": async ({ store, thread }) => {
    await store.append(thread, note());
    for (const bad of [-1, 1.5, Number.NaN])
      for (const option of ["fromSeq", "toSeq", "limit"])
        await rejects(allItems(store.read(thread, { [option]: bad })), { code: "invalid_options" }, `${option} ${bad}`);
    for (const refs of [5, "r1", [], { requestId: undefined }, { requestId: {} }, { requestId: Number.NaN }])
      await rejects(
        allItems(store.read(thread, { refs: refs as Refs })), // invalid on purpose
        { code: "invalid_options" },
        `refs ${JSON.stringify(refs)}`,
      );
    const kinds = "note" as unknown as string[]; // invalid on purpose
    await rejects(allItems(store.read(thread, { kinds })), { code: "invalid_options" }, "kinds");
  },
};

async function checkSeqs(
  store: CaseFixture["store"],
  thread: string,
  options: ReadOptions,
  seqs: number[],
): Promise<void> {
  const entries = await allItems(store.read(thread, options));
  equal(
    entries.map(({ seq }) => seq),
    seqs,
    `seqs of read(${JSON.stringify(options)})`,
  );
}

/** Cases: watching a thread for new entries. */
export const watchCases: ContractTests = {
  "a watcher from the start sees what is there and what comes": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    const seen = firstItems(5, store.watch(thread, { fromSeq: 0 }));
    await store.append(thread, notes(2));
    equal(seqs(await seen), [0, 1, 2, 3, 4], "seqs");
  },

  "a watcher from the middle begins there": async ({ store, thread }) => {
    await store.append(thread, notes(5));
    equal(seqs(await firstItems(2, store.watch(thread, { fromSeq: 3 }))), [3, 4], "seqs");
  },

  "a watcher from beyond the end waits for that entry": async ({ store, thread }) => {
    await store.append(thread, notes(2));
    const seen = firstItems(2, store.watch(thread, { fromSeq: 4 }));
    for (let n = 0; n < 4; n++) await store.append(thread, note());
    equal(seqs(await seen), [4, 5], "seqs");
  },

  "a thread that does not exist yet can be watched": async ({ store, thread }) => {
    const seen = firstItems(2, store.watch(thread, { fromSeq: 0 }));
    await shortPause();
    await store.append(thread, notes(2));
    equal(seqs(await seen), [0, 1], "seqs");
  },

  "a watcher sees what another handle appends": async ({ store, open, thread }) => {
    const other = await open();
    const seen = firstItems(4, store.watch(thread, { fromSeq: 0 }));
    await other.append(thread, notes(2));
    await shortPause();
    await other.append(thread, notes(2));
    equal(seqs(await seen), [0, 1, 2, 3], "seqs");
  },

  "a watcher gets the entries that were written, whole": async ({ store, thread }) => {
    const seen = firstItems(2, store.watch(thread, { fromSeq: 0 }));
    const { entries } = await store.append(thread, [note({ text: "\u0000 \u{1F9F6}" }, { v: 2 }), note()]);
    equal(await seen, entries, "entries");
  },

  "a watch ends when its signal aborts": async ({ store, thread }) => {
    await store.append(thread, notes(2));
    const stop = new AbortController();
    const seen: number[] = [];
    for await (const { seq } of store.watch(thread, { fromSeq: 0, signal: stop.signal })) {
      seen.push(seq);
      if (seq === 1) setTimeout(() => stop.abort(), 5);
    }
    equal(seen, [0, 1], "seqs");
  },

  "a watch whose signal has aborted already is over": async ({ store, thread }) => {
    await store.append(thread, notes(2));
    equal(await allItems(store.watch(thread, { fromSeq: 0, signal: AbortSignal.abort() })), [], "entries");
  },

  "a watch ends when the store closes": async ({ open, thread }) => {
    const store = await open();
    await store.append(thread, notes(2));
    const seen: Entry[] = [];
    const watching = (async () => {
      for await (const entry of store.watch(thread, { fromSeq: 0 })) seen.push(entry);
    })();
    while (seen.length < 2) await shortPause();
    await store.close();
    await watching;
    equal(seqs(seen), [0, 1], "seqs");
  },

  "watchers that begin while others append miss nothing and see everything in order": async ({ open, thread }) => {
    const [one, two] = [await open(), await open()];
    const writing = [one, two].map(async (store, writer) => {
      for (let n = 0; n < 20; n++) await store.append(thread, [note({ writer, n }), note({ writer, n })]);
    });
    const watching: Promise<Entry[]>[] = [];
    for (let n = 0; n < 6; n++) {
      watching.push(firstItems(80 - n, (n % 2 === 0 ? one : two).watch(thread, { fromSeq: n })));
      await shortPause();
    }
    await Promise.all(writing);
    for (const [from, seen] of (await Promise.all(watching)).entries())
      equal(
        seqs(seen),
        seen.map((_, i) => from + i),
        `seqs from ${from}`,
      );
  },

  "watchers that wait see every single entry of another handle": async ({ store, open, fresh }) => {
    const other = await open();
    const ids = [fresh("a"), fresh("b")];
    const watchers = ids.map((id) => store.watch(id, { fromSeq: 0 })[Symbol.asyncIterator]());
    for (let round = 0; round < 3; round++)
      for (const [n, watcher] of watchers.entries()) {
        const next = watcher.next();
        await shortPause();
        await other.append(present(ids[n], "id"), note());
        equal((await next).value?.seq, round, `seq of round ${round}`);
      }
    for (const watcher of watchers) await watcher.return?.();
  },

  "watchers see entries that another handle appends to several threads at once": async ({ store, open, fresh }) => {
    const other = await open();
    const ids = [fresh("a"), fresh("b"), fresh("c")];
    const watchers = ids.map((id) => store.watch(id, { fromSeq: 0 })[Symbol.asyncIterator]());
    // The store should look once, after all appends. A look between them would find one thread only. That seldom happens, so
    // one of several rounds is enough.
    for (let round = 0; round < 6; round++) {
      const next = watchers.map((watcher) => watcher.next());
      await shortPause();
      await Promise.all(ids.map((id) => other.append(id, note())));
      for (const { value } of await Promise.all(next)) equal(value?.seq, round, `seq of round ${round}`);
    }
    for (const watcher of watchers) await watcher.return?.();
  },

  "watchers of several threads miss nothing while several handles append": async ({ open, fresh, random }) => {
    const handles = [await open(), await open(), await open()] as const;
    const ids = [fresh("a"), fresh("b"), fresh("c"), fresh("d")] as const;
    const watching: { readonly id: string; readonly from: number; readonly seen: Promise<Entry[]> }[] = [];
    for (let batch = 0; batch < 40; batch++) {
      const writing = random.list(random.below(3), () => random.pick(handles).append(random.pick(ids), notes(2)));
      const id = random.pick(ids);
      const from = random.below(8);
      if (batch % 4 === 0)
        watching.push({ id, from, seen: firstItems(20, random.pick(handles).watch(id, { fromSeq: from })) });
      if (random.oneIn(2)) await shortPause();
      await Promise.all(writing);
    }
    for (const id of ids) await random.pick(handles).append(id, notes(28));
    for (const { id, from, seen } of watching)
      equal(
        seqs(await seen),
        Array.from({ length: 20 }, (_, n) => from + n),
        `seqs of ${id}`,
      );
  },

  "a handle that wrote two threads at once sees what another one has written since": async ({ open, fresh }) => {
    const [one, two] = [await open(), await open()];
    const [a, b] = [fresh("a"), fresh("b")];
    for (const id of [a, b]) await one.append(id, notes(2));
    await Promise.all([one.append(a, notes(2)), one.append(b, notes(2))]);
    await two.append(b, notes(2));
    equal((await one.append(b, notes(2))).rev, 8, "rev");
  },

  "more than a page is watched in order": async ({ store, thread }) => {
    await store.append(thread, notes(1100));
    const seen = await firstItems(1100, store.watch(thread, { fromSeq: 0 }));
    equal(
      seqs(seen),
      seen.map((_, seq) => seq),
      "seqs",
    );
  },

  "a watch needs to know where to begin": async ({ store, thread }) => {
    for (const fromSeq of [-1, 0.5, Number.NaN, undefined as unknown as number]) // invalid on purpose
      await rejects(firstItems(1, store.watch(thread, { fromSeq })), { code: "invalid_options" }, `fromSeq ${fromSeq}`);
  },
};

function seqs(entries: readonly Entry[]): number[] {
  return entries.map(({ seq }) => seq);
}
