import { type MessageSiblings, messageSiblings } from "../runtime/ui-messages/message-tree.ts";
import { threadNotFound } from "../stores/errors.ts";
import type { ThreadStore } from "../stores/port.ts";
import { pathEntries, readLanes } from "../thread/messages/lane-path.ts";
import type { Thread } from "../thread/thread.ts";

/** The active branch of a thread, as `toUIMessages` gives it: its entries are those that are not hidden. */
export interface Branches {
  /** Ranges of entries, both ends included, that the active branch does not have. */
  readonly hidden: readonly (readonly [from: number, to: number])[];
  /** The siblings of messages, by the id of the message: that of the page or of the entry, of an answer that of its request. */
  readonly siblings: { readonly [messageId: string]: MessageSiblings };
}

/** Undefined if the active branch has all entries. The thread must be whole. */
export function branchesOf(thread: Thread): Branches | undefined {
  const entries = thread.toArray();
  const lanes = readLanes(entries);
  const shown = new Set(pathEntries(lanes, lanes.active));
  const hidden: [number, number][] = [];
  for (const entry of entries.filter((one) => !shown.has(one))) {
    const last = hidden.at(-1);
    if (last !== undefined && last[1] === entry.seq - 1) last[1] = entry.seq;
    else hidden.push([entry.seq, entry.seq]);
  }
  return hidden.length === 0 ? undefined : { hidden, siblings: messageSiblings(thread) };
}

const MAX_CACHED = 50;

/** Reads the branches of threads, which needs the whole thread. So the last ones are cached. */
export class BranchReader {
  readonly #store: ThreadStore;
  readonly #known = new Map<string, { readonly rev: number; readonly branches: Promise<Branches | undefined> }>();

  constructor(store: ThreadStore) {
    this.#store = store;
  }

  read(threadId: string, rev: number): Promise<Branches | undefined> {
    const known = this.#known.get(threadId);
    if (known?.rev === rev) return known.branches;
    const branches = this.#load(threadId, rev);
    branches.catch(() => this.#known.delete(threadId));
    if (this.#known.size >= MAX_CACHED) this.#known.clear();
    this.#known.set(threadId, { rev, branches });
    return branches;
  }

  async #load(threadId: string, rev: number): Promise<Branches | undefined> {
    const thread = await this.#store.load(threadId, { upToSeq: rev - 1 });
    if (thread === undefined) throw threadNotFound(threadId);
    return branchesOf(thread);
  }
}
