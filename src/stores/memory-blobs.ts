/** How many blobs one call removes. */
const PURGE_LIMIT = 100;
/** Stands for callers without a thread. No thread has an empty name. */
const NO_THREAD = "";

interface MemoryBlobUse {
  readonly isStored: boolean;
  readonly endedAt: number | null;
  readonly isPut?: boolean | undefined;
}

/** Which threads of one tenant use which blobs. The blobs themselves are records. */
export class MemoryBlobUses {
  /** When each use ended, by hash and thread. Null while it lasts. */
  readonly #uses = new Map<string, Map<string, number | null>>();
  readonly #byThread = new Map<string, Set<string>>();
  /** The hashes that were put for a thread, and are not only in its entries. */
  readonly #put = new Map<string, Set<string>>();
  /** Hashes with a use that has ended, the oldest first. */
  readonly #ended = new Set<string>();

  /**
   * Call it before the blob is stored. `endedAt` is null if the thread exists, otherwise now, because it may never be created.
   */
  add(threadId: string, hash: string, { isStored, endedAt, isPut = false }: MemoryBlobUse): void {
    const uses = this.#uses.get(hash) ?? new Map<string, number | null>();
    if (isStored && uses.size === 0) uses.set(NO_THREAD, null);
    this.#uses.set(hash, uses.set(threadId, endedAt));
    this.#byThread.set(threadId, (this.#byThread.get(threadId) ?? new Set()).add(hash));
    if (isPut) this.#put.set(threadId, (this.#put.get(threadId) ?? new Set()).add(hash));
    if (endedAt !== null) this.#ended.add(hash);
  }

  /** If the blob has uses, it is kept forever from now on. */
  keep(hash: string): void {
    this.#uses.get(hash)?.set(NO_THREAD, null);
  }

  /** `leftOut`: blobs that the rows of the copy do not refer to. It uses them if they were put for the thread. */
  copy(from: string, to: string, leftOut: ReadonlySet<string>): void {
    for (const hash of this.#byThread.get(from) ?? []) {
      const isPut = this.#put.get(from)?.has(hash);
      if (isPut || !leftOut.has(hash)) this.add(to, hash, { isStored: true, endedAt: null, isPut });
    }
  }

  release(threadId: string, now: number): void {
    for (const hash of this.#byThread.get(threadId) ?? []) {
      const uses = this.#uses.get(hash);
      if (uses?.get(threadId) !== null) continue;
      uses.set(threadId, now);
      this.#ended.delete(hash);
      this.#ended.add(hash);
    }
  }

  /** Removes the uses that ended before a time, and returns the hashes that have no other. */
  purge(before: number, now: number, isThread: (threadId: string) => boolean): readonly string[] {
    return [...this.#ended].slice(0, PURGE_LIMIT).filter((hash) => {
      const uses = this.#uses.get(hash) ?? new Map<string, number | null>();
      for (const [threadId, endedAt] of uses) {
        if (endedAt === null || endedAt >= before) continue;
        if (isThread(threadId)) uses.set(threadId, now);
        else this.#remove(threadId, hash, uses);
      }
      this.#ended.delete(hash);
      if ([...uses.values()].some((endedAt) => endedAt !== null)) this.#ended.add(hash); // moves it to the end
      return uses.size === 0 && this.#uses.delete(hash);
    });
  }

  #remove(threadId: string, hash: string, uses: Map<string, number | null>): void {
    uses.delete(threadId);
    const ofThread = this.#byThread.get(threadId);
    ofThread?.delete(hash);
    this.#put.get(threadId)?.delete(hash);
    if (ofThread?.size === 0) for (const uses of [this.#byThread, this.#put]) uses.delete(threadId);
  }
}
