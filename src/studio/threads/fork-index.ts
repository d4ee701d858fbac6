import type { ThreadInfo, ThreadStore } from "../../stores/port.ts";
import type { Fork } from "../contract/thread.ts";

const PAGE = 1000;

/** The forks of each thread. Reads the list of the store once, and later only the threads created since. */
export class ForkIndex {
  readonly #store: ThreadStore;
  readonly #forks = new Map<string, Map<string, number>>();
  #upTo = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> = Promise.resolve();

  constructor(store: ThreadStore) {
    this.#store = store;
  }

  async of(threadId: string): Promise<readonly Fork[]> {
    this.#reading = this.#reading.catch(() => undefined).then(() => this.#read());
    await this.#reading;
    const known = [...(this.#forks.get(threadId) ?? [])];
    const still = await Promise.all(
      known.map(async ([id, forkSeq]): Promise<readonly Fork[]> => {
        const isThere = (await this.#store.load(id, { last: 1 })) !== undefined; // it may have been deleted
        return isThere ? [{ id, forkSeq }] : [];
      }),
    );
    return still.flat();
  }

  /** Adds a thread. Needed for an imported one, which can be older than the threads read so far. */
  note({ id, metadata }: Pick<ThreadInfo, "id" | "metadata">): void {
    const { parentThreadId, forkSeq } = metadata;
    if (typeof parentThreadId !== "string" || typeof forkSeq !== "number") return;
    const forks = this.#forks.get(parentThreadId) ?? new Map<string, number>();
    this.#forks.set(parentThreadId, forks.set(id, forkSeq));
  }

  async #read(): Promise<void> {
    let cursor: string | undefined;
    let newest = this.#upTo;
    do {
      const page = await this.#store.list({ order: "created", limit: cursor === undefined ? 20 : PAGE, cursor });
      for (const info of page.threads) {
        newest = Math.max(newest, info.createdAt);
        this.note(info);
      }
      // Several threads can have the same millisecond, so those of the newest one are read again.
      cursor = (page.threads.at(-1)?.createdAt ?? 0) < this.#upTo ? undefined : page.cursor;
    } while (cursor !== undefined);
    this.#upTo = newest;
  }
}
