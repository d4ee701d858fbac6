/**
 * Sums over a growing list with expensive terms. Only the terms of requested sums are computed, and a change keeps the
 * sums before it.
 */
export class Sums {
  readonly #term: (index: number) => number;
  /** `#up` holds the sums from the origin forward, `#down` those before it. */
  #origin: number | undefined;
  #up: number[] = [];
  #down: number[] = [];

  constructor(term: (index: number) => number) {
    this.#term = term;
  }

  /** Marks the terms from `index` on as changed. */
  invalidate(index: number): void {
    if (this.#origin === undefined) return;
    if (index < this.#origin) this.#origin = undefined;
    else this.#up.length = Math.min(this.#up.length, index - this.#origin + 1);
  }

  /** The sum of the terms in [from, end). */
  between(from: number, end: number): number {
    if (this.#origin === undefined) {
      this.#origin = end;
      this.#up = [0];
      this.#down = [];
    }
    return this.#at(end, this.#origin) - this.#at(from, this.#origin);
  }

  #at(index: number, origin: number): number {
    if (index >= origin) return extended(this.#up, index - origin, (step) => this.#term(origin + step - 1));
    return extended(this.#down, origin - 1 - index, (step) => -this.#term(origin - 1 - step), 0);
  }
}

/** Extends running sums up to a length. Step n adds the nth term. */
function extended(sums: number[], upTo: number, term: (step: number) => number, before?: number): number {
  for (let step = sums.length; step <= upTo; step++) sums.push((sums[step - 1] ?? before ?? 0) + term(step));
  return sums[upTo] ?? 0;
}
