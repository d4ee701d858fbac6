/**
 * A persistent list: each change gives a new version. A version stores only its difference from the previous one until it
 * is read, so that n changes do not copy the list n times.
 */
export class Versioned<T> {
  readonly length: number;
  #list: readonly T[] | undefined;
  #before: Versioned<T> | undefined;
  #put: { readonly at: number; readonly items: readonly T[] } | undefined;
  /** The number of versions since the last one with a full list. */
  #steps = 0;

  constructor(
    list: readonly T[] | { readonly before: Versioned<T>; readonly at: number; readonly items: readonly T[] },
  ) {
    if (isList(list)) {
      this.length = list.length;
      this.#list = list;
      return;
    }
    const { before, at, items } = list;
    this.length = Math.max(before.length, at + items.length);
    this.#before = before;
    this.#put = { at, items };
    this.#steps = before.#steps + 1;
    // The occasional copy costs no more than the changes did, and frees the older versions.
    if (2 * this.#steps > this.length) this.#make();
  }

  get list(): readonly T[] {
    return this.#list ?? this.#make();
  }

  /** A version with `items` written at index `at`. */
  with(at: number, items: readonly T[]): Versioned<T> {
    return items.length === 0 ? this : new Versioned({ before: this, at, items });
  }

  #make(): readonly T[] {
    const puts: { readonly at: number; readonly items: readonly T[] }[] = [];
    let version: Versioned<T> | undefined = this.#before;
    if (this.#put !== undefined) puts.push(this.#put);
    while (version !== undefined && version.#list === undefined) {
      if (version.#put !== undefined) puts.push(version.#put);
      version = version.#before;
    }
    const list = version === undefined ? [] : [...(version.#list ?? [])];
    for (const { at, items } of puts.reverse()) {
      for (const [index, item] of items.entries()) list[at + index] = item;
    }
    this.#list = list;
    this.#before = undefined;
    this.#put = undefined;
    this.#steps = 0;
    return list;
  }
}

function isList<T>(value: readonly T[] | object): value is readonly T[] {
  return Array.isArray(value); // Array.isArray alone does not narrow readonly arrays
}
