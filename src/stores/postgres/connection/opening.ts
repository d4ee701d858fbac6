import { storeClosed } from "../../errors.ts";
import { atMost } from "./at-most.ts";

/** Opens something when it is first used. A failure is told to who waited for it; who comes next tries again. */
export class Opening<Resource> {
  readonly #open: () => Promise<Resource>;
  readonly #uses = new Set<Promise<unknown>>();
  #opened: Promise<Resource> | undefined;
  #closed = false;

  constructor(open: () => Promise<Resource>) {
    this.#open = open;
  }

  async use<Result>(work: (resource: Resource) => Promise<Result>): Promise<Result> {
    if (this.#closed) throw storeClosed();
    const use = this.#get().then(work);
    this.#uses.add(use);
    return use.finally(() => this.#uses.delete(use));
  }

  /** Waits a while for what is under way, then ends what is open. */
  async close(patienceMs: number, end: (resource: Resource) => Promise<void>): Promise<void> {
    this.#closed = true;
    await atMost(patienceMs, Promise.allSettled(this.#uses));
    await atMost(patienceMs, this.#opened?.then(end, () => {}) ?? Promise.resolve()); // what never opened needs no end
  }

  #get(): Promise<Resource> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }
}
