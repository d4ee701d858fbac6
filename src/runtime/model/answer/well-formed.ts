/**
 * Text that comes in pieces, each passed on as UTF-8 can hold it. A piece may end in the first half of a character: that
 * half waits for the other one.
 */
export class WellFormed {
  #waiting = "";

  /** What can be passed on now. */
  push(piece: string): string {
    const text = this.#waiting + piece;
    const cut = /[\uD800-\uDBFF]$/.test(text) ? text.length - 1 : text.length;
    this.#waiting = text.slice(cut);
    return text.slice(0, cut).toWellFormed();
  }

  /** The other half never came. */
  end(): string {
    const rest = this.#waiting.toWellFormed();
    this.#waiting = "";
    return rest;
  }
}
