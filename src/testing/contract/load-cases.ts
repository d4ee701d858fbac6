import type { LoadOptions } from "../../stores/port.ts";
import type { Entry, EntryInput } from "../../thread/entry.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { ThreadBase } from "../../thread/thread-data.ts";
import { inLane, note, notes, replace, summary, switchTo, user } from "../builders.ts";
import type { Random } from "../random.ts";
import { type CaseFixture, type ContractTests, equal, ok, present, rejects, sameJsonText } from "./case-fixture.ts";
import { naiveBase } from "./naive-base.ts";

/** Cases: loading a thread whole, in part, or at an earlier revision. */
export const loadCases: ContractTests = {
  "a missing thread is undefined": async ({ store, thread }) => {
    for (const options of [{}, { last: 3 }, { last: 0 }, { upToSeq: 5 }])
      equal(await store.load(thread, options), undefined, `load(${JSON.stringify(options)})`);
  },

  "a thread is loaded whole": async ({ store, thread }) => {
    await store.append(thread, notes(3, { at: 10 }), { metadata: { title: "t" } });
    await store.append(thread, note({}, { at: 25 }));
    const loaded = present(await store.load(thread), "thread");
    const { id, rev, lastSeq, firstSeq, entryCount, updatedAt, metadata, base } = loaded;
    equal(
      { id, rev, lastSeq, firstSeq, entryCount, updatedAt, metadata, base },
      {
        id: thread,
        rev: 4,
        lastSeq: 3,
        firstSeq: 0,
        entryCount: 4,
        updatedAt: 25,
        metadata: { title: "t" },
        base: undefined,
      },
      "thread",
    );
  },

  "a tail knows its place": async ({ store, thread }) => {
    await store.append(thread, notes(10));
    const tail = present(await store.load(thread, { last: 3 }), "thread");
    const { rev, firstSeq, lastSeq, entryCount } = tail;
    equal({ rev, firstSeq, lastSeq, entryCount }, { rev: 10, firstSeq: 7, lastSeq: 9, entryCount: 10 }, "tail");
    equal(
      tail.toArray({ partial: true }).map(({ seq }) => seq),
      [7, 8, 9],
      "seqs",
    );
    const refused = await rejects(
      Promise.resolve().then(() => tail.toArray()),
      { code: "entry_not_loaded" },
      "all",
    );
    ok(refused.message.includes("from seq 7"), "the message says where the tail begins");
    ok(tail.base !== undefined, "a tail has a base");
  },

  "a tail as long as the thread is the thread": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    const whole = present(await store.load(thread), "thread");
    for (const last of [3, 4, 1000, Number.MAX_SAFE_INTEGER])
      sameJsonText((await store.load(thread, { last }))?.toJSON(), whole.toJSON(), `load({ last: ${last} })`);
  },

  "a tail of nothing still knows the revision": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    const { rev, firstSeq, entryCount, base } = present(await store.load(thread, { last: 0 }), "thread");
    equal({ rev, firstSeq, entryCount }, { rev: 3, firstSeq: 3, entryCount: 3 }, "thread");
    equal(base?.activeLane, "default", "active lane");
  },

  "a thread is loaded as it was at a seq": async ({ store, thread }) => {
    await store.append(thread, notes(10));
    const whole = present(await store.load(thread), "thread");
    for (const upToSeq of [0, 4, 9]) {
      const past = present(await store.load(thread, { upToSeq }), "thread");
      sameJsonText(past.toJSON(), whole.upTo(upToSeq).toJSON(), `load({ upToSeq: ${upToSeq} })`);
    }
  },

  "a tail of the past": async ({ store, thread }) => {
    await store.append(thread, notes(10));
    const { rev, firstSeq, lastSeq } = present(await store.load(thread, { upToSeq: 6, last: 2 }), "thread");
    equal({ rev, firstSeq, lastSeq }, { rev: 7, firstSeq: 5, lastSeq: 6 }, "thread");
    equal((await store.load(thread, { upToSeq: 6, last: 99 }))?.firstSeq, 0, "firstSeq");
    equal((await store.load(thread, { upToSeq: 9, last: 0 }))?.firstSeq, 10, "firstSeq");
  },

  "a seq that is not there yet is an error": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    await rejects(store.load(thread, { upToSeq: 3 }), { code: "seq_out_of_range", threadId: thread }, "load");
  },

  "options that make no sense are refused": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    for (const bad of [-1, 1.5, Number.NaN]) {
      await rejects(store.load(thread, { last: bad }), { code: "invalid_options" }, `load({ last: ${bad} })`);
      await rejects(store.load(thread, { upToSeq: bad }), { code: "invalid_options" }, `load({ upToSeq: ${bad} })`);
    }
  },

  "a thread of more than a page is loaded whole": async ({ store, thread }) => {
    await store.append(thread, notes(1201));
    const loaded = present(await store.load(thread), "thread").toArray();
    equal(
      loaded.map(({ seq, payload }) => [seq, payload["n"]]),
      loaded.map((_, n) => [n, n]),
      "entries",
    );
    equal([loaded.length, (await store.load(thread, { last: 777 }))?.firstSeq], [1201, 424], "extent");
  },

  "a loaded thread is a value: what is appended to it or to the store changes nothing else": async ({
    store,
    thread,
  }) => {
    await store.append(thread, notes(2));
    const loaded = present(await store.load(thread), "thread");
    loaded.append(note());
    await store.append(thread, notes(3));
    equal([loaded.rev, (await store.load(thread))?.rev], [2, 5], "revs");
    ok(Object.isFrozen(loaded.at(0)?.payload), "payloads are frozen");
  },

  "a thread that is deleted while it is loaded is whole or gone, never damaged": async ({ store, open, thread }) => {
    const other = await open();
    for (let round = 0; round < 10; round++) {
      await store.append(thread, notes(5));
      const early = [other.load(thread), other.load(thread, { last: 2 })];
      const removing = store.delete(thread);
      const loaded = await Promise.all([...early, other.load(thread), store.load(thread, { upToSeq: 4 })]);
      ok((await removing) !== false, "deleted");
      for (const seen of loaded) ok(seen === undefined || seen.rev === 5, "whole or gone");
    }
  },
};

