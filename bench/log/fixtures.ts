import type { EntryInput, ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import type { Scratch } from "../support/scratch.ts";
import { Baseline } from "./baseline.ts";
import { messages, payloadOf } from "./message.ts";

/** The one thread of every fixture. */
export const THREAD = "thread_bench";

const BATCH = 1000;

export const ENTRIES_PER_REQUEST = 10;

/** The request of entry `seq` in the fixture `requests`. */
export function requestOf(seq: number): string {
  return `request_${Math.floor(seq / ENTRIES_PER_REQUEST)}`;
}

/** Small entries, each of a request. */
export async function appendRequests(store: ThreadStore, threadId: string, entries: number): Promise<void> {
  const entry = (seq: number): EntryInput => ({
    kind: "note",
    payload: { seq },
    refs: { requestId: requestOf(seq) },
  });
  for (let from = 0; from < entries; from += BATCH)
    await store.append(
      threadId,
      Array.from({ length: Math.min(BATCH, entries - from) }, (_, n) => entry(from + n)),
    );
}

/** Database files of one long thread, made when first asked for, closed, and shared by the measurements of a run. */
export class Fixtures {
  readonly #scratch: Scratch;
  readonly #made = new Map<string, Promise<string>>();

  constructor(scratch: Scratch) {
    this.#scratch = scratch;
  }

  /** A file of heddle/sqlite. */
  heddle(entries: number): Promise<string> {
    return this.#once(`heddle-${entries}.db`, async (path) => {
      const store = sqliteStore(path);
      for (let from = 0; from < entries; from += BATCH)
        await store.append(THREAD, messages(from, Math.min(BATCH, entries - from)));
      await store.close();
    });
  }

  /** A file of heddle/sqlite with small entries, each of a request. */
  requests(entries: number): Promise<string> {
    return this.#once(`requests-${entries}.db`, async (path) => {
      const store = sqliteStore(path, { mode: "relaxed" });
      await appendRequests(store, THREAD, entries);
      await store.close();
    });
  }

  /** The same messages in the bare table. */
  baseline(entries: number): Promise<string> {
    return this.#once(`baseline-${entries}.db`, (path) => {
      const baseline = new Baseline(path);
      for (let from = 0; from < entries; from += BATCH) {
        baseline.inOneTransaction(() => {
          for (let seq = from; seq < Math.min(from + BATCH, entries); seq += 1)
            baseline.insert(THREAD, seq, payloadOf(seq));
        });
      }
      baseline.close();
    });
  }

  #once(name: string, make: (path: string) => void | Promise<void>): Promise<string> {
    const made = this.#made.get(name) ?? this.#make(name, make);
    this.#made.set(name, made);
    return made;
  }

  async #make(name: string, make: (path: string) => void | Promise<void>): Promise<string> {
    const path = this.#scratch.file(name);
    console.error(`making ${name}...`);
    await make(path);
    return path;
  }
}
