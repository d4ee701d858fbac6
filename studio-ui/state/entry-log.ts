import { signal } from "@preact/signals";
import type { Entry } from "heddle";
import type { Source } from "../data/source.ts";

const PAGE = 200;
/** How many pages the cache holds. A long thread is never loaded completely. */
const PAGES = 60;

/** The loaded entries of one thread, in pages. The map is sorted by use: the least recently used page is first. */
export class EntryLog {
  readonly rev = signal(0);
  /** Increases whenever entries are loaded, so that views redraw. */
  readonly version = signal(0);
  readonly #pages = new Map<number, Entry[]>();
  readonly #coming = new Map<number, Promise<void>>();
  readonly #source: Source;
  readonly #threadId: string;

  constructor(source: Source, threadId: string) {
    this.#source = source;
    this.#threadId = threadId;
  }

  get(seq: number): Entry | undefined {
    return this.#pages.get(Math.floor(seq / PAGE))?.[seq % PAGE];
  }

  /**
   * Returns the loaded entries that end at `to`: back to `from`, or to the first entry that is not loaded. Entries at the end that
   * are still coming are left out, so that the others stay visible.
   */
  loadedBack(from: number, to: number): Entry[] {
    const found: Entry[] = [];
    let last = to;
    while (last > from && this.get(last) === undefined) last--;
    for (let seq = last; seq >= from; seq--) {
      const entry = this.get(seq);
      if (entry === undefined) break;
      found.push(entry);
    }
    return found.reverse();
  }

  /** Loads the entries from one seq to another, both included. */
  async ensure(from: number, to: number): Promise<void> {
    const last = Math.min(to, this.rev.peek() - 1);
    const waiting: Promise<void>[] = [];
    for (let page = Math.floor(Math.max(0, from) / PAGE); page * PAGE <= last; page++) {
      const have = this.#pages.get(page)?.length ?? 0;
      const want = Math.min(PAGE, this.rev.peek() - page * PAGE);
      if (have < want) waiting.push(this.#load(page));
      else this.#use(page);
    }
    await Promise.all(waiting);
  }

  /** Adds an entry that arrived on the event stream. */
  take(entry: Entry): void {
    const page = Math.floor(entry.seq / PAGE);
    const rows = this.#pages.get(page) ?? [];
    if (entry.seq % PAGE === rows.length && entry.seq === this.rev.peek()) {
      rows.push(entry);
      this.#keep(page, rows);
    }
    this.grow(entry.seq + 1);
  }

  grow(rev: number): void {
    if (rev > this.rev.peek()) this.rev.value = rev;
    this.version.value += 1;
  }

  #load(page: number): Promise<void> {
    const coming = this.#coming.get(page);
    if (coming !== undefined) return coming;
    const from = page * PAGE;
    const load = this.#source
      .entries(this.#threadId, from, from + PAGE - 1)
      .then(({ entries, rev }) => {
        if (entries.length >= (this.#pages.get(page)?.length ?? 0)) this.#keep(page, [...entries]);
        this.grow(rev);
      })
      .finally(() => this.#coming.delete(page));
    this.#coming.set(page, load);
    return load;
  }

  #keep(page: number, rows: Entry[]): void {
    this.#pages.set(page, rows);
    this.#use(page);
    while (this.#pages.size > PAGES) {
      const [oldest] = this.#pages.keys();
      if (oldest === undefined) return;
      this.#pages.delete(oldest);
    }
  }

  #use(page: number): void {
    const rows = this.#pages.get(page);
    if (rows === undefined) return;
    this.#pages.delete(page);
    this.#pages.set(page, rows);
  }
}
