import type { Entry, RefValue } from "./entry.ts";

/**
 * The array that all versions of a thread share. It only grows, and only at the end of the newest version. An older
 * version keeps its own end, so that later entries do not appear in it. Appending to an older version copies the array.
 */
export class EntryLog {
  readonly #firstSeq: number;
  readonly #entries: Entry[] = [];
  readonly #seqById = new Map<string, number>();
  readonly #byKind = new LazyIndex<string>((entry) => entry.kind);
  readonly #byRef = new Map<string, LazyIndex<RefValue>>();

  constructor(firstSeq: number, entries: readonly Entry[]) {
    this.#firstSeq = firstSeq;
    for (const entry of entries) this.push(entry);
  }

  /** One past the last seq of the newest version. */
  get end(): number {
    return this.#firstSeq + this.#entries.length;
  }

  push(entry: Entry): void {
    this.#seqById.set(entry.id, entry.seq);
    this.#entries.push(entry);
  }

  get(seq: number): Entry | undefined {
    return this.#entries[seq - this.#firstSeq];
  }

  range(from: number, end: number): Entry[] {
    return this.#entries.slice(Math.max(0, from - this.#firstSeq), Math.max(0, end - this.#firstSeq));
  }

  seqOf(id: string): number | undefined {
    return this.#seqById.get(id);
  }

  /** Seqs below `end`, in order. */
  ofKind(kind: string, end: number): readonly number[] {
    return this.#byKind.find(kind, this.#entries, end);
  }

  withRef(key: string, value: RefValue, end: number): readonly number[] {
    let index = this.#byRef.get(key);
    if (index === undefined) {
      index = new LazyIndex(({ refs }) => (Object.hasOwn(refs, key) ? refs[key] : undefined));
      this.#byRef.set(key, index);
    }
    return index.find(value, this.#entries, end);
  }
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
    for (const entry of entries.slice(this.#indexed)) this.#add(entry);
    this.#indexed = entries.length;
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
