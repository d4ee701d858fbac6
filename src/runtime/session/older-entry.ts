import type { ThreadStore } from "../../stores/port.ts";
import type { Entry, Refs } from "../../thread/entry.ts";
import type { Thread } from "../../thread/thread.ts";
import type { RuntimePorts } from "../ports.ts";
import { patiently } from "./patiently.ts";

/** Entries that one query goes through: SQLite answers in this process, which has other things to do between two queries. */
const PAGE = 2_000;

interface Place {
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  /** Ends the scan. */
  readonly signal?: AbortSignal | undefined;
}

interface Wanted {
  /** Default: all kinds. */
  readonly kinds?: readonly string[] | undefined;
  /** Text that occurs in its payload: the store leaves out most of the others. */
  readonly search?: string | undefined;
  /** Refs that it has. One with a `requestId` is found in an index, so that no pages are needed. */
  readonly refs?: Refs | undefined;
  readonly is: (entry: Entry) => boolean;
}

/** The newest such entry before those that are loaded. Scans the store in pages, newest first; nothing when all is loaded. */
export async function findOlderEntry(
  { store, ports, signal }: Place,
  { id, firstSeq }: Thread,
  { kinds, search, refs, is }: Wanted,
): Promise<Entry | undefined> {
  const size = refs?.requestId === undefined ? PAGE : firstSeq;
  for (let toSeq = firstSeq - 1; toSeq >= 0; toSeq -= size) {
    signal?.throwIfAborted();
    const page = { fromSeq: Math.max(0, toSeq - size + 1), toSeq, reverse: true, kinds, search, refs };
    const found = await patiently(ports, async () => {
      for await (const entry of store.read(id, page)) if (is(entry)) return entry;
      return undefined;
    });
    if (found !== undefined) return found;
  }
  return undefined;
}
