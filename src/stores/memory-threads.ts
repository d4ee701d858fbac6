import type { RowRange } from "./driver.ts";
import { containsText, hasRefs, requestKey, requestKeyOf } from "./row-filter.ts";
import { type RowPart, readParts } from "./row-parts.ts";
import { hasReferences, referencesIn } from "./stored-payload.ts";
import type { StoredLane, StoredRow, ThreadHead } from "./stored-records.ts";

/** Where a fork comes from. */
interface Origin {
  /** The owner of the last shared row; undefined for a fork without entries. */
  readonly owner: MemoryThread | undefined;
  /** The last shared seq; -1 for a fork without entries. */
  readonly seq: number;
  /** The thread that was forked. */
  readonly parent: MemoryThread;
}

/** A thread in memory. It keeps its own rows; a fork reads the others from their owners. */
export class MemoryThread {
  readonly id: string;
  head: ThreadHead;
  readonly rows: StoredRow[] = [];
  readonly lanes = new Map<string, StoredLane>();
  readonly #seqsByRequest = new Map<string, number[]>();
  /** So many rows are in it. */
  #indexed = 0;
  readonly #seqById = new Map<string, number>();
  readonly #origin: Origin | undefined;
  /** The forks of this thread that are not removed, and those that show its rows. */
  readonly #forks = new Set<MemoryThread>();
  /** Whether the thread is deleted. It keeps the rows that its forks share. */
  #isHidden = false;

  constructor(id: string, head: ThreadHead, origin?: Origin) {
    this.id = id;
    this.head = head;
    this.#origin = origin;
  }

  /** A fork that shares the rows up to `atSeq`. */
  fork(id: string, atSeq: number, head: ThreadHead): MemoryThread {
    const owner = this.#parts().find(({ from }) => from <= atSeq)?.owner;
    const fork = new MemoryThread(id, head, { owner, seq: atSeq, parent: this });
    this.#forks.add(fork);
    if (owner !== undefined) owner.#forks.add(fork);
    return fork;
  }

  /** The blobs that only rows behind a fork refer to. */
  referencesAfter(atSeq: number): ReadonlySet<string> {
    const referencesAt = (from: number, to: number) =>
      this.read({ from, to, limit: Number.POSITIVE_INFINITY }).flatMap(({ payload }) => referencesIn(payload));
    const found = new Set(referencesAt(atSeq + 1, this.head.rev));
    if (found.size > 0) for (const hash of referencesAt(0, atSeq)) found.delete(hash);
    return found;
  }

  push(row: StoredRow): void {
    this.rows.push(row);
    this.#seqById.set(row.id, row.seq);
  }

  rowAt(seq: number): StoredRow | undefined {
    return this.read({ from: seq, to: seq, limit: 1 })[0];
  }

  rowsById(ids: readonly string[]): readonly StoredRow[] {
    const parts = this.#parts();
    const found = ids.flatMap((id) => {
      for (const { owner, to } of parts) {
        const seq = owner.#seqById.get(id);
        if (seq !== undefined && seq <= to) return owner.#own(seq) ?? [];
      }
      return [];
    });
    return found.sort((a, b) => a.seq - b.seq);
  }

  read(range: RowRange): readonly StoredRow[] {
    return readParts(this.#parts(), range, (owner, part) => owner.#select(part));
  }

  /** The forks of this thread, and the forks of these. */
  allForks(): readonly MemoryThread[] {
    return [...closure(this.#forks, (fork) => fork.#forks)].filter((fork) => !fork.#isHidden);
  }

  /** Deletes the thread except for the rows that forks share. Returns these forks. */
  remove(): readonly MemoryThread[] {
    this.#isHidden = true;
    this.lanes.clear();
    this.#removeUnused();
    return [...closure(this.#sharing(), (fork) => fork.#sharing())].filter((fork) => !fork.#isHidden);
  }

  /** The forks that share rows of this thread. */
  #sharing(): readonly MemoryThread[] {
    return [...this.#forks].filter((fork) => fork.#origin?.owner === this);
  }

  /** Removes the rows that no fork shares: all of them if there is no such fork. */
  #removeUnused(): void {
    if (!this.#isHidden) return;
    const sharing = this.#sharing();
    const end = Math.max(this.#firstSeq, ...sharing.map((fork) => fork.#firstSeq));
    for (const { id } of this.rows.splice(end - this.#firstSeq)) this.#seqById.delete(id);
    this.#seqsByRequest.clear();
    this.#indexed = 0;
    if (sharing.length > 0 || this.#origin === undefined) return;
    const { parent, owner } = this.#origin;
    parent.#forks.delete(this);
    if (owner === undefined) return;
    owner.#forks.delete(this);
    owner.#removeUnused();
  }

  get #firstSeq(): number {
    return this.#origin === undefined ? 0 : this.#origin.seq + 1;
  }

  /** The newest part first. */
  #parts(): readonly RowPart<MemoryThread>[] {
    const parts: RowPart<MemoryThread>[] = [];
    let to = Number.MAX_SAFE_INTEGER;
    for (let owner: MemoryThread | undefined = this; owner !== undefined; owner = owner.#origin?.owner) {
      const from: number = owner.#firstSeq;
      parts.push({ owner, from, to });
      to = from - 1;
    }
    return parts;
  }

  #own(seq: number): StoredRow | undefined {
    return this.rows[seq - this.#firstSeq];
  }

  #select(range: RowRange): readonly StoredRow[] {
    const { kinds, search, refs, limit } = range;
    const found: StoredRow[] = [];
    for (const row of this.#candidates(range)) {
      if (found.length >= limit) break;
      if (!(kinds === undefined || kinds.includes(row.kind))) continue;
      if (refs !== undefined && !hasRefs(row, refs)) continue;
      if (search === undefined || hasReferences(row.payload) || containsText(row.payload, search)) found.push(row);
    }
    return found;
  }

  *#candidates({ from, to: last, refs, reverse = false }: RowRange): Iterable<StoredRow> {
    const key = refs && requestKey(refs);
    const to = Math.min(last, this.#firstSeq + this.rows.length - 1);
    if (key !== undefined) {
      const seqs = this.#ofRequest(key).filter((seq) => seq >= from && seq <= to);
      for (const seq of reverse ? seqs.toReversed() : seqs) yield* this.#existing(seq);
      return;
    }
    for (let step = 0; step <= to - from; step++) yield* this.#existing(reverse ? to - step : from + step);
  }

  /** Rows are read for their request when the first request is looked for. */
  #ofRequest(wanted: string): readonly number[] {
    for (; this.#indexed < this.rows.length; this.#indexed += 1) {
      const row = this.rows[this.#indexed];
      const key = row && requestKeyOf(row);
      const seqs = key === undefined ? undefined : this.#seqsByRequest.get(key);
      if (seqs !== undefined && row !== undefined) seqs.push(row.seq);
      else if (key !== undefined && row !== undefined) this.#seqsByRequest.set(key, [row.seq]);
    }
    return this.#seqsByRequest.get(wanted) ?? [];
  }

  #existing(seq: number): readonly StoredRow[] {
    const row = this.#own(seq);
    return row === undefined ? [] : [row];
  }
}

/** These threads, and all that can be reached from them by `next`. */
function closure(
  start: Iterable<MemoryThread>,
  next: (thread: MemoryThread) => Iterable<MemoryThread>,
): ReadonlySet<MemoryThread> {
  const found = new Set(start);
  for (const thread of found) for (const one of next(thread)) found.add(one); // a Set iterates over what is added meanwhile
  return found;
}
