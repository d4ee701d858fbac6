import type { ReadOptions } from "../../stores/port.ts";
import { note, notes, user } from "../builders.ts";
import { equal, rejects } from "../check.ts";
import { drain, take } from "../drain.ts";
import type { Stories, World } from "../world.ts";

/** Entries one by one. */
export const reads: Stories = {
  "a missing thread has no entries": async ({ store, thread }) => {
    equal(await drain(store.read(thread)), [], "entries");
    equal(await drain(store.read(thread, { reverse: true, limit: 3 })), [], "entries");
  },

  "a range includes both ends": async ({ store, thread }) => {
    await store.append(thread, notes(10));
    await seqsAre(store, thread, { fromSeq: 3, toSeq: 6 }, [3, 4, 5, 6]);
    await seqsAre(store, thread, { fromSeq: 8 }, [8, 9]);
    await seqsAre(store, thread, { toSeq: 1 }, [0, 1]);
    await seqsAre(store, thread, { fromSeq: 4, toSeq: 4 }, [4]);
    await seqsAre(store, thread, { fromSeq: 5, toSeq: 4 }, []);
    await seqsAre(store, thread, { fromSeq: 10 }, []);
    await seqsAre(store, thread, { fromSeq: 8, toSeq: 99 }, [8, 9]);
  },

  "in reverse the last comes first": async ({ store, thread }) => {
    await store.append(thread, notes(10));
    await seqsAre(store, thread, { reverse: true, limit: 3 }, [9, 8, 7]);
    await seqsAre(store, thread, { reverse: true, fromSeq: 3, toSeq: 6 }, [6, 5, 4, 3]);
    await seqsAre(store, thread, { reverse: true, toSeq: 2 }, [2, 1, 0]);
    await seqsAre(store, thread, { reverse: true, fromSeq: 8, toSeq: 99 }, [9, 8]);
  },

  "kinds are chosen before they are counted": async ({ store, thread }) => {
    await store.append(thread, [note(), user("a"), note(), { kind: "error" }, user("b"), note()]);
    await seqsAre(store, thread, { kinds: ["message"] }, [1, 4]);
    await seqsAre(store, thread, { kinds: ["message", "error"], limit: 2 }, [1, 3]);
    await seqsAre(store, thread, { kinds: ["message", "error"], limit: 2, reverse: true }, [4, 3]);
    await seqsAre(store, thread, { kinds: ["message"], fromSeq: 2 }, [4]);
    await seqsAre(store, thread, { kinds: ["nothing such"] }, []);
    await seqsAre(store, thread, { kinds: [] }, []);
    await seqsAre(store, thread, { kinds: ["message", "message"] }, [1, 4]);
  },

  "what is searched for stands in the payload, whatever the case of A to Z": async ({ store, thread }) => {
    const said = ["Warp and weft", 'the "weft"', "nothing", "WEFT\u0000", "é", "weft ".repeat(20_000)];
    await store.append(
      thread,
      said.map((text) => user(text)),
    );
    await seqsAre(store, thread, { search: "weFT" }, [0, 1, 3, 5]);
    await seqsAre(store, thread, { search: "weft", limit: 2 }, [0, 1]);
    await seqsAre(store, thread, { search: "weft", limit: 2, reverse: true }, [5, 3]);
    await seqsAre(store, thread, { search: "weft", fromSeq: 1, toSeq: 3 }, [1, 3]);
    await seqsAre(store, thread, { search: "weft", kinds: ["note"] }, []);
    await seqsAre(store, thread, { search: '"weft"' }, [1]);
    await seqsAre(store, thread, { search: "\u0000" }, [3]);
    await seqsAre(store, thread, { search: "É" }, []);
    await seqsAre(store, thread, { search: "nowhere" }, []);
    await seqsAre(store, thread, { search: "" }, [0, 1, 2, 3, 4, 5]);
  },

  "a limit of nothing reads nothing": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    await seqsAre(store, thread, { limit: 0 }, []);
    await seqsAre(store, thread, { limit: 2 }, [0, 1]);
    await seqsAre(store, thread, { limit: 99 }, [0, 1, 2]);
  },

  "more than a page is read in order, both ways": async ({ store, thread }) => {
    await store.append(
      thread,
      Array.from({ length: 1203 }, (_, n) => (n % 2 === 0 ? note() : user("u"))),
    );
    const all = Array.from({ length: 1203 }, (_, seq) => seq);
    const odd = all.filter((seq) => seq % 2 === 1);
    await seqsAre(store, thread, {}, all);
    await seqsAre(store, thread, { reverse: true }, all.toReversed());
    await seqsAre(store, thread, { fromSeq: 100, toSeq: 1100, limit: 777 }, all.slice(100, 877));
    await seqsAre(store, thread, { kinds: ["message"] }, odd);
    await seqsAre(store, thread, { kinds: ["message"], reverse: true, limit: 555 }, odd.toReversed().slice(0, 555));
    for (const limit of [499, 500, 501, 1000]) await seqsAre(store, thread, { limit }, all.slice(0, limit));
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
      await seqsAre(store, thread, { fromSeq, toSeq, limit, reverse, kinds: chosen }, expected);
    }
  },

  "a reader may stop early": async ({ store, thread }) => {
    await store.append(thread, notes(600));
    equal((await take(2, store.read(thread))).length, 2, "entries");
    equal((await store.append(thread, note())).rev, 601, "rev");
  },

  "options of a read that make no sense are refused": async ({ store, thread }) => {
    await store.append(thread, note());
    for (const bad of [-1, 1.5, Number.NaN])
      for (const option of ["fromSeq", "toSeq", "limit"])
        await rejects(drain(store.read(thread, { [option]: bad })), { code: "invalid_options" }, `${option} ${bad}`);
    const kinds = "note" as unknown as string[]; // wrong on purpose
    await rejects(drain(store.read(thread, { kinds })), { code: "invalid_options" }, "kinds");
  },
};

async function seqsAre(store: World["store"], thread: string, options: ReadOptions, seqs: number[]): Promise<void> {
  const entries = await drain(store.read(thread, options));
  equal(
    entries.map(({ seq }) => seq),
    seqs,
    `seqs of read(${JSON.stringify(options)})`,
  );
}
