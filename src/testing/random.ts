/**
 * A seeded random generator: the same seed gives the same sequence.
 *
 * @example
 * const random = new Random(7);
 * random.below(10); // a whole number from 0 to 9, always the same one first
 */
export class Random {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed >>> 0;
    this.#state = this.seed;
  }

  /** Returns a whole number from 0 to `bound` - 1. */
  below(bound: number): number {
    return Math.floor(this.#next() * bound);
  }

  /** Returns true with a probability of 1 / `times`. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0];
  }

  list<Item>(length: number, make: (index: number) => Item): Item[] {
    return Array.from({ length }, (_, index) => make(index));
  }

  /** The mulberry32 generator. It is short and good enough for tests. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** Returns a random seed, for a run without a given seed. */
export function freshSeed(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
}

/** Returns a unique name, for data in a shared database. */
export function freshName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return `c${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
