import type { Entry } from "heddle";
import { expect, test } from "vitest";
import type { Source } from "../../../studio-ui/data/source.ts";
import { EntryLog } from "../../../studio-ui/state/entry-log.ts";

const entry = (seq: number) => ({ seq, id: `e${seq}`, kind: "note", at: seq, payload: {}, refs: {} }) as Entry;
const seqs = (entries: readonly Entry[]) => entries.map(({ seq }) => seq);

test("entries stay visible while newer ones are still coming", async () => {
  const stored = [0, 1, 2, 3, 4].map(entry);
  const entries = async (_id: string, from: number, to: number) => ({ entries: stored.slice(from, to + 1), rev: 5 });
  const log = new EntryLog({ entries } as Partial<Source> as Source, "thread_1"); // it only reads entries
  expect(log.loadedBack(0, -1)).toEqual([]);
  log.grow(3);
  expect(log.loadedBack(0, 2)).toEqual([]);
  await log.ensure(0, 2);
  expect(seqs(log.loadedBack(0, 4))).toEqual([0, 1, 2, 3, 4]);
  log.grow(7);
  expect(seqs(log.loadedBack(0, 6))).toEqual([0, 1, 2, 3, 4]);
  expect(seqs(log.loadedBack(3, 6))).toEqual([3, 4]);
  expect(log.loadedBack(5, 6)).toEqual([]);
});
