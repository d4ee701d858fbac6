import { StoreError } from "../../stores/errors.ts";

/** Simulates a crash of the process: pending store calls get no answer, and new calls are refused. */
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

  /** Not retryable, because a crashed process does not come back. */
  error(): StoreError {
    const message = "The simulated process has crashed. Open the store again with another faultStore.";
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
      // After a crash, do not wait for the iterator to end.
      const ended = items.return?.();
      if (this.#over) ended?.catch(() => undefined);
      else await ended;
    }
  }
}
