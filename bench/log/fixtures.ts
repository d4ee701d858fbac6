import { sqliteStore } from "heddle/sqlite";
import type { Scratch } from "../support/scratch.ts";
import { Floor } from "./floor.ts";
import { messages, payloadOf } from "./message.ts";

/** The one thread of every fixture. */
export const THREAD = "thread_bench";

const BATCH = 1000;

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

  /** The same messages in the bare table. */
  floor(entries: number): Promise<string> {
    return this.#once(`floor-${entries}.db`, (path) => {
      const floor = new Floor(path);
      for (let from = 0; from < entries; from += BATCH) {
        floor.inOneTransaction(() => {
          for (let seq = from; seq < Math.min(from + BATCH, entries); seq += 1)
            floor.insert(THREAD, seq, payloadOf(seq));
        });
      }
      floor.close();
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
