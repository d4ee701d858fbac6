interface Waiting<Answer> {
  readonly promise: Promise<Answer>;
  readonly resolve: (answer: Answer) => void;
}

/** Answers that callers wait for, by the id of what they asked; what nobody waits for is dropped. */
export class Promised<Answer> {
  readonly #waiting = new Map<string, Waiting<Answer>>();

  /** How many are waited for. */
  get size(): number {
    return this.#waiting.size;
  }

  has(id: string): boolean {
    return this.#waiting.has(id);
  }

  /** Who waits for the same id gets the same answer. */
  wait(id: string): Promise<Answer> {
    const known = this.#waiting.get(id) ?? Promise.withResolvers<Answer>();
    this.#waiting.set(id, known);
    return known.promise;
  }

  settle(id: string, answer: Answer): void {
    const known = this.#waiting.get(id);
    this.#waiting.delete(id);
    known?.resolve(answer);
  }

  /** There will be no other answers. */
  settleAll(answer: (id: string) => Answer): void {
    for (const id of [...this.#waiting.keys()]) this.settle(id, answer(id));
  }
}

/** What became of a context operation that had to wait. */
export type OperationSettled =
  | { readonly status: "applied" }
  /** A later one took its place. */
  | { readonly status: "superseded" }
  | { readonly status: "failed"; readonly error: unknown };

/** The answer to `modifyContext`, at once; `settled` tells what comes of an operation that is deferred. */
export interface OperationAnswer {
  readonly opId: string;
  readonly status: "applied" | "deferred" | "duplicate";
  readonly settled: Promise<OperationSettled>;
}