/** Cases: the base of a partly loaded thread equals one computed from all entries. */
export const baseCases: ContractTests = {
  "the base of a thread without lanes measures what lies before": async ({ store, thread }) => {
    await store.append(thread, [note({ a: 1 }), user("hi"), note({ text: "w\u00f6ol \u{1F9F6}" }), note()]);
    await checkBaseOf(store, thread);
  },

  "the base knows the active lane, the latest replace and the summary of each lane": async ({ store, thread }) => {
    await store.append(thread, [
      user("hi"),
      summary(0, 0),
      switchTo("research"),
      user("look"),
      replace("research", 3),
      inLane("default", user("back here")),
      summary(3, 6),
      switchTo("default"),
      replace("default"),
      user("on"),
    ]);
    await checkBaseOf(store, thread);
  },

  "lanes may have any name": async ({ store, thread }) => {
    const names = ["__proto__", "constructor", "toString", "1", "\u{1F9F6}", " ", "Case", "case", "\0", "a/b", "%_"];
    await store.append(
      thread,
      names.flatMap((name) => [switchTo(name), user("hi"), inLane("default", user("there"))]),
    );
    await checkBaseOf(store, thread);
  },

  "a base is right wherever the tail begins, whatever the thread": async ({ store, random, fresh }) => {
    for (let round = 0; round < 8; round++) {
      const id = fresh(`r${round}`);
      for (let at = 0, total = 5 + random.below(30); at < total; ) {
        const batch = random.list(1 + random.below(4), (i) => randomEntry(random, at + i));
        await store.append(id, batch);
        at += batch.length;
      }
      await checkBaseOf(store, id);
    }
  },

  "a tail knows the active lane, the lanes of its entries and those asked for, and no others": async ({
    store,
    thread,
  }) => {
    const branched = branch("new", "left", 1);
    await store.append(thread, [
      inLane("left", user("one")),
      inLane("asked", user("two")),
      inLane("other", user("three")),
      switchTo("active"),
      inLane("used", user("four")),
      branched,
      switchTo("active"),
      inLane("used", user("five")),
    ]);
    const known = async (options: LoadOptions): Promise<unknown> => {
      const { lanes = {}, unwritten } = (await store.load(thread, options))?.base ?? {};
      return [Object.keys(lanes).sort(), [...(unwritten ?? [])].sort()];
    };
    equal(await known({ last: 0 }), [["active"], []], "no entries");
    equal(await known({ last: 1 }), [["active", "used"], []], "the last entry");
    equal(await known({ last: 3 }), [["active", "left", "used"], ["new"]], "a branch");
    equal(await known({ last: 1, lanes: ["asked", "none"] }), [["active", "asked", "used"], ["none"]], "asked for");
    equal(await known({ last: 1, upToSeq: 1, lanes: ["used"] }), [[], ["asked", "default", "used"]], "earlier");
  },

  "lanes are known by their names, however many there are": async ({ store, thread, fresh }) => {
    const names = Array.from({ length: 120 }, (_, n) => `lane ${n}`);
    for (const part of [names.slice(0, 70), names.slice(50)])
      await store.append(
        thread,
        part.map((name) => inLane(name, user(name))),
      );
    const newId = fresh("fork");
    await store.fork(thread, { atSeq: 99, newId });
    for (const id of [thread, newId]) {
      const { lanes } = naiveBase(present(await store.load(id), "thread").toArray());
      equal((await store.load(id, { last: 0, lanes: "all" }))?.base?.lanes, lanes, "all lanes");
      for (const lane of ["lane 0", "lane 60", "lane 79", "lane 119"]) {
        const tail = await store.load(id, { last: 0, lanes: [lane] });
        equal(tail?.base?.lanes[lane], lanes[lane], lane);
      }
    }
  },

  "a thread that begins anew has no lanes of the one before": async ({ store, thread }) => {
    await store.append(thread, [inLane("a", user("one")), inLane("b", user("two"))]);
    await store.delete(thread);
    await store.append(thread, [inLane("b", user("three")), note()]);
    await checkBaseOf(store, thread);
    ok((await store.verify(thread)).ok, "verify");
  },

  "lanes that several calls change at once stay right": async ({ store, open, thread }) => {
    const other = await open();
    const calls = Array.from({ length: 24 }, (_, n) =>
      (n % 2 ? store : other).append(
        thread,
        n % 5 === 0 ? switchTo(`lane ${n % 3}`) : inLane(`lane ${n % 4}`, note({ n })),
      ),
    );
    await Promise.all(calls);
    await checkBaseOf(store, thread);
    ok((await store.verify(thread)).ok, "verify");
  },

  "a base is right after a fork and what follows it": async ({ store, random, thread, fresh }) => {
    await store.append(
      thread,
      random.list(20, (seq) => randomEntry(random, seq)),
    );
    for (const atSeq of [0, 7, 19]) {
      const newId = fresh(`fork${atSeq}`);
      await store.fork(thread, { atSeq, newId });
      await checkBaseOf(store, newId);
      await store.append(
        newId,
        random.list(10, (i) => randomEntry(random, atSeq + 1 + i)),
      );
      await checkBaseOf(store, newId);
    }
  },

  "a base is right for a thread that was saved": async ({ store, open, random, thread, fresh }) => {
    await store.append(
      thread,
      random.list(15, (seq) => randomEntry(random, seq)),
    );
    const elsewhere = await open({ tenant: fresh("elsewhere") });
    await elsewhere.save(present(await store.load(thread), "thread"));
    await checkBaseOf(elsewhere, thread);
  },
};

