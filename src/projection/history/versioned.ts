/**
 * A list that never changes: what is put into it makes another. One that nobody reads only says how it differs from the one
 * before, so that a thousand changes to a list of a thousand do not copy it a thousand times.
 */
export class Versioned<T> {
  readonly length: number;
  #list: readonly T[] | undefined;
  #before: Versioned<T> | undefined;
  #put: { readonly at: number; readonly items: readonly T[] } | undefined;
  /** How many versions there are since one that has a list. */
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
    // Copying now and then costs no more than the changes did, and lets go of the versions before.
    if (2 * this.#steps > this.length) this.#make();
  }

  get list(): readonly T[] {
    return this.#list ?? this.#make();
  }

  /** With other items from a place on. */
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
