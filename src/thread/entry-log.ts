import type { Entry, RefValue } from "./entry.ts";

/** A shared part up to this size is copied, so that many short branches do not make a long chain. */
const COPIED_ENTRIES = 64;

/**
 * The log that all versions of a thread share. It only grows, and only at the end of the newest version. An older
 * version keeps its own end, so that later entries do not appear in it. Appending to an older version makes a branch: a log
 * that begins at the end of that version and reads earlier entries from the shared one.
 */
export class EntryLog {
  /** The log with the entries before `#start`. Its own later entries belong to other versions. */
  #parent: EntryLog | undefined;
  #start: number;
  #entries: Entry[];
  /** Built on first use and then extended. A log that is only read does not need it. */
  #seqById = new Map<string, number>();
  #byKind = kindIndex();
  readonly #byRef = new Map<string, LazyIndex<RefValue>>();

  constructor(start: number, entries: readonly Entry[], parent?: EntryLog) {
    this.#parent = parent;
    this.#start = start;
    this.#entries = [...entries];
  }

  /** One past the last seq of the newest version. */
  get end(): number {
    return this.#start + this.#entries.length;
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
  }

  /** A log with the entries before `end`, which grows on its own. Copies only a short part. */
  branch(end: number): EntryLog {
    if (this.#parent !== undefined && end <= this.#start) return this.#parent.branch(end);
    this.#shortenChain();
    if (end - this.#start > COPIED_ENTRIES) return new EntryLog(end, [], this);
    return new EntryLog(this.#start, this.range(this.#start, end), this.#parent);
  }

  /** Takes in ancestors of up to twice its size. So a chain of n entries has about log n logs, and each is taken in seldom. */
  #shortenChain(): void {
    for (let parent = this.#parent; parent !== undefined; parent = this.#parent) {
      const earlier = parent.#entries.slice(0, this.#start - parent.#start);
      if (earlier.length > 2 * this.#entries.length) return;
      this.#seqById = new Map();
      this.#entries = earlier.concat(this.#entries);
      this.#start = parent.#start;
      this.#parent = parent.#parent;
      this.#byKind = kindIndex();
      this.#byRef.clear();
    }
  }

  get(seq: number): Entry | undefined {
    return seq < this.#start ? this.#parent?.get(seq) : this.#entries[seq - this.#start];
  }

  range(from: number, end: number): Entry[] {
    const own = this.#entries.slice(Math.max(0, from - this.#start), Math.max(0, end - this.#start));
    if (this.#parent === undefined || from >= this.#start) return own;
    return this.#parent.range(from, Math.min(end, this.#start)).concat(own);
  }

  /** The seq of an id below `end`. */
  seqOf(id: string, end: number): number | undefined {
    for (let index = this.#seqById.size; index < this.#entries.length; index++) {
      const entry = this.#entries[index];
      if (entry !== undefined) this.#seqById.set(entry.id, entry.seq);
    }
    const seq = this.#seqById.get(id);
    return seq !== undefined && seq < end ? seq : this.#parent?.seqOf(id, Math.min(end, this.#start));
  }

  /** Seqs below `end`, in order. */
  ofKind(kind: string, end: number): readonly number[] {
    return this.#collect(end, (log, end) => log.#byKind.find(kind, log.#entries, end));
  }

  withRef(key: string, value: RefValue, end: number): readonly number[] {
    return this.#collect(end, (log, end) => log.#refIndex(key).find(value, log.#entries, end));
  }

  #collect(end: number, find: (log: EntryLog, end: number) => readonly number[]): readonly number[] {
    const own = find(this, end);
    if (this.#parent === undefined) return own;
    const earlier = this.#parent.#collect(Math.min(end, this.#start), find);
    return earlier.length === 0 ? own : earlier.concat(own);
  }

  #refIndex(key: string): LazyIndex<RefValue> {
    const known = this.#byRef.get(key);
    if (known !== undefined) return known;
    const index = new LazyIndex<RefValue>(({ refs }) => (Object.hasOwn(refs, key) ? refs[key] : undefined));
    this.#byRef.set(key, index);
    return index;
  }
}

function kindIndex(): LazyIndex<string> {
  return new LazyIndex((entry) => entry.kind);
}

/** An index from values to seqs. It is built on first use and then extended. */
class LazyIndex<Value> {
  readonly #pick: (entry: Entry) => Value | undefined;
  readonly #seqs = new Map<Value, number[]>();
  #indexed = 0;

  constructor(pick: (entry: Entry) => Value | undefined) {
    this.#pick = pick;
  }

  find(value: Value, entries: readonly Entry[], end: number): readonly number[] {
    for (; this.#indexed < entries.length; this.#indexed++) {
      const entry = entries[this.#indexed];
      if (entry !== undefined) this.#add(entry);
    }
    const seqs = this.#seqs.get(value) ?? [];
    const last = seqs.at(-1);
    return last === undefined || last < end ? seqs : seqs.slice(0, firstNotBelow(seqs, end));
  }

  #add(entry: Entry): void {
    const value = this.#pick(entry);
    if (value === undefined) return;
    const seqs = this.#seqs.get(value);
    if (seqs === undefined) this.#seqs.set(value, [entry.seq]);
    else seqs.push(entry.seq);
  }
}

function firstNotBelow(sorted: readonly number[], bound: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? bound) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