/** Checks every possible first entry of a partial load, at the current and earlier revisions. */
async function checkBaseOf(store: CaseFixture["store"], id: string): Promise<void> {
  const thread = present(await store.load(id), "thread");
  const all = thread.toArray();
  for (let firstSeq = 1; firstSeq <= all.length; firstSeq++) {
    const expected = naiveBase(all.slice(0, firstSeq));
    const [tail, past, part] = await Promise.all([
      store.load(id, { last: all.length - firstSeq, lanes: "all" }),
      store.load(id, { upToSeq: firstSeq, last: 1, lanes: "all" }).catch(() => undefined),
      store.load(id, { upToSeq: firstSeq - 1, last: 0, lanes: ["a"] }),
    ]);
    sameBase(tail?.base, expected, all, firstSeq);
    if (past !== undefined) sameBase(past.base, expected, all, firstSeq);
    const { unwritten, lanes, ...rest } = part?.base ?? { unwritten: undefined, lanes: {} };
    const known = new Set([...Object.keys(lanes), ...(unwritten ?? [])]);
    const expectedLanes = Object.entries(expected.lanes).filter(([lane]) => known.has(lane));
    equal([...known].sort(), [...new Set(["a", expected.activeLane])].sort(), "the lanes asked for");
    sameBase(
      { ...rest, lanes } as ThreadBase,
      { ...expected, lanes: Object.fromEntries(expectedLanes) },
      all,
      firstSeq,
    );
  }
}

