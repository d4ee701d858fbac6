import { StoreError } from "../../stores/errors.ts";

/** The end of a process, as its store sees it: what is under way then gets no answer, and nothing is begun any more. */
export class Death {
  readonly #waiting = new Set<() => void>();
  #over = false;

  get isOver(): boolean {
    return this.#over;
  }

  come(): void {
    this.#over = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const refuse of waiting) refuse();
  }

  check(): void {
    if (this.#over) throw this.error();
  }

  /** Not retryable: a process does not come back to life. */
  error(): StoreError {
    const message = "The process is dead to its store. Open the store again in another one.";
    return new StoreError({ code: "store_closed", message });
  }

  orResult<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#over) {
        reject(this.error());
        return;
      }
      const refuse = (): void => reject(this.error());
      this.#waiting.add(refuse);
      const settled = (): void => void this.#waiting.delete(refuse);
      work().then(
        (result) => {
          settled();
          if (this.#over) refuse();
          else resolve(result);
        },
        (error: unknown) => {
          settled();
          reject(this.#over ? this.error() : error);
        },
      );
    });
  }

  async *orItems<Item>(begin: () => AsyncIterable<Item>): AsyncIterable<Item> {
    this.check();
    const items = begin()[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await this.orResult(() => items.next());
        if (next.done) return;
        yield next.value;
      }
    } finally {
      // Of a dead process nobody waits for the end.
      const ended = items.return?.();
      if (this.#over) ended?.catch(() => undefined);
      else await ended;
    }
  }
}
