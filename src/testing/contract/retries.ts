import type { EntryInput } from "../../thread/entry.ts";
import { note, notes } from "../builders.ts";
import { equal, ok, rejects, sameJsonText } from "../check.ts";
import type { Stories, World } from "../world.ts";

/** Retries: a caller may repeat an append at any time, when its outcome is unknown. */
export const retries: Stories = {
  "the same batch again is answered with what is there": async ({ store, thread }) => {
    const first = await store.append(thread, batch());
    const again = await store.append(thread, batch());
    sameJsonText(again.entries, first.entries, "entries");
    equal({ rev: again.rev, replayed: again.replayed }, { rev: 2, replayed: true }, "answer");
    equal((await store.load(thread))?.rev, 2, "rev");
  },

  "a retry is answered at any expected revision": async ({ store, thread }) => {
    await store.append(thread, batch(), { expectedRev: 0 });
    for (const expectedRev of [0, 1, 2, 99])
      equal((await store.append(thread, batch(), { expectedRev })).replayed, true, `replayed at ${expectedRev}`);
  },

  "a retry is answered as the first time, however much was appended since": async ({ store, thread }) => {
    const first = await store.append(thread, batch(), { expectedRev: 0 });
    for (let times = 0; times < 5; times++) await store.append(thread, notes(200));
    const again = await store.append(thread, batch(), { expectedRev: 0 });
    sameJsonText(again.entries, first.entries, "entries");
    equal({ rev: again.rev, replayed: again.replayed }, { rev: first.rev, replayed: true }, "answer");
  },

  "an append whose acknowledgement was lost is found by the retry": async ({ open, thread }) => {
    const lost = await open();
    await lost.append(thread, batch(), { expectedRev: 0 });
    await lost.close();
    const store = await open();
    const again = await store.append(thread, batch(), { expectedRev: 0 });
    equal({ rev: again.rev, replayed: again.replayed }, { rev: 2, replayed: true }, "answer");
  },

  "of the same batch sent by many at once one is written": async ({ store, open, thread }) => {
    const other = await open();
    const sends = Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? store : other).append(thread, batch()));
    const answers = await Promise.all(sends);
    equal(answers.filter(({ replayed }) => !replayed).length, 1, "written");
    equal((await store.load(thread))?.rev, 2, "rev");
  },

  "a retry may repeat a part of the batch that stands together": async ({ store, thread }) => {
    await store.append(thread, [...batch(), note({}, { id: "c" })]);
    const again = await store.append(thread, [note({}, { id: "c" })]);
    equal([again.replayed, again.rev, again.entries[0]?.seq], [true, 3, 2], "answer");
  },

  "a time of one's own must be the same, a default one need not": async ({ store, open, thread }) => {
    const later = await open({ clock: () => 9_000_000 });
    await store.append(thread, note({}, { id: "a", at: 5 }));
    equal((await later.append(thread, note({}, { id: "a" }))).replayed, true, "replayed without a time");
    equal((await later.append(thread, note({}, { id: "a", at: 5 }))).entries[0]?.at, 5, "at");
    await refused(store, thread, note({}, { id: "a", at: 6 }));
  },

  "the order of keys is not content": async ({ store, thread }) => {
    const refs = { runId: "r", iteration: 1 };
    const first = await store.append(thread, note({ a: 1, b: { x: 1, y: [1, 2] } }, { id: "e", refs }));
    const reordered = note({ b: { y: [1, 2], x: 1 }, a: 1 }, { id: "e", refs: { iteration: 1, runId: "r" } });
    const again = await store.append(thread, reordered);
    equal(again.replayed, true, "replayed");
    sameJsonText(again.entries, first.entries, "entries: as they were first written");
  },

  "a property that is undefined is the same as none": async ({ store, thread }) => {
    await store.append(thread, note({ a: 1, b: undefined }, { id: "e" }));
    equal((await store.append(thread, note({ a: 1 }, { id: "e" }))).replayed, true, "replayed");
  },

  "a known id with other content is refused and nothing is written": async ({ store, thread }) => {
    const original = note({ n: 1 }, { id: "a", refs: { runId: "r" }, at: 5 });
    await store.append(thread, original);
    await refused(store, thread, { ...original, payload: { n: 2 } });
    await refused(store, thread, { ...original, payload: { n: "1" } });
    await refused(store, thread, { ...original, payload: {} });
    await refused(store, thread, { ...original, kind: "other" });
    await refused(store, thread, { ...original, refs: {} });
    await refused(store, thread, { ...original, v: 2 });
    sameJsonText((await store.load(thread))?.at(0)?.payload, { n: 1 }, "payload");
  },

  "known and new ids in one batch are refused and nothing is written": async ({ store, thread }) => {
    await store.append(thread, batch());
    await refused(store, thread, [note({}, { id: "b" }), note({}, { id: "c" })]);
    await refused(store, thread, [note(), ...batch()]);
    equal((await store.load(thread))?.rev, 2, "rev");
    equal((await store.append(thread, note({}, { id: "c" }))).replayed, false, "c was never written");
  },

  "known ids in another order or with a gap are refused": async ({ store, thread }) => {
    await store.append(thread, [...batch(), note({}, { id: "c" })]);
    await refused(store, thread, batch().toReversed());
    await refused(store, thread, [note({ n: 1 }, { id: "a" }), note({}, { id: "c" })]);
  },

  "an id may stand only once in a batch": async ({ store, thread }) => {
    await refused(store, thread, [note({}, { id: "twin" }), note({}, { id: "twin" })]);
    equal(await store.load(thread), undefined, "thread");
  },

  "ids are unique per thread, not per store": async ({ store, thread, fresh }) => {
    await store.append(thread, batch());
    const other = await store.append(fresh("other"), batch());
    equal(other.replayed, false, "replayed");
    ok(other.rev === 2, "the other thread has entries of its own");
  },
};

function batch(): EntryInput[] {
  return [note({ n: 1 }, { id: "a" }), note({ n: 2 }, { id: "b" })];
}

async function refused(store: World["store"], thread: string, inputs: EntryInput | EntryInput[]): Promise<void> {
  const before = await store.load(thread);
  await rejects(store.append(thread, inputs), { code: "entry_id_reused", threadId: thread }, "append");
  const known = before !== undefined;
  if (known)
    await rejects(
      store.append(thread, inputs, { expectedRev: before.rev }),
      { code: "entry_id_reused" },
      "append at its revision",
    );
  sameJsonText((await store.load(thread))?.toArray(), before?.toArray(), "entries");
}