function sameBase(actual: ThreadBase | undefined, expected: ThreadBase, all: readonly Entry[], firstSeq: number): void {
  equal(actual, expected, `base at ${firstSeq} of ${JSON.stringify(all.map(({ kind, payload }) => [kind, payload]))}`);
}

function randomEntry(random: Random, seq: number): EntryInput {
  const lane = random.pick(["default", "a", "b"]);
  const place = () => random.below(seq + 2);
  const entry = random.pick<() => EntryInput>([
    () => user("x".repeat(random.below(60))),
    () => note(random.oneIn(2) ? {} : { text: "\u00fc\u{1F9F6}".repeat(random.below(9)) }),
    () => summary(0, place()),
    () => summary(0, place()),
    () => replace(lane, random.oneIn(2) ? undefined : place() - 1),
    () => switchTo(lane),
    () => branch(lane, random.pick(["default", "a", "b"]), place() - 1),
    () => malformed(random, lane),
    () => setting(random),
  ])();
  return entry.kind !== "ai_context_operation" && random.oneIn(2) ? inLane(lane, entry) : entry;
}

function setting(random: Random): EntryInput {
  const value = random.oneIn(4) ? null : `prompt ${random.below(9)}`;
  const name = random.pick(["find", "look"]);
  const made = random.pick<JsonObject>([
    { type: "system_prompt", value },
    { type: "tool", name, inputSchema: {}, hash: "h" },
    { type: "tool_removed", name },
    { type: "tool", name: "" },
  ]);
  return { kind: "ai_setting", payload: { opId: "s", setting: made } };
}

function branch(contextRef: string, from: string, atSeq: number): EntryInput {
  return {
    kind: "ai_context_operation",
    payload: { contextRef, operation: { type: "switch", reason: "manual", from, atSeq } },
  };
}

/** Makes a malformed operation or summary. The log accepts it, and lanes treat it as a plain entry. */
function malformed(random: Random, lane: string): EntryInput {
  return random.pick<EntryInput>([
    { kind: "summary", payload: { toSeq: "3" } },
    { kind: "summary", payload: { toSeq: 1.5, contextRef: lane } },
    { kind: "ai_context_operation", payload: { contextRef: lane } },
    { kind: "ai_context_operation", payload: { operation: { type: "switch" } } },
    { kind: "ai_context_operation", payload: { contextRef: lane, operation: { type: "switch", reason: "why" } } },
    { kind: "ai_context_operation", payload: { contextRef: lane, operation: { type: "replace", baseSeq: "1" } } },
    { kind: "message", payload: { contextRef: 7, operation: { type: "switch" } } },
  ]);
}
