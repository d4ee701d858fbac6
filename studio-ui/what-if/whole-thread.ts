import { type Entry, Thread } from "heddle";
import type { ThreadDetail } from "../data/contract.ts";
import type { Source } from "../data/source.ts";

/** Entries that a page takes in at once; longer threads are projected by the server. */
export const MOST_IN_PAGE = 20_000;
const PAGE = 1000;

/** All entries of a thread as the library's own value, so that it can be projected here. */
export async function wholeThread(source: Source, { id, rev, createdAt, updatedAt }: ThreadDetail): Promise<Thread> {
  const entries: Entry[] = [];
  while (entries.length < rev) {
    const { entries: page } = await source.entries(id, entries.length, Math.min(rev, entries.length + PAGE) - 1);
    if (page.length === 0) break;
    entries.push(...page);
  }
  const data = { format: "heddle.thread/1", id, rev: entries.length, createdAt, updatedAt, metadata: {}, entries };
  return Thread.fromJSON(data);
}
